// Requests to this server, and the events of its streams.

import { session } from './keep.js';

const KEY = 'minfer.key';

/** What the server said instead of an answer, or that it said nothing (`status` 0). */
export class ServerError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

/** The key for servers that want one. It is forgotten with the tab. */
export const key = {
  get: () => session.get(KEY),
  set: (text) => session.set(KEY, text),
};

/** What the server tells of itself. */
export async function props() {
  return (await send('props')).json();
}

/** The pieces of an answer: `text`, and at the end `reason` and `usage`. */
export async function* answer(body, signal) {
  const options = { stream: true, stream_options: { include_usage: true } };
  const response = await send('v1/chat/completions', { method: 'POST', body: JSON.stringify({ ...body, ...options }), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = new Events();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw error.name === 'AbortError' ? error : new ServerError('The connection broke off in the middle of the answer.');
      });
      for (const data of done ? [] : events.push(value)) {
        if (data === '[DONE]') return;
        const event = JSON.parse(data);
        if (event.error) throw new ServerError(event.error.message);
        const choice = event.choices?.[0];
        yield { text: choice?.delta?.content ?? '', reason: choice?.finish_reason ?? null, usage: event.usage ?? null };
      }
      if (done) throw new ServerError('The server ended the answer before it was whole.');
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function send(path, options = {}) {
  const headers = { Accept: 'application/json' };
  if (options.body) headers['Content-Type'] = 'application/json';
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  let response;
  try {
    // Relative to the page, so that a proxy may have it under a path of its own.
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ServerError('The server cannot be reached. Is it running?');
  }
  if (response.ok) return response;
  const text = await response.text().catch(() => '');
  let message;
  try {
    message = JSON.parse(text).error.message;
  } catch {
    message = `Status ${response.status}: ${text.trim().slice(0, 500) || response.statusText}`;
  }
  throw new ServerError(message, response.status);
}

/** Takes a stream of server-sent events apart, wherever it is cut. */
export class Events {
  #line = '';
  #data = [];

  /** The data of the events that more text completes. */
  push(text) {
    const out = [];
    const lines = text.split('\n');
    lines[0] = this.#line + lines[0];
    this.#line = lines.pop();
    for (const each of lines) {
      const line = each.endsWith('\r') ? each.slice(0, -1) : each;
      if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
      if (line !== '' || this.#data.length === 0) continue;
      out.push(this.#data.join('\n'));
      this.#data = [];
    }
    return out;
  }
}
