// The plane of steps and addresses, and the curve of live bytes below it.

const map = $('map');
const layer = (id, attributes = {}) => shape('g', { id, ...attributes }, map);
const bandsLayer = layer('bands');
const gridLayer = layer('grid');
const rectsLayer = layer('rects', { 'clip-path': 'url(#clip)' });
const curveLayer = layer('curve', { 'clip-path': 'url(#clipcurve)' });
const overLayer = layer('over', { 'clip-path': 'url(#clip)' });
const frontLayer = layer('front');

const box = { left: 78, right: 12, top: 30, gap: 34, curve: 96, axis: 30, width: 800, up: 420 };
const planeX = () => box.width - box.left - box.right;
const curveTop = () => box.top + box.up + box.gap;
const still = matchMedia('(prefers-reduced-motion: reduce)');

// Pixels of a step and of an address, and back.
const px = (step) => box.left + (step - state.view.t0) / (state.view.t1 - state.view.t0) * planeX();
const py = (address) => box.top + box.up * (1 - (address - state.view.a0) / (state.view.a1 - state.view.a0));
const stepAt = (x) => state.view.t0 + (x - box.left) / planeX() * (state.view.t1 - state.view.t0);
const addressAt = (y) => state.view.a0 + (1 - (y - box.top) / box.up) * (state.view.a1 - state.view.a0);

let marks = new Map();
let moving = null;
let asked = false;

function measure() {
  box.width = Math.max(260, $('chart').clientWidth);
  const narrow = box.width < 560;
  box.left = narrow ? 62 : 78;
  box.right = narrow ? 6 : 12;
  box.up = Math.round(Math.min(560, Math.max(280, innerHeight * 0.5)));
  box.curve = narrow ? 76 : 96;
  const height = curveTop() + box.curve + box.axis;
  map.setAttribute('width', box.width);
  map.setAttribute('height', height);
  for (const [id, y, tall] of [['cliprect', box.top, box.up], ['cliprect2', curveTop() - 8, box.curve + 8]]) {
    const rect = $(id);
    rect.setAttribute('x', box.left);
    rect.setAttribute('y', y);
    rect.setAttribute('width', planeX());
    rect.setAttribute('height', tall);
  }
}

// Makes the rectangles of another plan; those that were there move to where they are now.
function changePlan() {
  const old = plan;
  const oldTop = state.view.a1;
  usePlan();
  state.view.a0 = 0;
  state.view.a1 = plan.top;
  moving = old && !still.matches ? { from: old.of, top: oldTop, start: performance.now() } : null;
  marks = new Map(plan.rects.map((rect) => {
    const { kind } = values[rect.value];
    const css = kind === null ? 'rest' : D.kinds[kind][1];
    return [rect.value, shape('rect', { class: 'v', 'data-v': rect.value, fill: css === 'tmp' ? 'url(#hatch)' : `var(--${css})` })];
  }));
  rectsLayer.replaceChildren(...marks.values());
  showMatches();
  draw();
}

function draw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame((now) => { asked = false; drawNow(now); });
}

function drawNow(now) {
  const { view } = state;
  let share = 1;
  if (moving) {
    const past = Math.min(1, Math.max(0, (now - moving.start) / 380));
    share = 1 - (1 - past) ** 3;
    view.a1 = moving.top + (plan.top - moving.top) * share;
    if (past >= 1) moving = null;
  }
  drawBands();
  drawGrid();
  drawRects(share);
  drawCurve();
  drawOver();
  drawFront();
  if (moving) draw();
}

function drawBands() {
  const height = curveTop() + box.curve - box.top + 18;
  const nodes = [];
  const numbers = [];
  // Every layer has a number if there is room; else every second, fourth, and so on.
  const own = bands.filter((band) => band.layer !== null);
  const usual = own.reduce((sum, band) => sum + band.until - band.from, 0) / Math.max(own.length, 1);
  const room = Math.max(usual / (state.view.t1 - state.view.t0) * planeX(), 0.01);
  const every = 2 ** Math.max(0, Math.ceil(Math.log2(24 / room)));
  bands.forEach((band, i) => {
    if (band.layer === null || band.until < state.view.t0 || band.from > state.view.t1) return;
    const x = Math.max(box.left, px(band.from));
    const wide = Math.min(box.left + planeX(), px(band.until)) - x;
    if (wide <= 0) return;
    if (i % 2 === 0) nodes.push(shape('rect', { class: 'band', x, y: box.top - 18, width: wide, height }));
    if (band.layer % every === 0 && (every > 1 || wide >= 20)) {
      const text = shape('text', { x: x + wide / 2, y: box.top - 5, 'text-anchor': 'middle' });
      text.textContent = wide > 70 ? `layer ${band.layer}` : wide > 34 || every > 1 ? `L${band.layer}` : band.layer;
      numbers.push(text);
    }
  });
  bandsLayer.replaceChildren(...nodes, ...numbers);
}

// At most `count` round numbers between two; round in twos, as sizes are, or in tens.
function ticks(from, to, count, binary) {
  const least = Math.max((to - from) / count, 1);
  let gap = 2 ** Math.ceil(Math.log2(least));
  if (!binary) {
    const ten = 10 ** Math.floor(Math.log10(least));
    gap = ten * [1, 2, 5, 10].find((f) => ten * f >= least - 1e-9);
  }
  const all = [];
  for (let at = Math.ceil(from / gap) * gap; at <= to; at += gap) all.push(at);
  return all;
}

// Addresses in words that tell each from the next.
function onAxis(addresses) {
  const short = addresses.map(size);
  if (new Set(short).size === short.length) return short;
  const gap = addresses[1] - addresses[0];
  let unit = 0;
  while (unit < UNITS.length - 1 && gap / 1024 ** unit >= 1024) unit += 1;
  return addresses.map((address) => `${grouped(address / 1024 ** unit)} ${UNITS[unit]}`);
}

function drawGrid() {
  const nodes = [];
  const put = (text, x, y, anchor) => {
    const node = shape('text', { x, y, 'text-anchor': anchor });
    node.textContent = text;
    nodes.push(node);
  };
  const { view } = state;
  const heights = ticks(view.a0, view.a1, 8, true);
  onAxis(heights).forEach((words, i) => {
    const y = py(heights[i]);
    nodes.push(shape('line', { class: 'gridline', x1: box.left, x2: box.left + planeX(), y1: y, y2: y }));
    put(words, box.left - 7, y + 4, 'end');
  });
  nodes.push(shape('rect', { class: 'frame', x: box.left, y: box.top, width: planeX(), height: box.up }));
  const base = curveTop() + box.curve;
  nodes.push(shape('line', { class: 'gridline', x1: box.left, x2: box.left + planeX(), y1: base, y2: base }));
  const wide = planeX() / (view.t1 - view.t0);
  for (const tick of ticks(view.t0, view.t1, Math.max(2, planeX() / (wide > 90 ? 90 : 64)), false)) {
    if (tick >= steps.length) continue;
    const middle = px(tick + 0.5);
    if (middle < box.left || middle > box.left + planeX()) continue;
    const room = Math.floor((wide - 8) / 6.2) - String(tick).length - 1;
    put(room > 4 ? `${tick} ${cut(stepName(tick), room)}` : tick, middle, base + 17, 'middle');
  }
  gridLayer.replaceChildren(...nodes);
}

const cut = (text, room) => (text.length <= room ? text : `${text.slice(0, Math.max(1, room - 1))}…`);

// Where a rectangle is drawn, in pixels; a hair smaller than it is, so that neighbours stay apart.
function frame(rect, share = 1) {
  let { from, until, offset } = rect;
  const old = share < 1 && moving && moving.from.get(rect.value);
  if (old) {
    offset = old.offset + (offset - old.offset) * share;
    until = old.until + (until - old.until) * share;
  }
  const x = px(from);
  const bottom = py(offset);
  const y = py(offset + rect.bytes);
  const width = px(until) - x;
  return { x, y, width: Math.max(0.8, width - Math.min(0.7, width * 0.15)), height: Math.max(0.8, bottom - y - 0.7) };
}

function drawRects(share) {
  const labels = [];
  for (const rect of plan.rects) {
    const mark = marks.get(rect.value);
    const { x, y, width, height } = frame(rect, share);
    const seen = x + width >= box.left && x <= box.left + planeX() && y + height >= box.top && y <= box.top + box.up;
    mark.style.display = seen ? '' : 'none';
    if (!seen) continue;
    mark.setAttribute('x', x);
    mark.setAttribute('y', y);
    mark.setAttribute('width', width);
    mark.setAttribute('height', height);
    mark.setAttribute('rx', Math.min(2.5, width / 5, height / 5));
    if (share < 1 || height < 14) continue;
    // The name where it has room, and where it is seen; upright in what is tall and thin.
    const [left, right] = [Math.max(x, box.left), Math.min(x + width, box.left + planeX())];
    const [above, below] = [Math.max(y, box.top), Math.min(y + height, box.top + box.up)];
    const upright = right - left < 40 && below - above > 48;
    const room = Math.floor(((upright ? below - above : right - left) - 8) / 6.1);
    if (room < 5 || (upright ? right - left : below - above) < 13) continue;
    const { kind, name } = values[rect.value];
    const bright = kind !== null && ['k4', 'k10', 'k11'].includes(D.kinds[kind][1]) ? ' bright' : '';
    const css = `name${bright}${mark.classList.contains('hit') ? ' hit' : ''}`;
    const text = shape('text', upright
      ? { class: css, transform: `translate(${(left + right) / 2 + 4} ${below - 5}) rotate(-90)` }
      : { class: css, x: left + 4, y: (above + below) / 2 + 4 });
    text.textContent = cut(name, room);
    labels.push(text);
  }
  while (rectsLayer.lastChild && rectsLayer.lastChild.nodeName === 'text') rectsLayer.lastChild.remove();
  rectsLayer.append(...labels);
}

// A plan far above the bound would leave the curve no height.
const curveScale = () => Math.max(plan.bytes <= 2 * plan.bound ? plan.bytes : plan.bound, 1);
const curveY = (bytes) => curveTop() + box.curve * (1 - bytes / curveScale());

function drawCurve() {
  const from = Math.max(0, Math.floor(state.view.t0));
  const until = Math.min(plan.live.length, Math.ceil(state.view.t1));
  const base = curveTop() + box.curve;
  let edge = '';
  for (let at = from; at < until; at += 1) {
    edge += `${edge ? 'L' : 'M'}${px(at).toFixed(2)} ${curveY(plan.live[at]).toFixed(2)}H${px(at + 1).toFixed(2)}`;
  }
  const nodes = [];
  if (edge) {
    nodes.push(shape('path', { class: 'live', d: `${edge}V${base}H${px(from).toFixed(2)}Z` }));
    nodes.push(shape('path', { class: 'liveedge', d: edge }));
  }
  const across = (css, y) => shape('line', { class: css, x1: box.left, x2: box.left + planeX(), y1: y, y2: y });
  if (plan.bytes > plan.bound && plan.bytes <= curveScale()) nodes.push(across('whole', curveY(plan.bytes)));
  if (plan.bound) nodes.push(across('bound', curveY(plan.bound)));
  curveLayer.replaceChildren(...nodes);
}

// What lies over the rectangles: who is chosen, and whom it shares its window with.
function drawOver() {
  const nodes = [];
  const around = (value, css) => {
    const rect = value !== null && value !== undefined && plan.of.get(value);
    if (!rect) return;
    const { x, y, width, height } = frame(rect);
    nodes.push(shape('rect', { class: css, x: x - 1, y: y - 1, width: width + 2, height: height + 2, rx: 2.5 }));
  };
  const { selected, hovered } = state;
  if (selected !== null) {
    around(placeOf(selected), 'kin');
    around(plan.heir.get(selected), 'kin');
  }
  if (hovered !== selected) around(hovered, 'around');
  around(selected, 'around');
  overLayer.replaceChildren(...nodes);
}

// The peak, and the line under the pointer.
let crossAt = null;
function drawFront() {
  const nodes = [];
  const put = (css, words, x, y, anchor) => {
    const node = shape('text', { class: css, x, y, 'text-anchor': anchor });
    node.textContent = words;
    nodes.push(node);
    return node;
  };
  const bottom = curveTop() + box.curve;
  if (crossAt !== null) {
    const x = px(crossAt + 0.5);
    if (x >= box.left && x <= box.left + planeX()) {
      nodes.push(shape('line', { class: 'cross', x1: x, x2: x, y1: box.top, y2: bottom }));
    }
  }
  if (plan.bound) {
    const y = Math.max(curveY(plan.bound) + 4, curveTop() - 4);
    put('boundtext', size(plan.bound), box.left - 7, y, 'end');
  }
  const x = plan.step === null ? -1 : px(plan.step + 0.5);
  // At the end of the curve that the flag of the peak leaves free.
  const right = x < box.left + planeX() / 2;
  const end = right ? box.left + planeX() : box.left;
  put('', box.width < 560 ? 'live, ' : 'live bytes and their ', end, curveTop() - 12, right ? 'end' : 'start')
    .append(Object.assign(shape('tspan', { class: 'boundtext' }), { textContent: 'lower bound' }));
  if (x >= box.left && x <= box.left + planeX()) {
    nodes.push(shape('line', { class: 'peakline', x1: x, x2: x, y1: box.top, y2: bottom }));
    const words = `peak: step ${plan.step}`;
    const wide = words.length * 6.2 + 14;
    const left = Math.min(Math.max(box.left, x - wide / 2), box.left + planeX() - wide);
    const y = curveTop() - 26;
    const flag = shape('g', { id: 'flag' });
    shape('rect', { x: left, y, width: wide, height: 19, rx: 5 }, flag);
    shape('path', { d: `M${x} ${curveTop() - 1}l-5 -7h10z` }, flag);
    shape('text', { x: left + wide / 2, y: y + 13.5, 'text-anchor': 'middle' }, flag).textContent = words;
    nodes.push(flag);
  }
  frontLayer.replaceChildren(...nodes);
}

// The value at a point of the chart, or the nearest within a few pixels.
function hit(x, y) {
  if (x < box.left || x > box.left + planeX() || y < box.top || y > box.top + box.up) return null;
  let best = null;
  let least = 5;
  for (const rect of plan.rects) {
    const f = frame(rect);
    const away = Math.hypot(Math.max(f.x - x, 0, x - f.x - f.width), Math.max(f.y - y, 0, y - f.y - f.height));
    if (away < least) { least = away; best = rect.value; }
  }
  return best;
}

// Keeps one axis of the view within the plan and not too close.
function clamp(from, to, end, least) {
  const span = Math.min(Math.max(to - from, Math.min(least, end)), end);
  const middle = (from + to) / 2;
  const start = Math.min(Math.max(middle - span / 2, 0), end - span);
  return [start, start + span];
}
function look(t0, t1, a0, a1) {
  const { view } = state;
  moving = null;
  [view.t0, view.t1] = clamp(t0, t1, Math.max(steps.length, 1), 3);
  [view.a0, view.a1] = clamp(a0, a1, plan.top, Math.max(plan.top / 5000, 64));
  draw();
}
// Zooms by a factor about a step and an address; either may stay as it is.
function zoom(factor, { step = null, address = null }) {
  const { t0, t1, a0, a1 } = state.view;
  const near = (from, to, at) => (at === null ? [from, to] : [at - (at - from) / factor, at + (to - at) / factor]);
  look(...near(t0, t1, step), ...near(a0, a1, address));
}
function pan(stepsBy, bytesBy) {
  const { t0, t1, a0, a1 } = state.view;
  look(t0 + stepsBy, t1 + stepsBy, a0 + bytesBy, a1 + bytesBy);
}
const wholeView = () => look(0, Math.max(steps.length, 1), 0, plan.top);
function isWhole() {
  const { t0, t1, a0, a1 } = state.view;
  return t1 - t0 >= Math.max(steps.length, 1) - 1e-9 && a1 - a0 >= plan.top - 1e-9;
}
