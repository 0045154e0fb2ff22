// The page: what is shown, and what its parts tell each other.

import { Answers } from './answers.js';
import { ServerError, props } from './api.js';
import { Composer } from './composer.js';
import { newId } from './dom.js';
import { showContext } from './figures.js';
import { notice, withdraw } from './notice.js';
import { Scroll } from './scroll.js';
import { Settings } from './settings.js';
import { Side } from './side.js';
import { Store, emptyConversation, titleOf } from './store.js';
import { Thread } from './thread.js';
import { fromText, toText } from './transfer.js';

const find = (id) => document.getElementById(id);
let server = null;
let shown;

const scroll = new Scroll();
const settings = new Settings({ systemChanged, closed: () => server === null && askServer() });
const answers = new Answers({ sampling: () => settings.fields(), grew, save: (conversation) => store.get(conversation.id) === conversation && save(conversation) });
const store = await Store.open({ changed: changedElsewhere, isBusy: (id) => answers.isRunning(id) });
const thread = new Thread({ edit, again, remove, drawn });
const composer = new Composer({ send, stop: () => answers.stop(shown.id) });
const side = new Side({
  conversations: () => store.list(),
  shown: () => shown.id,
  isRunning: (id) => answers.isRunning(id),
  rename,
  download: (id) => download([store.get(id)]),
  remove: removeConversation,
});

if (store.problem) notice('store', store.problem.message, { isWrong: true });
find('new').addEventListener('click', () => (location.hash === '' || location.hash === '#/' ? show() : (location.hash = '#/')));
find('theme').addEventListener('click', () => dispatchEvent(new Event('theme')));
find('open-settings').addEventListener('click', () => settings.open(shown));
find('export').addEventListener('click', () => download(store.list()));
find('import').addEventListener('click', () => find('file').click());
find('file').addEventListener('change', importFile);
find('open-side').addEventListener('click', () => toggleSide(true));
find('close-side').addEventListener('click', () => toggleSide(false));
matchMedia('(min-width: 860px)').addEventListener('change', () => toggleSide(false));
addEventListener('hashchange', show);
addEventListener('pagehide', () => answers.isRunning(shown.id) && save(shown));
document.addEventListener('keydown', ({ key }) => key === 'Escape' && toggleSide(false));
show();
askServer();

/** Shows the conversation that the address names, or a new one. */
function show() {
  const named = store.get(location.hash.replace(/^#\//, ''));
  shown = named ?? emptyConversation(settings.system);
  toggleSide(false);
  drawAll();
  composer.show(named ? shown.id : 'new');
  scroll.toEnd();
}

function drawAll() {
  thread.show(shown, () => answers.isRunning(shown.id));
  drawAround();
}

/** Everything but the messages. */
function drawAround() {
  const isEmpty = shown.messages.length === 0;
  find('title').textContent = isEmpty ? 'New conversation' : titleOf(shown);
  document.title = isEmpty ? 'minfer' : `${titleOf(shown)} – minfer`;
  find('welcome').hidden = !isEmpty;
  find('export').disabled = store.list().length === 0;
  composer.running(answers.isRunning(shown.id));
  showContext(shown, server?.n_ctx);
  side.draw();
}

async function askServer() {
  try {
    server = await props();
    find('model').textContent = server.model;
    find('welcome-model').textContent = server.model;
    withdraw('server');
    showContext(shown, server.n_ctx);
    if (!server.has_chat_template) notice('server', 'This model’s file has no chat template: it can go on with texts, but not chat.', { isWrong: true });
  } catch (error) {
    if (error.status === 401) settings.open(shown, true);
    notice('server', error.message, { isWrong: true, action: 'Try again', run: askServer });
  }
}

// What is said and answered.

function send(text) {
  shown.messages.push({ id: newId(), role: 'user', text });
  answerIt();
}

async function answerIt() {
  const conversation = shown;
  conversation.updated = Date.now();
  history.replaceState(null, '', `#/${conversation.id}`);
  composer.keepAs(conversation.id);
  save(conversation);
  const ended = answers.start(conversation);
  drawAll();
  scroll.toEnd();
  const failure = await ended;
  if (failure instanceof ServerError && failure.status === 401) settings.open(shown, true);
  drawAround();
}

/** An answer in some conversation is longer or at its end. */
function grew(conversation, message) {
  if (conversation !== shown) return;
  thread.grew(message);
}

function drawn() {
  scroll.follow();
  showContext(shown, server?.n_ctx);
}

/** Changes the messages of the shown conversation so that it can be undone. */
function change(what, messages) {
  const conversation = shown;
  const before = conversation.messages;
  answers.stop(conversation.id);
  conversation.messages = messages;
  notice('undo', what, { action: 'Undo', run: () => {
    answers.stop(conversation.id);
    conversation.messages = before;
    save(conversation);
    if (conversation === shown) drawAll();
  } });
}

function edit(message, text) {
  const at = shown.messages.indexOf(message);
  change('The message was replaced, with what came after it.', [...shown.messages.slice(0, at), { ...message, id: newId(), text }]);
  answerIt();
}

function again(message) {
  const before = shown.messages.slice(0, shown.messages.indexOf(message));
  // Of an answer that never came nothing is lost.
  if (message.text === '' && shown.messages.at(-1) === message) shown.messages = before;
  else change(`The answer was replaced${shown.messages.at(-1) === message ? '' : ', with what came after it'}.`, before);
  answerIt();
}

/** A question goes with its answer, so that turns still follow each other. */
function remove(message) {
  const at = shown.messages.indexOf(message);
  const from = message.role === 'assistant' && shown.messages[at - 1]?.role === 'user' ? at - 1 : at;
  const until = message.role === 'user' && shown.messages[at + 1]?.role === 'assistant' ? at + 2 : at + 1;
  change('The message and its answer were deleted.', shown.messages.toSpliced(from, until - from));
  save(shown);
  drawAll();
}

// Conversations as a whole.

async function save(conversation) {
  try {
    await store.save(conversation);
    withdraw('store');
  } catch (error) {
    notice('store', error.message, { isWrong: true, action: 'Export', run: () => download([conversation]) });
  }
}

function systemChanged(text) {
  shown.system = text;
  if (shown.messages.length > 0) save(shown);
}

async function rename(id, title) {
  store.get(id).title = title;
  await save(store.get(id));
  drawAround();
}

async function removeConversation(id) {
  const conversation = store.get(id);
  answers.stop(id);
  const removed = store.remove(id);
  if (conversation === shown) {
    location.hash = '#/';
    show();
  }
  drawAround();
  const undo = async () => {
    await save(conversation);
    drawAround();
  };
  notice('undo', `“${titleOf(conversation)}” was deleted.`, { action: 'Undo', run: undo });
  await removed.catch((error) => notice('store', error.message, { isWrong: true }));
}

function changedElsewhere(id) {
  if (id !== shown.id) return drawAround();
  if (store.get(id)) shown = store.get(id);
  drawAll();
}

function download(conversations) {
  const url = URL.createObjectURL(new Blob([toText(conversations)], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `minfer-${new Date().toISOString().slice(0, 10)}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

async function importFile({ target }) {
  const [file] = target.files;
  if (!file) return;
  // The same file may be chosen again.
  const text = await file.text();
  target.value = '';
  try {
    const all = fromText(text);
    let added = 0;
    for (const conversation of all) {
      const here = store.get(conversation.id);
      if (here && toText(fromText(toText([here]))) === toText([conversation])) continue;
      // Another with this name stays as it is.
      await save(here ? { ...conversation, id: newId() } : conversation);
      added += 1;
    }
    const were = all.length - added;
    notice('import', `${added} imported${were > 0 ? `, ${were} of the file were here already` : ''}.`);
    drawAround();
  } catch (error) {
    notice('import', `${file.name}: ${error.message}`, { isWrong: true });
  }
}

/** The list of conversations on narrow screens, where it lies over the rest. */
function toggleSide(isOpen) {
  const was = document.body.classList.contains('with-side');
  if (was === isOpen) return;
  document.body.classList.toggle('with-side', isOpen);
  find('main').inert = isOpen;
  find(isOpen ? 'new' : 'open-side').focus();
}
