// Where messages are written.

import { icon } from './dom.js';
import { session } from './keep.js';

export class Composer {
  #input = document.getElementById('input');
  #button = document.getElementById('send');
  #name = '';
  #isRunning = false;

  /** `send(text)` is told of a message, `stop()` that the answer is to end. */
  constructor({ send, stop }) {
    // A keyboard on a screen has no Shift+Enter: there the button sends.
    const isTouch = matchMedia('(hover: none) and (pointer: coarse)');
    const submit = () => {
      if (this.#isRunning || this.#input.value.trim() === '') return;
      const text = this.#input.value;
      this.#input.value = '';
      this.#changed();
      send(text);
    };
    this.#input.addEventListener('input', () => this.#changed());
    this.#input.addEventListener('keydown', (event) => {
      // Enter ends a word while one is composed; 229 is what Safari says then.
      const isComposing = event.isComposing || event.keyCode === 229;
      if (event.key !== 'Enter' || event.shiftKey || isComposing || isTouch.matches) return;
      event.preventDefault();
      submit();
    });
    document.getElementById('composer').addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.#isRunning) stop();
      else submit();
      this.#input.focus();
    });
    document.addEventListener('keydown', (event) => {
      // In the search and in a dialog Escape means something else.
      const isElsewhere = event.target.closest?.('input, dialog') || document.querySelector('dialog[open]');
      if (event.key === 'Escape' && this.#isRunning && !event.isComposing && !isElsewhere) stop();
    });
  }

  /** For another conversation, with what was begun there. */
  show(id) {
    this.keepAs(id);
    this.#input.value = session.get(this.#name);
    this.#changed();
    if (matchMedia('(hover: hover)').matches) this.#input.focus();
  }

  /** The conversation has this name from now on. */
  keepAs(id) {
    this.#name = `minfer.draft.${id}`;
  }

  running(isRunning) {
    if (this.#isRunning === isRunning && this.#button.firstChild) return;
    this.#isRunning = isRunning;
    this.#button.replaceChildren(icon(isRunning ? 'stop' : 'send'));
    this.#button.title = isRunning ? 'Stop (Escape)' : 'Send (Enter)';
    this.#button.setAttribute('aria-label', isRunning ? 'Stop' : 'Send');
    this.#changed();
  }

  #changed() {
    const { style } = this.#input;
    style.height = 'auto';
    style.height = `${this.#input.scrollHeight}px`;
    this.#button.disabled = !this.#isRunning && this.#input.value.trim() === '';
    session.set(this.#name, this.#input.value);
  }
}
