// Pointer, wheel, keys; and the beginning.

const chart = $('chart');
const pointers = new Map();
let drag = null;
let pinch = null;

const within = (event) => {
  const at = chart.getBoundingClientRect();
  return { x: event.clientX - at.left, y: event.clientY - at.top };
};
// Which axes a point of the chart is about: the plane both, its left edge addresses, everything else time.
function axes({ x, y }) {
  const plane = y >= box.top && y <= box.top + box.up;
  return { time: x >= box.left, address: plane };
}

function point(event) {
  const at = within(event);
  const value = hit(at.x, at.y);
  const step = Math.floor(stepAt(at.x));
  const inside = at.x >= box.left && at.x <= box.left + planeX() && step >= 0 && step < steps.length;
  state.hovered = value;
  crossAt = inside ? step : null;
  chart.style.cursor = value === null ? '' : 'pointer';
  if (value !== null) {
    showTip([who(value), facts(value, (id) => values[id].name)], event.clientX, event.clientY);
  } else if (inside && at.y > box.top + box.up && !(event.target instanceof Element && event.target.closest('#flag'))) {
    const { name, kind, layer: of } = steps[step];
    const list = el('dl', { class: 'facts' }, el('dt', {}, 'step'), el('dd', {}, `${step} (${kind}${of === null ? '' : `, layer ${of}`})`),
      el('dt', {}, 'live'), el('dd', {}, size(plan.live[step] ?? 0)));
    showTip([el('p', { class: 'who' }, name), list], event.clientX, event.clientY);
  } else hideTip();
  draw();
}

chart.addEventListener('pointerdown', (event) => {
  pointers.set(event.pointerId, within(event));
  if (pointers.size === 2) {
    const [a, b] = [...pointers.values()];
    pinch = { apart: Math.hypot(a.x - b.x, a.y - b.y) };
    drag = null;
  } else if (event.button === 0) {
    drag = { at: within(event), moved: false, flag: Boolean(event.target.closest('#flag')), axes: axes(within(event)) };
  }
});

chart.addEventListener('pointermove', (event) => {
  const at = within(event);
  // Let go of outside the chart.
  if (event.buttons === 0) { pointers.delete(event.pointerId); drag = null; }
  if (pointers.has(event.pointerId)) pointers.set(event.pointerId, at);
  if (pinch && pointers.size === 2) {
    const [a, b] = [...pointers.values()];
    const apart = Math.max(1, Math.hypot(a.x - b.x, a.y - b.y));
    zoom(apart / pinch.apart, { step: stepAt((a.x + b.x) / 2), address: addressAt((a.y + b.y) / 2) });
    pinch.apart = apart;
    return;
  }
  if (!drag) return point(event);
  const [dx, dy] = [at.x - drag.at.x, at.y - drag.at.y];
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  if (!drag.moved) {
    drag.moved = true;
    chart.setPointerCapture(event.pointerId);
    chart.classList.add('drag');
    state.hovered = null;
    hideTip();
  }
  const { view } = state;
  pan(drag.axes.time ? -dx / planeX() * (view.t1 - view.t0) : 0, drag.axes.address ? dy / box.up * (view.a1 - view.a0) : 0);
  drag.at = at;
});

function release(event) {
  pointers.delete(event.pointerId);
  pinch = null;
  const done = drag;
  drag = null;
  chart.classList.remove('drag');
  if (!done || done.moved || event.type !== 'pointerup') return;
  if (done.flag) showPeak(!state.atPeak);
  else {
    const at = within(event);
    select(hit(at.x, at.y), { reveal: false });
    if (event.pointerType === 'mouse' || state.selected !== null) point(event);
  }
}
chart.addEventListener('pointerup', release);
chart.addEventListener('pointercancel', release);
chart.addEventListener('pointerleave', (event) => {
  // A finger that is lifted leaves too; what it pointed at stays.
  if (drag || event.pointerType === 'touch') return;
  state.hovered = null;
  crossAt = null;
  hideTip();
  draw();
});
chart.addEventListener('dblclick', (event) => {
  const at = within(event);
  const value = hit(at.x, at.y);
  if (value !== null) zoomTo(value);
});
chart.addEventListener('wheel', (event) => {
  // Nothing left to zoom out of: the page scrolls.
  if (event.deltaY > 0 && isWhole()) return;
  event.preventDefault();
  const at = within(event);
  const { time, address } = axes(at);
  const lines = event.deltaMode === 1 ? 16 : 1;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    const by = (event.deltaX || event.deltaY) * lines;
    pan(by / planeX() * (state.view.t1 - state.view.t0), 0);
  } else {
    const factor = Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016));
    zoom(factor, { step: time ? stepAt(at.x) : null, address: address ? addressAt(at.y) : null });
  }
  hideTip();
}, { passive: false });

function zoomByKey(factor) {
  const { t0, t1, a0, a1 } = state.view;
  const rect = plan.of.get(state.selected);
  const middle = (low, high, from, to) => Math.min(Math.max((low + high) / 2, from), to);
  zoom(factor, {
    step: rect ? middle(rect.from, rect.until, t0, t1) : (t0 + t1) / 2,
    address: rect ? middle(rect.offset, rect.offset + rect.bytes, a0, a1) : (a0 + a1) / 2,
  });
}

const ARROWS = { ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down' };
chart.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key } = event;
  const choose = (value) => (value === null ? say('Nothing further that way.') : select(value, { tip: true }));
  const { t0, t1, a0, a1 } = state.view;
  const [wide, tall] = [(t1 - t0) * 0.15, (a1 - a0) * 0.15];
  if (key in ARROWS && event.shiftKey) {
    hideTip();
    pan({ left: -wide, right: wide }[ARROWS[key]] ?? 0, { up: tall, down: -tall }[ARROWS[key]] ?? 0);
  } else if (key in ARROWS) choose(neighbour(ARROWS[key]));
  else if (key === 'Home') choose(plan.rects[0]?.value ?? null);
  else if (key === 'End') choose(plan.rects[plan.rects.length - 1]?.value ?? null);
  else if (key === '+' || key === '=') { zoomByKey(1.5); hideTip(); }
  else if (key === '-' || key === '_') { zoomByKey(1 / 1.5); hideTip(); }
  else if (key === '0') { wholeView(); hideTip(); }
  else if (key === 'p' || key === 'P') showPeak(!state.atPeak);
  else if (key === 'Enter' && state.selected !== null) { zoomTo(state.selected); tipAtValue(state.selected); }
  else if (key === 'Escape') clearAll();
  else return;
  event.preventDefault();
});
chart.addEventListener('focus', () => {
  if (state.selected !== null && chart.matches(':focus-visible')) tipAtValue(state.selected);
});
chart.addEventListener('blur', hideTip);
addEventListener('scroll', hideTip, { passive: true });

function clearAll() {
  state.query = '';
  state.kind = null;
  $('search').value = '';
  showLegend();
  showPeak(false);
  select(null);
}

document.addEventListener('keydown', (event) => {
  const typing = event.target instanceof HTMLInputElement && event.target.type === 'search';
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    $('search').focus();
  }
});
$('search').addEventListener('input', (event) => {
  state.query = event.target.value;
  showMatches();
  if (found !== null) say(`${found.length} of ${plan.rects.length} values match.`);
});
$('search').addEventListener('keydown', (event) => {
  if (event.key === 'Enter') { event.preventDefault(); nextMatch(event.shiftKey ? -1 : 1); }
  if (event.key === 'Escape') { clearAll(); chart.focus(); }
});
$('scale').addEventListener('change', (event) => {
  state.oneScale = event.target.checked;
  changePlan();
});
$('in').addEventListener('click', () => zoomByKey(1.5));
$('out').addEventListener('click', () => zoomByKey(1 / 1.5));
$('reset').addEventListener('click', wholeView);

state.space = Math.max(0, (D.strategies[state.strategy]?.spaces ?? []).findIndex((used) => used.bytes > 0));
state.view.t1 = Math.max(steps.length, 1);
measure();
showHead();
showChoices();
changePlan();
showPlan();
showBudget();
showRegions();
new ResizeObserver(() => { measure(); draw(); }).observe(chart);
