// Numbers about answers, in words.

const count = new Intl.NumberFormat('en');

/** What an answer took, and how it ended. */
export function figuresText({ text, state, figures = {} }, isRunning) {
  const { tokens = 0, prompt, cached = 0, first, rate } = figures;
  if (isRunning && text === '') return 'Reading the prompt';
  const out = [];
  if (rate !== undefined) out.push(`${rate.toFixed(rate < 10 ? 2 : 1)} tokens/s`);
  if (first !== undefined && !isRunning) out.push(`first after ${first.toFixed(2)} s`);
  // Without its end the server has not told the number.
  if (tokens > 0) out.push(`${prompt === undefined && !isRunning ? 'about ' : ''}${plural(tokens, 'token')}`);
  if (prompt !== undefined) out.push(`prompt ${count.format(prompt)}${cached > 0 ? `, ${count.format(cached)} from the cache` : ''}`);
  if (isRunning) return out.join(' · ');
  if (state === 'stopped') out.unshift('Stopped');
  if (state === 'length') out.unshift('Cut off: no more tokens allowed, or the context is full');
  if (state === 'running') out.unshift('Not finished');
  return out.join(' · ');
}

/** Shows how much of the context a conversation takes, as far as that is known. */
export function showContext({ messages }, limit) {
  const meter = document.getElementById('context');
  let used = 0;
  let isExact = true;
  for (const { figures } of messages) {
    if (figures?.prompt !== undefined) [used, isExact] = [figures.prompt + figures.tokens, true];
    else if (figures?.tokens > 0) [used, isExact] = [used + figures.tokens, false];
  }
  meter.hidden = !limit;
  if (!limit) return;
  const share = Math.min(1, used / limit);
  const text = `${isExact ? '' : '≈ '}${count.format(used)} of ${count.format(limit)} tokens`;
  meter.querySelector('span').textContent = text;
  meter.querySelector('i').style.width = `${100 * share}%`;
  meter.classList.toggle('full', share > 0.9);
  meter.setAttribute('aria-valuenow', String(Math.min(used, limit)));
  meter.setAttribute('aria-valuemax', String(limit));
  meter.setAttribute('aria-valuetext', text);
}

function plural(number, noun) {
  return `${count.format(number)} ${noun}${number === 1 ? '' : 's'}`;
}
