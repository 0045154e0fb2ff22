// Answers that are being written, one a conversation, whichever is shown.

import { ServerError, answer } from './api.js';
import { newId } from './dom.js';

// How often an answer that grows is kept.
const SAVE_MS = 1000;

export class Answers {
  #running = new Map();
  #sampling;
  #grew;
  #save;
  #isLeft = false;

  /**
   * `sampling()` gives the fields of a request that say how tokens are chosen, `grew(conversation, message)` is told of every
   * piece and of the end, `save(conversation)` keeps it.
   */
  constructor({ sampling, grew, save }) {
    this.#sampling = sampling;
    this.#grew = grew;
    this.#save = save;
    addEventListener('pagehide', () => (this.#isLeft = true));
    addEventListener('pageshow', () => (this.#isLeft = false));
  }

  isRunning(id) {
    return this.#running.has(id);
  }

  /** Ends the answer and keeps what there is of it. */
  stop(id) {
    this.#running.get(id)?.abort();
  }

  /** Answers the last message. Gives the error that ended it, if one did. */
  async start(conversation) {
    const body = { messages: request(conversation), ...this.#sampling() };
    const message = { id: newId(), role: 'assistant', text: '', state: 'running', figures: {} };
    conversation.messages.push(message);
    const abort = new AbortController();
    this.#running.set(conversation.id, abort);
    this.#grew(conversation, message);
    let failure = null;
    try {
      await this.#read(conversation, message, answer(body, abort.signal), abort.signal);
    } catch (error) {
      // A page that is left breaks off its answers, and has kept them as unfinished.
      if (this.#isLeft) return null;
      failure = abort.signal.aborted ? null : error;
      message.state = failure ? 'failed' : 'stopped';
      if (failure) message.error = failure instanceof ServerError ? failure.message : `The page made a mistake: ${failure.message}`;
    }
    if (this.#running.get(conversation.id) === abort) this.#running.delete(conversation.id);
    conversation.updated = Date.now();
    this.#grew(conversation, message);
    await this.#save(conversation);
    return failure;
  }

  async #read(conversation, message, pieces, signal) {
    const began = performance.now();
    let first = 0;
    let last = 0;
    let saved = began;
    const { figures } = message;
    figures.tokens = 0;
    for await (const { text, reason, usage } of pieces) {
      signal.throwIfAborted();
      const now = performance.now();
      if (text) {
        first ||= now;
        last = now;
        message.text += text;
        // Nearly always a token; the server tells the number at the end.
        figures.tokens += 1;
        figures.first = (first - began) / 1000;
      }
      if (reason) message.state = reason === 'length' ? 'length' : 'done';
      if (usage) {
        figures.tokens = usage.completion_tokens;
        figures.prompt = usage.prompt_tokens;
        figures.cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
      }
      // Between the first token and the last there is one step less than tokens.
      if (last > first) figures.rate = ((figures.tokens - 1) * 1000) / (last - first);
      this.#grew(conversation, message);
      if (now - saved > SAVE_MS) {
        saved = now;
        this.#save(conversation);
      }
    }
  }
}

/** The messages as the server takes them. An answer that never came stays as an empty one, since templates want turns. */
function request({ system, messages }) {
  const turns = messages.map(({ role, text }) => ({ role, content: text }));
  return system.trim() ? [{ role: 'system', content: system }, ...turns] : turns;
}
