// What may be set: the system prompt of a conversation, how tokens are chosen, the key.

import { key } from './api.js';
import { local } from './keep.js';

const SAMPLING = 'minfer.sampling';
const SYSTEM = 'minfer.system';

export class Settings {
  #dialog = document.getElementById('settings');
  #form = document.getElementById('settings-form');
  #sampling = numbers(local.get(SAMPLING));
  #system = local.get(SYSTEM);

  /** `systemChanged(text)` is told of the shown conversation's new system prompt, `closed()` of the dialog's end. */
  constructor({ systemChanged, closed }) {
    const { system, apiKey } = this.#form.elements;
    for (const input of this.#numbers()) {
      input.value = this.#sampling[input.name] ?? '';
      input.addEventListener('input', () => this.#set(input));
    }
    system.addEventListener('input', () => {
      this.#system = system.value;
      local.set(SYSTEM, this.#system);
      systemChanged(system.value);
    });
    apiKey.addEventListener('input', () => key.set(apiKey.value.trim()));
    document.getElementById('settings-reset').addEventListener('click', () => {
      for (const input of this.#numbers()) {
        input.value = '';
        this.#set(input);
      }
    });
    this.#dialog.addEventListener('close', closed);
    // Beside the form is outside of the dialog.
    this.#dialog.addEventListener('click', ({ target }) => target === this.#dialog && this.#dialog.close());
  }

  /** Shows them; with `isRefused`, because the server wants a key. */
  open(conversation, isRefused = false) {
    const { system, apiKey } = this.#form.elements;
    system.value = conversation.system;
    apiKey.value = key.get();
    document.getElementById('key-wanted').hidden = !isRefused;
    if (!this.#dialog.open) this.#dialog.showModal();
    if (isRefused) apiKey.focus();
  }

  /** What new conversations begin with. */
  get system() {
    return this.#system;
  }

  /** The fields of a request; what is empty is the server's to say. */
  fields() {
    const given = this.#numbers().filter((input) => input.value !== '' && input.validity.valid);
    return Object.fromEntries(given.map((input) => [input.name, input.valueAsNumber]));
  }

  #numbers() {
    return [...this.#form.querySelectorAll('input[type=number]')];
  }

  #set(input) {
    // A wrong value is marked by the browser and not used.
    if (input.validity.valid) this.#sampling[input.name] = input.value;
    local.set(SAMPLING, JSON.stringify(this.#sampling));
  }
}

function numbers(text) {
  try {
    return { ...JSON.parse(text) };
  } catch {
    return {};
  }
}
