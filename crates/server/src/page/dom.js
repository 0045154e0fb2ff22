// Elements, made of nodes alone: text that a model wrote is never read as markup.

const SVG = 'http://www.w3.org/2000/svg';

/** An element with properties (`on` holds its listeners, names with a dash are attributes) and children. */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name.includes('-') || name === 'role') {
      node.setAttribute(name, value);
    } else {
      node[name] = value;
    }
  }
  node.append(...children);
  return node;
}

/** One of the pictures in `index.html`. */
export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(SVG, 'use');
  use.setAttribute('href', `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** A button that is a picture with a name. */
export function iconButton(name, label, click, more = {}) {
  const properties = { type: 'button', className: 'quiet', title: label, 'aria-label': label, on: { click }, ...more };
  return el('button', properties, icon(name));
}

/** A button that copies what `text()` gives, and says so for a moment. */
export function copyButton(label, text) {
  const button = iconButton('copy', label, async () => {
    const copied = await copy(text());
    button.replaceChildren(icon(copied ? 'check' : 'cross'));
    say(copied ? 'Copied' : 'The browser does not let the page copy');
    setTimeout(() => button.replaceChildren(icon('copy')), 1500);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages that came over plain HTTP from another machine have no clipboard but this one.
    const area = el('textarea', { value: text, className: 'unseen', readOnly: true });
    const before = document.activeElement;
    document.body.append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    before?.focus();
    return copied;
  }
}

/** Tells screen readers. */
export function say(text) {
  const log = document.getElementById('say');
  log.append(el('p', { textContent: text }));
  // What was said long ago is not kept.
  while (log.childElementCount > 20) log.firstChild.remove();
}

/** A name that nothing else has; `randomUUID` is missing where the page came over plain HTTP. */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
