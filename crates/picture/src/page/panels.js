// Everything around the chart.

const link = (value) => el('button', { class: 'link', type: 'button', onclick: () => select(value) }, values[value].name);

function showHead() {
  $('title').textContent = D.title;
  $('settings').replaceChildren(...D.settings.map((line) => el('span', {}, line)));
  $('legend').replaceChildren(...D.kinds.map(([name], kind) => el('button', {
    type: 'button',
    'aria-pressed': 'false',
    onclick: () => { state.kind = state.kind === kind ? null : kind; showLegend(); showMatches(); },
  }, swatch(kind), name)));
}

function showLegend() {
  [...$('legend').children].forEach((button, kind) => button.setAttribute('aria-pressed', String(state.kind === kind)));
}

const total = (strategy) => strategy.spaces.reduce((sum, used) => sum + used.bytes, 0);

function showChoices() {
  const most = Math.max(...D.strategies.map(total), 1);
  D.strategies.forEach((strategy, i) => {
    const bytes = total(strategy);
    const fill = el('i');
    fill.style.width = `${100 * bytes / most}%`;
    const saved = bytes > 0 && most / bytes >= 1.05 ? `${(most / bytes).toFixed(most / bytes < 10 ? 1 : 0)}× less` : '';
    const input = el('input', { type: 'radio', name: 'strategy', value: i, checked: i === state.strategy, onchange: () => {
      state.strategy = i;
      changePlan();
      showPlan();
      const used = D.strategies[i].spaces[state.space];
      say(`${strategy.name}: ${used ? size(used.bytes) : 'nothing'}.`);
    } });
    $('strategies').append(el('label', {}, input, el('b', {}, size(bytes)),
      el('small', {}, el('span', {}, strategy.name), el('em', {}, saved)), el('span', { class: 'bar' }, fill)));
  });
  $('spaces').hidden = D.spaces.length < 2;
  D.spaces.forEach((name, i) => {
    const input = el('input', { type: 'radio', name: 'space', value: i, checked: i === state.space, onchange: () => {
      state.space = i;
      state.selected = null;
      plan = null;
      changePlan();
      showPlan();
      say(`Device ${name}.`);
    } });
    $('spaces').append(el('label', {}, input, name, el('small', { 'data-space': i })));
  });
}

// What depends on the plan that is looked at.
function showPlan() {
  for (const small of document.querySelectorAll('#spaces small')) {
    small.textContent = size(D.strategies[state.strategy]?.spaces[small.dataset.space]?.bytes ?? 0);
  }
  const verdict = plan.proven ? el('span', { class: 'ok' }, 'reached: no plan needs less') :
    el('span', { class: 'no' }, `${size(plan.bytes - plan.bound)} above it`);
  const where = D.spaces[state.space] ?? '';
  $('summary').replaceChildren(el('b', {}, size(plan.bytes)), ` on ${where}. Lower bound ${size(plan.bound)}, `, verdict, '.');
  if (state.selected !== null && !plan.of.has(state.selected)) state.selected = null;
  hideTip();
  showDetails();
  showHeld();
}

function showDetails() {
  const { selected } = state;
  $('facts').replaceChildren(...(selected === null
    ? [el('p', { class: 'quiet' }, 'Point at a rectangle, or select one with a click or the arrow keys.')]
    : [who(selected), facts(selected, link)]));
}

function showHeld() {
  if (plan.step === null || !plan.held.length) {
    $('held').replaceChildren(el('p', { class: 'quiet' }, 'Nothing lives here.'));
    return;
  }
  const rows = plan.held.map((id) => {
    const { kind, shape: dims, dtype, bytes } = values[id];
    return el('tr', {}, el('td', {}, swatch(kind), link(id), el('small', {}, `${dims} ${dtype}`)),
      el('td', { class: 'num' }, size(bytes)), el('td', { class: 'num' }, 100 * bytes < plan.bound ? '<1%' : `${(100 * bytes / plan.bound).toFixed(0)}%`));
  });
  const words = `Step ${plan.step}, ${stepName(plan.step)}, sets the lower bound. These hold memory then:`;
  const head = el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'value'), el('th', { scope: 'col', class: 'num' }, 'bytes'), el('th', { scope: 'col', class: 'num' }, 'share')));
  const foot = el('tfoot', {}, el('tr', {}, el('td', {}, 'lower bound'), el('td', { class: 'num' }, size(plan.bound)), el('td')));
  const button = el('button', { class: 'press', id: 'showpeak', type: 'button', 'aria-pressed': String(state.atPeak), onclick: () => {
    showPeak(!state.atPeak);
    $('showpeak').focus();
  } }, 'Show in the map');
  $('held').replaceChildren(button, el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Values at the peak' },
    el('table', {}, el('caption', {}, words), head, el('tbody', {}, ...rows), foot)));
}

const TERM_COLOURS = ['k0', 'k1', 'k2', 'k4', 'k5', 'k7'];
function showBudget() {
  const sum = D.terms.reduce((all, [, bytes]) => all + bytes, 0);
  $('budget').hidden = sum === 0 && D.limit === null;
  const scale = Math.max(sum, D.limit ?? 0, 1);
  const bar = el('div', { class: 'stack', 'aria-hidden': 'true' });
  const colour = (i) => `var(--${TERM_COLOURS[i % TERM_COLOURS.length]})`;
  D.terms.forEach(([, bytes], i) => {
    const part = el('i');
    part.style.width = `${100 * bytes / scale}%`;
    part.style.background = colour(i);
    bar.append(part);
  });
  const lead = el('p', { class: 'lead' }, el('b', {}, size(sum)));
  if (D.limit === null) lead.append(' in all; no limit is set.');
  else {
    lead.append(` of ${size(D.limit)}, `, sum > D.limit ? el('span', { class: 'over' }, `${size(sum - D.limit)} too much`) : `${size(D.limit - sum)} free`, '.');
    const mark = el('u');
    mark.style.left = `${100 * D.limit / scale}%`;
    bar.append(mark);
  }
  const rows = D.terms.map(([label, bytes], i) => {
    const dot = el('span', { class: 'swatch' });
    dot.style.background = colour(i);
    return el('tr', {}, el('td', {}, dot, label), el('td', { class: 'num' }, size(bytes)));
  });
  $('terms').replaceChildren(lead, bar, el('table', {}, el('tbody', {}, ...rows)));
}

function showRegions() {
  $('regions').hidden = D.regions.length === 0;
  const [used, kept] = D.regions.reduce(([c, r], [, reserved, committed]) => [c + committed, r + reserved], [0, 0]);
  const rows = D.regions.map(([name, reserved, committed, device]) => {
    const fill = el('i');
    fill.style.width = `${reserved ? Math.min(100, 100 * committed / reserved) : 0}%`;
    return el('tr', {}, el('td', {}, name, el('span', { class: 'meter', 'aria-hidden': 'true' }, fill)), el('td', {}, device),
      el('td', { class: 'num' }, size(committed)), el('td', { class: 'num' }, size(reserved)));
  });
  const names = [['region', ''], ['device', ''], ['in use', 'num'], ['reserved', 'num']];
  const head = el('thead', {}, el('tr', {}, ...names.map(([name, css]) => el('th', { scope: 'col', class: css }, name))));
  $('kept').replaceChildren(el('p', { class: 'lead' }, el('b', {}, size(used)), ` in use of ${size(kept)} reserved.`),
    el('div', { class: 'scroll wide', tabindex: '0', role: 'region', 'aria-label': 'Regions' }, el('table', {}, head, el('tbody', {}, ...rows))));
}
