// What is shown: the data, what was chosen, and words for both.

const D = JSON.parse(document.getElementById('data').textContent);
const $ = (id) => document.getElementById(id);
const NS = $('map').namespaceURI;

const values = D.values.map(([name, kind, shape, dtype, bytes, space, first, last, before], id) =>
  ({ id, name, kind, shape, dtype, bytes, space, first, last, before }));
const steps = D.steps.map(([name, kind, layer], id) => ({ id, name, kind, layer }));
const bands = [];
for (const step of steps) {
  const end = bands[bands.length - 1];
  if (end && end.layer === step.layer) end.until = step.id + 1;
  else bands.push({ layer: step.layer, from: step.id, until: step.id + 1 });
}

const state = {
  strategy: D.shown,
  space: 0,
  oneScale: false,
  // The part of the plane that is seen, in steps and bytes.
  view: { t0: 0, t1: 1, a0: 0, a1: 1 },
  selected: null,
  hovered: null,
  query: '',
  kind: null,
  atPeak: false,
};

// The plan that is looked at.
let plan = null;

function usePlan() {
  const strategy = D.strategies[state.strategy];
  const used = (strategy && strategy.spaces[state.space]) ||
    { bytes: 0, bound: 0, proven: false, step: null, held: [], live: [], rects: [] };
  const rects = used.rects.map(([value, from, until, offset]) =>
    ({ value, from, until, offset, bytes: values[value].bytes }));
  rects.sort((a, b) => a.from - b.from || a.offset - b.offset || a.value - b.value);
  const of = new Map(rects.map((rect) => [rect.value, rect]));
  // Who takes over whose window in this very plan.
  const heir = new Map();
  for (const rect of rects) {
    const old = of.get(values[rect.value].before);
    if (old && old.offset === rect.offset && old.until === rect.from) heir.set(old.value, rect.value);
  }
  const tallest = Math.max(...D.strategies.map((s) => s.spaces[state.space]?.bytes ?? 0), 1);
  const top = Math.max(state.oneScale ? tallest : used.bytes, 1);
  plan = { ...used, rects, of, heir, top };
}

// In place of whom a value is made in this plan; null when it has a window of its own.
function placeOf(value) {
  const before = values[value].before;
  return before !== null && plan.heir.get(before) === value ? before : null;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
function size(bytes) {
  let unit = 0;
  let shown = bytes;
  while (shown >= 999.5 && unit < UNITS.length - 1) { shown /= 1024; unit += 1; }
  const digits = unit === 0 || shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
  return `${Number(shown.toFixed(digits))} ${UNITS[unit]}`;
}
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, '\u202f');
const stepName = (at) => (steps[at] ? steps[at].name : '');
const kindName = (kind) => (kind === null ? '' : D.kinds[kind][0]);
const kindColour = (kind) => {
  const css = kind === null ? 'rest' : D.kinds[kind][1];
  return css === 'tmp' ? 'repeating-linear-gradient(135deg,var(--tmp) 0 2px,color-mix(in srgb,var(--tmp) 45%,transparent) 2px 5px)' : `var(--${css})`;
};

// Elements: text is only ever set as text.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children);
  return node;
}
function shape(tag, attributes = {}, parent = null) {
  const node = document.createElementNS(NS, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (parent) parent.append(node);
  return node;
}
function swatch(kind) {
  const node = el('span', { class: 'swatch' });
  node.style.background = kindColour(kind);
  return node;
}
const say = (text) => { $('say').textContent = text; };
