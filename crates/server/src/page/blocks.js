// Markdown's blocks: where each begins and ends, and what it holds. Pure; knows no document.

// Quotes and lists in each other beyond this are read as text.
const DEPTH_MAX = 8;

/**
 * The blocks of a text, with the offsets of the first line of each (`start`, `lineEnd`). Kinds: `paragraph`, `heading`,
 * `rule`, `fence`, `quote`, `list`, `table`.
 */
export function blocks(text, depth = 0) {
  const lines = text.split('\n');
  const starts = [];
  for (let at = 0, i = 0; i < lines.length; i += 1) {
    starts.push(at);
    at += lines[i].length + 1;
    if (lines[i].endsWith('\r')) lines[i] = lines[i].slice(0, -1);
  }
  const out = [];
  for (let i = 0; i < lines.length; ) {
    if (isBlank(lines[i])) {
      i += 1;
      continue;
    }
    const [block, end] = one(lines, i, depth);
    out.push({ ...block, start: starts[i], lineEnd: starts[i] + lines[i].length });
    i = end;
  }
  return out;
}

const isBlank = (line) => line.trim() === '';

/** The block that begins at a line, and the line after it. */
function one(lines, i, depth) {
  const line = lines[i];
  const fence = fenceOf(line);
  if (fence) return readFence(lines, i, fence);
  const heading = headingOf(line);
  if (heading) return [heading, i + 1];
  if (isRule(line)) return [{ kind: 'rule' }, i + 1];
  if (depth < DEPTH_MAX && isQuote(line)) return readQuote(lines, i, depth);
  if (depth < DEPTH_MAX && markerOf(line)) return readList(lines, i, depth);
  if (isTable(lines, i)) return readTable(lines, i);
  let end = i + 1;
  while (end < lines.length && !isBlank(lines[end]) && !interrupts(lines, end, depth)) end += 1;
  const text = lines.slice(i, end).map((each) => each.trim()).join('\n');
  return [{ kind: 'paragraph', text }, end];
}

/** Whether a line ends the paragraph before it. */
function interrupts(lines, i, depth) {
  const line = lines[i];
  if (fenceOf(line) || headingOf(line) || isRule(line) || isTable(lines, i)) return true;
  if (depth >= DEPTH_MAX) return false;
  const marker = markerOf(line);
  // A number at the beginning of a line is more often a number than the middle of a list.
  return isQuote(line) || (marker !== null && !marker.isEmpty && (marker.number === null || marker.number === 1));
}

/** Columns before the first character that is no space. */
function indentOf(line) {
  let columns = 0;
  for (const char of line) {
    if (char === ' ') columns += 1;
    else if (char === '\t') columns += 4 - (columns % 4);
    else break;
  }
  return columns;
}

/** Without so many columns of spaces, or as many as there are. */
function strip(line, columns) {
  let at = 0;
  for (let seen = 0; seen < columns && (line[at] === ' ' || line[at] === '\t'); at += 1) {
    seen += line[at] === ' ' ? 1 : 4 - (seen % 4);
  }
  return line.slice(at);
}

function fenceOf(line) {
  const found = /^[ \t]*(`{3,}|~{3,})(.*)$/.exec(line);
  if (!found || (found[1][0] === '`' && found[2].includes('`'))) return null;
  return { mark: found[1], language: found[2].trim().split(/\s/, 1)[0].slice(0, 40), indent: indentOf(line) };
}

function endsFence(line, mark) {
  const text = line.trim();
  return text.length >= mark.length && text === mark[0].repeat(text.length);
}

function readFence(lines, i, { mark, language, indent }) {
  let end = i + 1;
  while (end < lines.length && !endsFence(lines[end], mark)) end += 1;
  const text = lines.slice(i + 1, end).map((line) => strip(line, indent)).join('\n');
  return [{ kind: 'fence', language, text }, Math.min(end + 1, lines.length)];
}

function headingOf(line) {
  const found = /^ {0,3}(#{1,6})(?:[ \t]|$)/.exec(line);
  if (!found) return null;
  const text = line.slice(found[0].length).trim();
  let end = text.length;
  while (text[end - 1] === '#') end -= 1;
  const isClosed = end === 0 || text[end - 1] === ' ';
  return { kind: 'heading', level: found[1].length, text: isClosed ? text.slice(0, end).trim() : text };
}

function isRule(line) {
  return /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/.test(line);
}

function isQuote(line) {
  return /^ {0,3}>/.test(line);
}

function readQuote(lines, i, depth) {
  const inner = [];
  let end = i;
  for (; end < lines.length; end += 1) {
    if (isQuote(lines[end])) inner.push(lines[end].replace(/^ {0,3}> ?/, ''));
    // A paragraph may go on without the mark.
    else if (isBlank(lines[end]) || isBlank(inner.at(-1)) || interrupts(lines, end, depth)) break;
    else inner.push(lines[end]);
  }
  return [{ kind: 'quote', blocks: blocks(inner.join('\n'), depth + 1) }, end];
}

function markerOf(line) {
  const found = /^[ \t]*([-*+]|(\d{1,9})[.)])(?:([ \t]+)(?=\S)|[ \t]*$)/.exec(line);
  if (!found || isRule(line)) return null;
  const indent = indentOf(line);
  const isEmpty = found[3] === undefined;
  const space = isEmpty || found[3].length > 4 ? 1 : found[3].length;
  const number = found[2] === undefined ? null : Number(found[2]);
  return { indent, width: indent + found[1].length + space, number, isEmpty };
}

function readList(lines, i, depth) {
  const first = markerOf(lines[i]);
  const isOrdered = first.number !== null;
  const items = [];
  let isLoose = false;
  let end = i;
  while (end < lines.length) {
    const marker = markerOf(lines[end]);
    if (!marker || (marker.number !== null) !== isOrdered || marker.indent > first.indent + 1) break;
    const inner = [strip(lines[end].replace(/^([ \t]*)([-*+]|\d{1,9}[.)])/, (_, a, b) => a + ' '.repeat(b.length)), marker.width)];
    let next = end + 1;
    let blanks = 0;
    let fence = fenceOf(inner[0]);
    for (; next < lines.length; next += 1) {
      const line = lines[next];
      if (isBlank(line)) {
        blanks += 1;
        continue;
      }
      // Models indent what belongs to an item by two columns as often as by the marker's width.
      const belongs = indentOf(line) >= Math.min(marker.width, marker.indent + 2);
      const goesOn = blanks === 0 && !markerOf(line) && !interrupts(lines, next, depth);
      // And code in an item is often not indented at all.
      if (!belongs && !goesOn && !fence) break;
      for (; blanks > 0; blanks -= 1) {
        inner.push('');
        isLoose ||= !fence;
      }
      const text = strip(line, marker.width);
      if (!fence) fence = fenceOf(text);
      else if (endsFence(text, fence.mark)) fence = null;
      inner.push(text);
    }
    items.push(blocks(inner.join('\n'), depth + 1));
    end = next;
    // Blank lines between two items, but not those after the last.
    const follower = blanks > 0 && next < lines.length ? markerOf(lines[next]) : null;
    isLoose ||= follower !== null && (follower.number !== null) === isOrdered && follower.indent <= first.indent + 1;
  }
  return [{ kind: 'list', isOrdered, number: first.number, isLoose, items }, end];
}

function isTable(lines, i) {
  return lines[i].includes('|') && i + 1 < lines.length && alignments(lines[i + 1]) !== null
    && cells(lines[i]).length === cells(lines[i + 1]).length;
}

function alignments(line) {
  if (!line.includes('-')) return null;
  const parts = cells(line);
  if (!parts.every((part) => /^:?-+:?$/.test(part)) || (parts.length === 1 && !line.includes('|'))) return null;
  return parts.map((part) => (part.endsWith(':') ? (part.startsWith(':') ? 'center' : 'right') : 'left'));
}

/** The cells of a row; a bar behind a backslash or in code is none. */
function cells(line) {
  const out = [];
  let cell = '';
  let isCode = false;
  const text = line.trim();
  for (let at = text.startsWith('|') ? 1 : 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '\\' && text[at + 1] === '|') {
      cell += '|';
      at += 1;
    } else if (char === '|' && !isCode) {
      out.push(cell.trim());
      cell = '';
    } else {
      if (char === '`') isCode = !isCode && text.includes('`', at + 1);
      cell += char;
    }
  }
  if (cell.trim() !== '' || !text.endsWith('|')) out.push(cell.trim());
  return out;
}

function readTable(lines, i) {
  const head = cells(lines[i]);
  let end = i + 2;
  const rows = [];
  for (; end < lines.length && !isBlank(lines[end]) && !(interrupts(lines, end, 0) && !lines[end].includes('|')); end += 1) {
    const row = cells(lines[end]);
    rows.push(head.map((_, column) => row[column] ?? ''));
  }
  return [{ kind: 'table', head, align: alignments(lines[i + 1]), rows }, end];
}
