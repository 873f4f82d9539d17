// What the views share of the document. Whatever comes from outside becomes text here, never markup.

import { Superseded } from './ask.mjs';
import { isNumber, textOf, visible } from './json.mjs';
import { timeText } from './scale.mjs';

const kMostCells = 50000;  // In a table: beyond it a browser takes seconds,
const kMostLetters = 10000;  // and so in a cell.

// An element with a class (or none) and children; of values their text, of null nothing.
export function make(tag, name, ...children) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...children.map((one) => one instanceof Node ? one : visible(textOf(one))));
  return element;
}

export function option(value, text = value) {
  const element = make('option', '', text);
  element.value = value;
  return element;
}

// The clock that times are told by; the reader chooses it in the header.
export const clock = {
  get utc() {
    return sessionStorage.getItem('tallyd-clock') !== 'local';
  },
  set utc(is) {
    sessionStorage.setItem('tallyd-clock', is ? 'utc' : 'local');
  },
};

// A value's cell; a time shows the daemon's own spelling when it is pointed at.
function cell(value, isTime = false) {
  const isWhen = isTime && isNumber(value);
  const text = isWhen ? timeText(value, clock.utc) : textOf(value);
  const cut = text.length > kMostLetters ? `… (${text.length} characters)` : null;
  const element = make('td', isNumber(value) && !isWhen ? 'number' : '',
                       text.slice(0, kMostLetters), cut);
  if (isWhen) element.title = textOf(value);
  if (value === null) element.className = 'absent';
  return element;
}

// `rows` of values or of elements, in a frame of its own that scrolls.
export function table(columns, rows, timeColumns = []) {
  const most = Math.max(1, Math.floor(kMostCells / Math.max(1, columns.length)));
  const body = make('tbody', '');
  for (const row of rows.slice(0, most)) {
    body.append(make('tr', '', ...row.map((one, at) =>
      one instanceof Node ? one : cell(one, timeColumns.includes(at)))));
  }
  const heads = columns.map((name) => {
    const head = make('th', '', name);
    head.scope = 'col';
    return head;
  });
  const frame = make('div', 'frame',
                     make('table', '', make('thead', '', make('tr', '', ...heads)), body));
  frame.tabIndex = 0;  // It scrolls by keyboard, too.
  if (rows.length <= most) return frame;
  const note = `The first ${most} of ${rows.length} lines are shown: ask for fewer rows or fields.`;
  return make('div', '', make('p', 'note', note), frame);
}

// A refusal in the daemon's own words, and what can be done.
export function problem(error) {
  const status = error.status ? `${error.status} ${error.title}`.trim() : '';
  const lines = [make('p', '', make('strong', '', status), status && ': ', error.message)];
  for (const one of error.errors ?? []) lines.push(make('p', '', textOf(one)));
  if (/^\d+$/.test(error.retryAfter)) {  // A proxy may give a date.
    lines.push(make('p', '', `Ask again in ${error.retryAfter} s.`));
  }
  if (error.status === 401) lines.push(make('p', '', 'Give a token above.'));
  const box = make('div', 'problem', ...lines);
  box.setAttribute('role', 'alert');
  return box;
}

// Shows in `place` what `work` makes, and that it waits until then. What was superseded leaves the
// place to what took its own.
export async function show(place, work) {
  place.setAttribute('aria-busy', 'true');
  let children;
  try {
    children = [await work()].flat();
  } catch (error) {
    if (error instanceof Superseded) return;
    children = [problem(error)];
  }
  place.removeAttribute('aria-busy');
  place.replaceChildren(...children.filter((one) => one !== null));
}

// What is typed is asked by the page itself: a browser would put it into an address.
export function onSubmit(form, act) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    act();
  });
}

// What is typed into a form, without what is empty or stands in a part that is not shown.
export function readForm(form) {
  const params = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value.trim() !== '') params.append(name, value.trim());
  }
  return params;
}

// A list keeps a choice that it does not know: the daemon says what is wrong with it.
export function fillForm(form, params) {
  const isAsked = [...params].length > 0;
  for (const field of form.elements) {
    if (!field.name) continue;
    const value = params.get(field.name) ?? '';
    if (field.tagName !== 'SELECT') {
      field.value = isAsked ? value : field.defaultValue;
    } else {
      const has = [...field.options].some((one) => one.value === value);
      if (value !== '' && !has) field.append(option(value));
      if (value !== '' || has) field.value = value;
    }
  }
}

export function fillList(list, names) {
  const chosen = list.value;
  list.replaceChildren(...names.map((name) => option(name)));
  if (names.includes(chosen)) list.value = chosen;
}

// A canvas as wide as its place, in the pixels of the screen; {context, width, height}.
export function sized(canvas, height) {
  const width = canvas.clientWidth;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  context.font = '12px system-ui, sans-serif';
  return { context, width, height, ratio };
}

// A color of the stylesheet, as the scheme in force has it.
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Text centered at x, but whole: near an end of the paper it stays inside.
export function label({ context, width }, text, x, y) {
  const half = context.measureText(text).width / 2;
  context.textAlign = 'center';
  context.textBaseline = 'top';
  context.fillText(text, Math.max(half, Math.min(width - half, x)), y);
}

// Draws anew where the width or the color scheme changes, for as long as the canvas is shown.
export function keepDrawn(canvas, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (canvas.clientWidth === width || canvas.clientWidth === 0) return;
    width = canvas.clientWidth;
    requestAnimationFrame(draw);  // It sets the height, which the observer would see at once.
  }).observe(canvas);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const redraw = () => {
    if (canvas.isConnected) draw();
    else scheme.removeEventListener('change', redraw);
  };
  scheme.addEventListener('change', redraw);
}
