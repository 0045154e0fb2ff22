// Who is chosen, who matches, and what is said of them.

// The values that match what was searched for, the kind and the peak; null when everything does.
function matches() {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length && state.kind === null && !state.atPeak) return null;
  const held = new Set(plan.held);
  return plan.rects.map((rect) => rect.value).filter((id) => {
    const value = values[id];
    if (state.kind !== null && value.kind !== state.kind) return false;
    if (state.atPeak && !held.has(id)) return false;
    const text = `${value.name} ${kindName(value.kind)} ${value.shape} ${value.dtype}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

let found = null;
function showMatches() {
  found = matches();
  const set = found && new Set(found);
  rectsLayer.classList.toggle('dim', found !== null);
  for (const [value, mark] of marks) mark.classList.toggle('hit', found !== null && set.has(value));
  $('count').textContent = found === null ? grouped(plan.rects.length) + (plan.rects.length === 1 ? ' value' : ' values')
    : `${grouped(found.length)} of ${grouped(plan.rects.length)}`;
  draw();
}

function select(value, { reveal = true, tip = false, speak = true } = {}) {
  state.selected = value;
  if (value !== null && reveal) bringIntoView(value);
  showDetails();
  if (value === null) { hideTip(); if (speak) say('Nothing selected.'); } else {
    if (speak) say(inWords(value));
    if (tip) tipAtValue(value);
  }
  draw();
}

function bringIntoView(value) {
  const rect = plan.of.get(value);
  if (!rect) return;
  const { t0, t1, a0, a1 } = state.view;
  // As little as makes all of it seen; its beginning if it is longer than the view.
  const shift = (from, to, low, high) => {
    if (low < from || high - low > to - from) return low < from || low > to ? low - from - (to - from) * 0.1 : 0;
    return high > to ? high - to : 0;
  };
  const along = shift(t0, t1, rect.from, rect.until);
  const up = shift(a0, a1, rect.offset, rect.offset + rect.bytes);
  if (along || up) pan(along, up);
}

function zoomTo(value) {
  const rect = plan.of.get(value);
  if (!rect) return;
  const long = Math.max(rect.until - rect.from, 6);
  const tall = rect.bytes * 1.5;
  const [t, a] = [(rect.from + rect.until) / 2, rect.offset + rect.bytes / 2];
  look(t - long, t + long, a - tall, a + tall);
}

// The next value: by time, or the nearest above or below that lives at the same time.
function neighbour(direction) {
  const here = plan.of.get(state.selected);
  if (!here) {
    const seen = plan.rects.find((r) => r.until > state.view.t0 && r.from < state.view.t1);
    return (seen || plan.rects[0])?.value ?? null;
  }
  if (direction === 'left' || direction === 'right') {
    const at = plan.rects.indexOf(here) + (direction === 'right' ? 1 : -1);
    return plan.rects[at]?.value ?? null;
  }
  let best = null;
  let least = Infinity;
  for (const rect of plan.rects) {
    const gap = direction === 'up' ? rect.offset - here.offset - here.bytes : here.offset - rect.offset - rect.bytes;
    if (rect === here || gap < 0 || rect.from >= here.until || rect.until <= here.from) continue;
    // Of several at the same height the one whose life begins nearest.
    const away = gap + Math.abs(rect.from - here.from) / (steps.length + 1);
    if (away < least) { least = away; best = rect.value; }
  }
  return best;
}

function nextMatch(by) {
  if (!found || !found.length) return;
  const at = found.indexOf(state.selected);
  const next = found[(at < 0 ? (by > 0 ? 0 : found.length - 1) : at + by + found.length) % found.length];
  select(next);
}

function showPeak(on) {
  state.atPeak = on && plan.step !== null;
  if (state.atPeak) {
    const { t0, t1, a0, a1 } = state.view;
    if (plan.step < t0 || plan.step + 1 > t1) look(plan.step - (t1 - t0) / 2, plan.step + (t1 - t0) / 2, a0, a1);
    say(`Peak at step ${plan.step}, ${stepName(plan.step)}: ${plan.held.length} values hold ${size(plan.bound)}.`);
  }
  showMatches();
  showHeld();
}

const life = (value) => {
  const { first, last } = values[value];
  return first === last ? `step ${first}: ${stepName(first)}` : `steps ${first} to ${last}: ${stepName(first)} to ${stepName(last)}`;
};

function inWords(value) {
  const { name, shape: dims, dtype, bytes, kind } = values[value];
  const place = placeOf(value);
  const where = plan.of.get(value);
  return `${name}, ${kindName(kind)}, ${dims} ${dtype}, ${size(bytes)}` +
    (where ? `, at address ${size(where.offset)}` : ', no memory') +
    `, ${life(value)}` + (place === null ? '' : `, in place of ${values[place].name}`) + '.';
}

// The facts of a value as pairs; `link` makes what leads to another value.
function facts(value, link) {
  const { shape: dims, dtype, bytes, kind, before } = values[value];
  const rect = plan.of.get(value);
  const place = placeOf(value);
  const heir = plan.heir.get(value);
  const list = el('dl', { class: 'facts' });
  const add = (what, ...how) => list.append(el('dt', {}, what), el('dd', {}, ...how));
  add('made by', kindName(kind) || 'nobody');
  add('shape', `${dims} ${dtype}`);
  add('bytes', `${size(bytes)} (${grouped(bytes)})`);
  add('life', life(value));
  add('address', rect ? `${grouped(rect.offset)} (${size(rect.offset)})` : 'none');
  if (place !== null) add('in place of', link(place));
  else if (before !== null) add('own window', 'not in place of ', link(before), ' in this plan');
  if (heir !== undefined) add('overwritten by', link(heir));
  return list;
}

const who = (value) => el('p', { class: 'who' }, swatch(values[value].kind), el('span', {}, values[value].name));

function tipAtValue(value) {
  const rect = plan.of.get(value);
  if (!rect) return hideTip();
  const at = $('chart').getBoundingClientRect();
  const f = frame(rect);
  const x = Math.min(Math.max(f.x + f.width / 2, box.left), box.left + planeX());
  const y = Math.min(Math.max(f.y, box.top), box.top + box.up);
  return showTip([who(value), facts(value, (id) => values[id].name)], at.left + x, at.top + y);
}

function showTip(content, x, y) {
  const tip = $('tip');
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width > innerWidth - 8 ? Math.max(8, x - 16 - width) : x + 16;
  const top = y - 12 - height < 8 ? Math.min(y + 18, innerHeight - height - 8) : y - 12 - height;
  tip.style.transform = `translate(${Math.round(left)}px,${Math.round(Math.max(8, top))}px)`;
}
const hideTip = () => { $('tip').hidden = true; };
