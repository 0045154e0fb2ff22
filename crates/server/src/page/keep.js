// Small texts that outlive a reload, where the browser keeps any; elsewhere they last as long as the page.

/** In `localStorage` for `'local'`, in `sessionStorage` for `'session'`. */
class Kept {
  #kind;
  #here = new Map();

  constructor(kind) {
    this.#kind = kind;
  }

  get(name) {
    try {
      return this.#here.get(name) ?? this.#storage().getItem(name) ?? '';
    } catch {
      return '';
    }
  }

  set(name, text) {
    try {
      if (text === '') this.#storage().removeItem(name);
      else this.#storage().setItem(name, text);
      this.#here.delete(name);
    } catch {
      this.#here.set(name, text);
    }
  }

  // Where nothing may be kept, even to ask for it fails.
  #storage() {
    return this.#kind === 'local' ? localStorage : sessionStorage;
  }
}

/** Until it is changed. */
export const local = new Kept('local');

/** Until the tab is closed. */
export const session = new Kept('session');
