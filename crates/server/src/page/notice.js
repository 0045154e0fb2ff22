// What the page has to say: one line above the message, with at most one thing to do.

import { el, iconButton } from './dom.js';

// Long enough to read it and to undo.
const SHORT_MS = 10000;

const root = document.getElementById('notices');
const shown = new Map();

/** Shows a text, in place of another of the same `name`. What is wrong stays until it is closed. */
export function notice(name, text, { isWrong = false, action = null, run = null } = {}) {
  withdraw(name);
  const close = () => withdraw(name);
  const node = el('div', { className: isWrong ? 'notice wrong' : 'notice', role: isWrong ? 'alert' : 'status' }, el('span', { textContent: text }));
  if (action) node.append(el('button', { type: 'button', className: 'plain', textContent: action, on: { click: () => (close(), run()) } }));
  node.append(iconButton('cross', 'Close', close));
  root.append(node);
  shown.set(name, { node, timer: isWrong ? 0 : setTimeout(close, SHORT_MS) });
}

/** Takes it away. */
export function withdraw(name) {
  const before = shown.get(name);
  clearTimeout(before?.timer);
  before?.node.remove();
  shown.delete(name);
}
