// Answers as they are read: Markdown drawn with nodes, and drawn on while it arrives.

import { blocks } from './blocks.js';
import { copyButton, el } from './dom.js';
import { inline } from './inline.js';

/** Draws a text that grows. What is finished stays; the last block alone is drawn anew. */
export class Drawing {
  #root;
  #finished;
  // Where the first block begins that may still change, and the blocks and nodes from there on.
  #from = 0;
  #open = [];
  #isOver = false;

  /** In an element; `finished(text)` is told of each block that will not change any more. */
  constructor(root, finished = () => {}) {
    this.#root = root;
    this.#finished = finished;
  }

  /** The text so far, which begins as it did before. */
  update(text) {
    if (this.#isOver) return;
    const tail = text.slice(this.#from);
    const list = blocks(tail);
    // The line that is being written may turn out to be anything: only a block before a whole line of another is finished.
    const whole = tail.lastIndexOf('\n');
    let done = 0;
    while (done + 1 < list.length && list[done + 1].lineEnd <= whole) done += 1;
    list.forEach((block, i) => {
      const before = this.#open[i];
      if (before && goOn(before, block)) return;
      const node = draw(block);
      if (before) before.node.replaceWith(node);
      else this.#root.append(node);
      this.#open[i] = { block, node };
    });
    while (this.#open.length > list.length) this.#open.pop().node.remove();
    for (const { node } of this.#open.splice(0, done)) this.#finished(node.textContent);
    if (done > 0) this.#from += list[done].start;
  }

  /** No more comes. */
  end() {
    this.#isOver = true;
    for (const { node } of this.#open.splice(0)) this.#finished(node.textContent);
  }
}

/** Code that became longer is not drawn anew. */
function goOn(before, block) {
  const old = before.block;
  const grows = block.kind === 'fence' && old.kind === 'fence' && old.language === block.language && block.text.startsWith(old.text);
  if (!grows) return false;
  before.node.querySelector('code').append(block.text.slice(old.text.length));
  before.block = block;
  return true;
}

function draw(block) {
  switch (block.kind) {
    case 'heading':
      // The page's own headings are above those of an answer.
      return el(`h${Math.min(block.level + 2, 6)}`, { className: `h${block.level}` }, ...inline(block.text));
    case 'rule':
      return el('hr');
    case 'fence':
      return fence(block);
    case 'quote':
      return el('blockquote', {}, ...block.blocks.map(draw));
    case 'list':
      return list(block);
    case 'table':
      return table(block);
    default:
      return el('p', {}, ...inline(block.text));
  }
}

function fence({ language, text }) {
  const code = el('code', { textContent: text });
  const head = el('div', { className: 'code-head' }, el('span', { textContent: language }), copyButton('Copy the code', () => code.textContent));
  // Reachable by keys, since it may be wider than the page.
  return el('div', { className: 'code' }, head, el('pre', { tabIndex: 0 }, code));
}

function list({ isOrdered, number, isLoose, items }) {
  const node = el(isOrdered ? 'ol' : 'ul');
  if (isOrdered && number !== 1) node.start = number;
  for (const item of items) {
    const children = item.map((block, i) => {
      const task = i === 0 && block.kind === 'paragraph' ? /^\[([ xX])\] /.exec(block.text) : null;
      const text = task ? `${task[1] === ' ' ? '☐' : '☑'} ${block.text.slice(4)}` : block.text;
      return block.kind !== 'paragraph' ? [draw(block)] : isLoose ? [el('p', {}, ...inline(text))] : inline(text);
    });
    node.append(el('li', {}, ...children.flat()));
  }
  return node;
}

function table({ head, align, rows }) {
  const row = (tag, cells) => el('tr', {}, ...cells.map((cell, i) => el(tag, { className: align[i] }, ...inline(cell))));
  const body = el('tbody', {}, ...rows.map((cells) => row('td', cells)));
  return el('div', { className: 'table', tabIndex: 0 }, el('table', {}, el('thead', {}, row('th', head)), body));
}
