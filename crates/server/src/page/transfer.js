// Conversations as a file: written so that another browser can read it, read as something that anybody may have written.

const FORMAT = 'minfer-conversations';
const VERSION = 1;

/** What a file of conversations holds. */
export function toText(conversations) {
  return JSON.stringify({ format: FORMAT, version: VERSION, conversations }, null, 1);
}

/** The conversations of a file; an error says where it is not one, what was expected and what is there. */
export function fromText(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new Error(`expected conversations exported from this page, found a file that is no JSON: ${error.message}`);
  }
  if (!isObject(file) || file.format !== FORMAT) {
    const found = !isObject(file) ? kind(file) : 'format' in file ? `"format": ${JSON.stringify(file.format).slice(0, 60)}` : 'an object without it';
    throw new Error(`expected conversations exported from this page ("format": "${FORMAT}"), found ${found}`);
  }
  if (file.version !== VERSION) wrong('version', `${VERSION}`, file.version);
  return list(file.conversations, 'conversations').map((each, i) => conversation(each, `conversations[${i}]`));
}

function conversation(value, where) {
  object(value, where);
  return {
    id: text(value.id, `${where}.id`),
    title: text(value.title, `${where}.title`),
    created: number(value.created, `${where}.created`),
    updated: number(value.updated, `${where}.updated`),
    system: text(value.system, `${where}.system`),
    messages: list(value.messages, `${where}.messages`).map((each, i) => message(each, `${where}.messages[${i}]`)),
  };
}

// Fields that are not known here are left out, so that none of them means anything later.
function message(value, where) {
  object(value, where);
  const out = {
    id: text(value.id, `${where}.id`),
    role: oneOf(value.role, ['user', 'assistant'], `${where}.role`),
    text: text(value.text, `${where}.text`),
  };
  if (value.state !== undefined) out.state = oneOf(value.state, ['running', 'done', 'length', 'stopped', 'failed'], `${where}.state`);
  // It ran in another browser.
  if (out.state === 'running') out.state = 'stopped';
  if (value.error !== undefined) out.error = text(value.error, `${where}.error`);
  if (value.figures !== undefined) {
    object(value.figures, `${where}.figures`);
    out.figures = {};
    for (const name of ['prompt', 'cached', 'tokens', 'first', 'rate']) {
      const figure = value.figures[name];
      if (figure !== undefined && figure !== null) out.figures[name] = number(figure, `${where}.figures.${name}`);
    }
  }
  return out;
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

function object(value, where) {
  if (!isObject(value)) wrong(where, 'an object', value);
}

function list(value, where) {
  return Array.isArray(value) ? value : wrong(where, 'a list', value);
}

function text(value, where) {
  return typeof value === 'string' ? value : wrong(where, 'a text', value);
}

function number(value, where) {
  return Number.isFinite(value) ? value : wrong(where, 'a number', value);
}

function oneOf(value, names, where) {
  return names.includes(value) ? value : wrong(where, names.map((name) => `"${name}"`).join(' or '), value);
}

function wrong(where, expected, found) {
  throw new Error(`${where}: expected ${expected}, found ${kind(found)}`);
}

function kind(value) {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return JSON.stringify(value).slice(0, 60);
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : 'an object';
}
