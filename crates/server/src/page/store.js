// The conversations, kept in this browser and the same in all of its tabs.

import { newId } from './dom.js';

const NAME = 'minfer';
const STORE = 'conversations';

/** Why something is not kept. What is in memory stays there, and is kept with the next change that can be. */
export class StoreError extends Error {}

export class Store {
  #database;
  #all = new Map();
  #channel = new BroadcastChannel('minfer');

  /**
   * With what is kept. `changed(id)` is told of what another tab changed, but for conversations of which `isBusy(id)`.
   * Without storage it begins empty, and `problem` says why.
   */
  static async open({ changed, isBusy }) {
    const store = new Store();
    try {
      store.#database = await opened();
      const list = await finished(store.#objects('readonly').getAll());
      for (const conversation of list) store.#all.set(conversation.id, conversation);
    } catch (error) {
      store.problem = new StoreError(`This browser keeps no conversations for this page: ${error.message}`);
    }
    store.#channel.addEventListener('message', async ({ data: id }) => {
      if (!store.#database || isBusy(id)) return;
      const conversation = await finished(store.#objects('readonly').get(id));
      if (conversation) store.#all.set(id, withSame(conversation, store.#all.get(id)));
      else store.#all.delete(id);
      changed(id);
    });
    return store;
  }

  get(id) {
    return this.#all.get(id);
  }

  /** The latest first. */
  list() {
    return [...this.#all.values()].sort((a, b) => b.updated - a.updated);
  }

  /** Keeps a conversation as it is now. */
  async save(conversation) {
    this.#all.set(conversation.id, conversation);
    await this.#change((objects) => objects.put(conversation));
    this.#channel.postMessage(conversation.id);
  }

  async remove(id) {
    this.#all.delete(id);
    await this.#change((objects) => objects.delete(id));
    this.#channel.postMessage(id);
  }

  #objects(mode) {
    return this.#database.transaction(STORE, mode).objectStore(STORE);
  }

  async #change(action) {
    if (!this.#database) throw this.problem;
    try {
      const objects = this.#objects('readwrite');
      const { transaction } = objects;
      const isCommitted = committed(transaction);
      action(objects);
      // At once: a page that is being closed does not come back to it.
      transaction.commit();
      await isCommitted;
    } catch (error) {
      const isFull = error.name === 'QuotaExceededError';
      const why = isFull ? 'the browser’s storage is full. Delete conversations, or export them first' : error.message;
      throw new StoreError(`The latest changes are on this page but not kept: ${why}.`);
    }
  }
}

/** A conversation without messages. */
export function emptyConversation(system) {
  const now = Date.now();
  return { id: newId(), title: '', created: now, updated: now, system, messages: [] };
}

/** What a conversation is called. */
export function titleOf(conversation) {
  const first = conversation.messages[0]?.text.trim().split('\n', 1)[0] ?? '';
  return conversation.title || (first.length > 60 ? `${first.slice(0, 60).trimEnd()}…` : first) || 'New conversation';
}

/** The messages that did not change are those that there were, so that nothing is drawn anew for them. */
function withSame(conversation, before) {
  const old = new Map(before?.messages.map((message) => [JSON.stringify(message), message]));
  const messages = conversation.messages.map((message) => old.get(JSON.stringify(message)) ?? message);
  return { ...conversation, messages };
}

function opened() {
  const request = indexedDB.open(NAME, 1);
  request.addEventListener('upgradeneeded', () => request.result.createObjectStore(STORE, { keyPath: 'id' }));
  return finished(request);
}

function finished(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error));
  });
}

function committed(transaction) {
  return new Promise((resolve, reject) => {
    transaction.addEventListener('complete', resolve);
    transaction.addEventListener('abort', () => reject(transaction.error));
  });
}
