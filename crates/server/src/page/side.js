// The list of conversations.

import { el, iconButton } from './dom.js';
import { titleOf } from './store.js';

export class Side {
  #list = document.getElementById('list');
  #items = new Map();
  #search = document.getElementById('search');
  #actions;

  /** `actions`: `conversations()`, `shown()`, `isRunning(id)`, `rename(id, title)`, `download(id)`, `remove(id)`. */
  constructor(actions) {
    this.#actions = actions;
    this.#search.addEventListener('input', () => this.draw());
  }

  draw() {
    const words = this.#search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.#actions.conversations();
    const found = all.filter((each) => words.length === 0 || holds(each, words));
    const none = document.getElementById('none');
    none.hidden = found.length > 0;
    none.textContent = all.length === 0 ? 'Conversations are kept here, in this browser alone.' : 'Nothing found.';
    // What is there stays, with the pointer on it, the focus or a title that is being written.
    const before = this.#items;
    this.#items = new Map(found.map(({ id }) => [id, before.get(id) ?? this.#item(id)]));
    for (const [id, { node }] of before) if (!this.#items.has(id)) node.remove();
    found.forEach((conversation, i) => {
      const { node, link } = this.#items.get(conversation.id);
      const isShown = conversation.id === this.#actions.shown();
      link.textContent = link.title = titleOf(conversation);
      node.classList.toggle('shown', isShown);
      node.classList.toggle('running', this.#actions.isRunning(conversation.id));
      if (isShown) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
      if (this.#list.children[i] !== node) this.#list.insertBefore(node, this.#list.children[i] ?? null);
    });
  }

  #item(id) {
    const link = el('a', { href: `#/${id}` });
    const node = el('li', {});
    const rename = () => {
      let isDone = false;
      const done = (text) => {
        if (isDone) return;
        isDone = true;
        node.replaceChildren(link, tools);
        if (text !== null && text !== link.textContent) this.#actions.rename(id, text.trim());
      };
      const input = el('input', { value: link.textContent, 'aria-label': 'Title', on: {
        blur: () => done(input.value),
        keydown: (event) => {
          if (event.isComposing) return;
          if (event.key === 'Escape') event.stopPropagation();
          if (event.key === 'Escape') done(null);
          if (event.key === 'Enter') done(input.value);
        },
      } });
      node.replaceChildren(input);
      input.select();
    };
    const tools = el('span', { className: 'tools' },
      iconButton('edit', 'Rename the conversation', rename),
      iconButton('download', 'Export the conversation', () => this.#actions.download(id)),
      iconButton('trash', 'Delete the conversation', () => this.#actions.remove(id)));
    node.append(link, tools);
    return { node, link };
  }
}

/** Whether each word is in the title or in some message. */
function holds(conversation, words) {
  const texts = [titleOf(conversation), ...conversation.messages.map((message) => message.text)].map((text) => text.toLowerCase());
  return words.every((word) => texts.some((text) => text.includes(word)));
}
