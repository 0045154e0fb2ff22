// Markdown within a line: emphasis, code, links. The time grows with the text alone, whatever it holds.

import { el } from './dom.js';

// Deeper emphasis is drawn as its text.
const DEPTH_MAX = 12;
const ESCAPED = /[!-/:-@[-`{-~]/;
const PUNCTUATION = /[\p{P}\p{S}]/u;
const TARGET = /\]\(\s*(?:<([^<>\n]{0,2000})>|((?:[^\s()<>]|\([^\s()<>]{0,500}\)){0,2000}))(?:\s+(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?\s*\)/y;
const ADDRESS = /https?:\/\/[^\s<>"`]{1,2000}/y;
const ANGLED = /<(https?:\/\/[^\s<>]{1,2000})>/y;
const BREAK = /<br\s{0,9}\/?>/iy;
const SPECIAL = /[\\`*_~[\]!<\n]|https?:\/\//g;

/** The nodes of a text. */
export function inline(text) {
  return build(tokens(text));
}

// A token is a text, a node, a run of `*`, `_` or `~` that may begin or end emphasis, or a bracket that may begin a link.
function tokens(text) {
  const out = [];
  const brackets = [];
  const unclosed = new Set();
  let at = 0;
  const matches = (pattern) => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  const push = (token, length) => {
    out.push(token);
    at += length;
  };
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const next = SPECIAL.exec(text)?.index ?? text.length;
    if (next > at) {
      push({ text: text.slice(at, next) }, next - at);
      continue;
    }
    const char = text[at];
    if (char === '\\' && ESCAPED.test(text[at + 1] ?? '')) {
      push({ text: text[at + 1] }, 2);
    } else if (char === '\n' || (char === '\\' && text[at + 1] === '\n')) {
      push({ node: el('br') }, char === '\n' ? 1 : 2);
    } else if (char === '`') {
      const length = run(text, at);
      const end = unclosed.has(length) ? -1 : closing(text, at + length, length);
      if (end < 0) {
        unclosed.add(length);
        push({ text: text.slice(at, at + length) }, length);
      } else {
        push({ node: code(text.slice(at + length, end)) }, end + length - at);
      }
    } else if (char === '*' || char === '_' || char === '~') {
      const length = run(text, at);
      push(delimiter(text, at, length), length);
    } else if (char === '[' || (char === '!' && text[at + 1] === '[')) {
      // Nothing is fetched for an answer: a picture is a link to it.
      const mark = char === '!' ? '![' : '[';
      brackets.push(out.length);
      push({ text: mark }, mark.length);
    } else if (char === ']') {
      const begin = brackets.pop();
      const target = begin === undefined ? null : matches(TARGET);
      const url = target && safe(target[1] ?? target[2]);
      if (url) {
        const label = out.splice(begin).slice(1);
        // A link holds no other link.
        brackets.length = 0;
        push({ node: link(url, label.length > 0 ? build(label) : [url]) }, target[0].length);
      } else {
        push({ text: ']' }, 1);
      }
    } else if (char === '<') {
      const found = matches(BREAK) ?? matches(ANGLED);
      const url = found?.[1] && safe(found[1]);
      if (url) push({ node: link(url, [url]) }, found[0].length);
      else if (found && !found[1]) push({ node: el('br') }, found[0].length);
      else push({ text: '<' }, 1);
    } else if (char === 'h') {
      const found = brackets.length === 0 && matches(ADDRESS);
      const address = found ? trimmed(found[0]) : '';
      const url = safe(address);
      if (url) push({ node: link(url, [address]) }, address.length);
      else push({ text: 'http' }, 4);
    } else {
      push({ text: char }, 1);
    }
  }
  return out;
}

/** How often the character there stands in a row. */
function run(text, at) {
  let end = at + 1;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

/** Where a run of exactly so many backticks begins. */
function closing(text, from, length) {
  for (let at = text.indexOf('`', from); at >= 0; at = text.indexOf('`', at)) {
    const found = run(text, at);
    if (found === length) return at;
    at += found;
  }
  return -1;
}

function code(text) {
  const line = text.replaceAll('\n', ' ');
  const isPadded = line.length > 2 && line.startsWith(' ') && line.endsWith(' ') && line.trim() !== '';
  return el('code', { textContent: isPadded ? line.slice(1, -1) : line });
}

function delimiter(text, at, length) {
  const char = text[at];
  const before = text[at - 1] ?? ' ';
  const after = text[at + length] ?? ' ';
  const isSpace = (c) => c.trim() === '';
  const isMark = (c) => PUNCTUATION.test(c);
  const left = !isSpace(after) && (!isMark(after) || isSpace(before) || isMark(before));
  const right = !isSpace(before) && (!isMark(before) || isSpace(after) || isMark(after));
  // An underscore within a word is part of it.
  const opens = left && (char !== '_' || !right || isMark(before));
  const closes = right && (char !== '_' || !left || isMark(after));
  return { char, count: length, opens, closes, starts: [], ends: [] };
}

/** Finds for each run that may end emphasis the nearest that may begin it. */
function pair(list) {
  const open = [];
  const waiting = { '*': 0, _: 0, '~': 0 };
  for (const token of list) {
    if (!token.char) continue;
    const least = token.char === '~' ? 2 : 1;
    // The count keeps a run without a partner from looking through all that is open.
    while (token.closes && token.count >= least && waiting[token.char] > 0) {
      while (open.at(-1).char !== token.char) waiting[open.pop().char] -= 1;
      const opener = open.at(-1);
      const count = Math.min(opener.count, token.count) >= 2 ? 2 : 1;
      const tag = token.char === '~' ? 'del' : count === 2 ? 'strong' : 'em';
      opener.starts.unshift(tag);
      token.ends.push(tag);
      opener.count -= count;
      token.count -= count;
      if (opener.count < least) waiting[open.pop().char] -= 1;
    }
    if (token.opens && token.count >= least) {
      open.push(token);
      waiting[token.char] += 1;
    }
  }
}

function build(list) {
  pair(list);
  const root = document.createDocumentFragment();
  const stack = [root];
  for (const token of list) {
    const top = stack.at(-1);
    if (token.node) {
      top.append(token.node);
    } else if (!token.char) {
      top.append(token.text);
    } else {
      for (let i = 0; i < token.ends.length; i += 1) stack.pop();
      stack.at(-1).append(token.char.repeat(token.count));
      for (const tag of token.starts) {
        const outer = stack.at(-1);
        const node = stack.length < DEPTH_MAX ? el(tag) : outer;
        if (node !== outer) outer.append(node);
        stack.push(node);
      }
    }
  }
  root.normalize();
  return [...root.childNodes];
}

function link(url, children) {
  return el('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, ...children);
}

/** The address, if following it can do no more than show another page or write a letter. */
function safe(text) {
  return /^(?:https?:\/\/|mailto:)[^\s]/i.test(text) && URL.canParse(text) ? text : null;
}

/** Without what more likely ends the sentence than the address. */
function trimmed(address) {
  let end = address.length;
  let surplus = address.split(')').length - address.split('(').length;
  while (end > 0) {
    const last = address[end - 1];
    if (last === ')' && surplus > 0) surplus -= 1;
    else if (!'.,:;!?\'*_~]'.includes(last)) break;
    end -= 1;
  }
  return address.slice(0, end);
}
