// The page: which view is shown, and what all views share. The fragment of the URL tells view and
// question, so that both can be kept and opened again; the token never gets into it.

import { Asker, Superseded, token } from './ask.mjs';
import { clock, fillList } from './dom.mjs';
import * as explore from './explore.mjs';
import * as heatmap from './heatmap.mjs';
import * as lint from './lint.mjs';
import * as plot from './plot.mjs';
import { readFragment, writeFragment } from './question.mjs';

const kViews = { explore, plot, lint, heatmap };
const state = document.getElementById('state');
const tokenForm = document.getElementById('token');
const forget = document.getElementById('forget');
const clockList = document.getElementById('clock');
const stateAskers = [new Asker(), new Asker()];

// The names of streams and tables, asked for once for each token.
let known = null;

async function nameLists() {
  const [streams, tables] = await Promise.all([
    new Asker().get('v1/streams'), new Asker().get('v1/tables')]);
  return { stream: streams.streams.map((one) => one.name),
           table: tables.tables.map((one) => one.name) };
}

// Fills a form's lists. Where the daemon refuses them, what the view asks itself tells why.
async function names(form) {
  known ??= nameLists();
  try {
    const lists = await known;
    for (const [name, list] of Object.entries(lists)) {
      if (form[name]) fillList(form[name], list);
    }
  } catch {
    known = null;
  }
}

// A question becomes the page's address, and is asked from there; the same one again is asked anew.
function ask(view, params) {
  const fragment = writeFragment(view, params);
  if (location.hash === fragment) route();
  else location.hash = fragment;
}

const shows = Object.fromEntries(Object.entries(kViews).map(([name, view]) =>
  [name, view.start(document.getElementById(name), { names, ask })]));

function route() {
  const { view, params } = readFragment(location.hash, Object.keys(kViews));
  for (const link of document.querySelectorAll('nav a')) {
    const name = link.hash.slice(1).split('?')[0];
    document.getElementById(name).hidden = name !== view;
    if (name === view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
    // Back at a view, its last question is there again.
    if (name === view) link.hash = writeFragment(view, params);
  }
  shows[view](params);
}

async function showState() {
  const [ready, status] = await Promise.allSettled([
    stateAskers[0].get('readyz'), stateAskers[1].get('v1/status')]);
  const reasons = [ready.reason, status.reason];
  if (reasons.some((one) => one instanceof Superseded)) return;
  const readiness = ready.value ? 'ready'
    : ready.reason.status === 0 ? 'no answer' : `not ready: ${ready.reason.message}`;
  state.textContent = status.value ? `${status.value.version}, ${readiness}` : readiness;
}

function showToken() {
  forget.hidden = token.get() === '';
  tokenForm.token.value = '';
  tokenForm.token.placeholder = token.get() === '' ? 'none' : 'kept in this tab';
}

function takeToken() {
  known = null;
  showToken();
  showState();
  route();
}

tokenForm.addEventListener('submit', (event) => {
  event.preventDefault();
  if (tokenForm.token.value.trim() !== '') token.keep(tokenForm.token.value.trim());
  takeToken();
});
forget.addEventListener('click', () => {
  token.forget();
  takeToken();
});
clockList.value = clock.utc ? 'utc' : 'local';
clockList.addEventListener('change', () => {
  clock.utc = clockList.value === 'utc';
  route();
});
window.addEventListener('hashchange', route);
takeToken();
