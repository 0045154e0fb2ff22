// The messages of the shown conversation.

import { copyButton, el, icon, iconButton, say } from './dom.js';
import { figuresText } from './figures.js';
import { Drawing } from './markdown.js';

const THINK = '<think>';
const THOUGHT = '</think>';

export class Thread {
  #root = document.getElementById('thread');
  #actions;
  #entries = new Map();
  #isRunning = () => false;
  #frame = 0;
  #rest = 0;
  #waiting = new Set();

  /** `actions`: `edit(message, text)`, `again(message)`, `remove(message)`, and `drawn()`, told when the height changed. */
  constructor(actions) {
    this.#actions = actions;
  }

  /** Draws a conversation; `isRunning()` says whether its last answer is being written. */
  show({ messages }, isRunning) {
    this.#isRunning = isRunning;
    this.#waiting.clear();
    for (const [message, { node }] of this.#entries) {
      if (messages.includes(message)) continue;
      node.remove();
      this.#entries.delete(message);
    }
    messages.forEach((message, i) => {
      const { node } = this.#entries.get(message) ?? this.#add(message);
      if (this.#root.children[i] !== node) this.#root.insertBefore(node, this.#root.children[i] ?? null);
    });
  }

  /** A message of the shown conversation is longer or at its end. */
  grew(message) {
    this.#waiting.add(message);
    // In a tab that is not seen no frame comes; the end is drawn at once, so that all of it is there.
    if (message.state !== 'running') this.#draw();
    else this.#ask();
  }

  #ask() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      if (performance.now() < this.#rest) this.#ask();
      else this.#draw();
    });
  }

  #draw() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const began = performance.now();
    for (const message of this.#waiting) {
      this.#entries.get(message)?.update();
    }
    this.#waiting.clear();
    this.#actions.drawn();
    // A paragraph without an end takes longer with every token: drawing gets a part of the time, and never all of it.
    const now = performance.now();
    this.#rest = now + 3 * (now - began);
  }

  #add(message) {
    const entry = message.role === 'user' ? this.#question(message) : this.#answer(message);
    this.#entries.set(message, entry);
    entry.update();
    return entry;
  }

  #question(message) {
    const body = el('div', { className: 'body', textContent: message.text });
    const node = el('li', { className: 'turn question' });
    const edit = () => {
      const stop = () => node.replaceChildren(...shown);
      const done = (text) => (stop(), text.trim() && this.#actions.edit(message, text));
      node.replaceChildren(editor(message.text, done, stop));
      node.querySelector('textarea').focus();
    };
    const shown = [
      el('span', { className: 'unseen', textContent: 'You' }),
      body,
      el('div', { className: 'foot' },
        iconButton('edit', 'Edit and send again', edit),
        copyButton('Copy the message', () => message.text),
        iconButton('trash', 'Delete the message and its answer', () => this.#actions.remove(message))),
    ];
    node.append(...shown);
    return { node, update() {} };
  }

  #answer(message) {
    const isNew = message.state === 'running';
    const thought = el('div', {});
    const details = el('details', { className: 'thought', hidden: true }, el('summary', { textContent: 'Thinking' }), thought);
    const body = el('div', { className: 'body' });
    const trouble = el('div', { className: 'trouble', hidden: true });
    const figures = el('span', { className: 'figures' });
    const again = iconButton('again', 'Answer again', () => this.#actions.again(message));
    const foot = el('div', { className: 'foot' },
      copyButton('Copy the answer', () => parts(message.text).said.trim()), again,
      iconButton('trash', 'Delete the message and its answer', () => this.#actions.remove(message)), figures);
    const node = el('li', { className: 'turn answer' },
      el('span', { className: 'unseen', textContent: 'Answer' }), details, body, trouble, foot);
    const drawings = [new Drawing(thought), new Drawing(body, isNew ? say : undefined)];
    const update = () => {
      const { thinks, said } = parts(message.text);
      details.hidden = thinks === '';
      drawings[0].update(thinks);
      drawings[1].update(said);
      // Left over from a page that was closed, it runs no more.
      const isRunning = message.state === 'running' && this.#isRunning();
      node.classList.toggle('running', isRunning);
      figures.textContent = figuresText(message, isRunning);
      // Of an answer that never came there is nothing to copy, and to try again is said above.
      foot.hidden = !isRunning && message.text === '' && message.error !== undefined;
      if (isRunning) return;
      for (const drawing of drawings) drawing.end();
      this.#tell(message, trouble, isNew);
    };
    return { node, update };
  }

  #tell(message, trouble, isNew) {
    trouble.hidden = message.error === undefined;
    if (message.error !== undefined) {
      const again = () => this.#actions.again(message);
      trouble.replaceChildren(
        el('p', {}, icon('alert'), message.error),
        el('button', { type: 'button', className: 'plain', textContent: 'Try again', on: { click: again } }));
    }
    const end = { stopped: 'Stopped.', failed: `The answer failed: ${message.error}` };
    if (isNew) say(end[message.state] ?? 'The answer is complete.');
  }
}

/** What a model thinks before it answers, where it marks that, and the answer. */
function parts(text) {
  const begun = text.trimStart();
  if (THINK.startsWith(begun.slice(0, THINK.length)) && begun.length < THINK.length) return { thinks: '', said: '' };
  if (!begun.startsWith(THINK)) return { thinks: '', said: text };
  const end = begun.indexOf(THOUGHT);
  if (end < 0) return { thinks: begun.slice(THINK.length), said: '' };
  return { thinks: begun.slice(THINK.length, end), said: begun.slice(end + THOUGHT.length) };
}

function editor(text, done, stop) {
  const area = el('textarea', { value: text, rows: Math.min(12, text.split('\n').length + 1), 'aria-label': 'The message' });
  area.addEventListener('keydown', (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === 'Escape') {
      event.stopPropagation();
      stop();
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      done(area.value);
    }
  });
  return el('form', { className: 'editor', on: { submit: (event) => (event.preventDefault(), done(area.value)) } },
    area,
    el('p', { textContent: 'Sending replaces what comes after it.' }),
    el('button', { type: 'button', className: 'plain', textContent: 'Cancel', on: { click: stop } }),
    el('button', { className: 'main', textContent: 'Send' }));
}
