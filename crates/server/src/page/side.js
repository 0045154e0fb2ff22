// The list of conversations.

import { el, iconButton } from './dom.js';
import { titleOf } from './store.js';

export class Side {
  #list = document.getElementById('list');
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
    this.#list.replaceChildren(...found.map((each) => this.#item(each)));
    const none = document.getElementById('none');
    none.hidden = found.length > 0;
    none.textContent = all.length === 0 ? 'Conversations are kept here, in this browser alone.' : 'Nothing found.';
  }

  #item(conversation) {
    const { id } = conversation;
    const title = titleOf(conversation);
    const link = el('a', { href: `#/${id}`, title, textContent: title });
    const item = el('li', {});
    if (id === this.#actions.shown()) {
      item.className = 'shown';
      link.setAttribute('aria-current', 'page');
    }
    item.classList.toggle('running', this.#actions.isRunning(id));
    const rename = () => {
      let isDone = false;
      const done = (text) => {
        if (isDone) return;
        isDone = true;
        if (text === null) this.draw();
        else this.#actions.rename(id, text.trim());
      };
      const input = el('input', { value: title, 'aria-label': 'Title', on: {
        blur: () => done(input.value),
        keydown: (event) => {
          if (event.isComposing) return;
          if (event.key === 'Escape') event.stopPropagation();
          if (event.key === 'Escape') done(null);
          if (event.key === 'Enter') done(input.value);
        },
      } });
      item.replaceChildren(input);
      input.select();
    };
    const tools = el('span', { className: 'tools' },
      iconButton('edit', `Rename ${title}`, rename),
      iconButton('download', `Export ${title}`, () => this.#actions.download(id)),
      iconButton('trash', `Delete ${title}`, () => this.#actions.remove(id)));
    item.append(link, tools);
    return item;
  }
}

/** Whether each word is in the title or in some message. */
function holds(conversation, words) {
  const texts = [titleOf(conversation), ...conversation.messages.map((message) => message.text)].map((text) => text.toLowerCase());
  return words.every((word) => texts.some((text) => text.includes(word)));
}
