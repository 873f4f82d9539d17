// The page: which view is shown, and what all views share. The fragment of the URL tells view and
// question, so that both can be kept and opened again; the token never gets into it.

import { Asker, Superseded, token } from './ask.mjs';
import { clock, fillList, onSubmit } from './dom.mjs';
import * as explore from './explore.mjs';
import * as heatmap from './heatmap.mjs';
import { textOf, visible } from './json.mjs';
import * as lint from './lint.mjs';
import * as plot from './plot.mjs';
import { readFragment, writeFragment } from './question.mjs';

const kViews = { explore, plot, lint, heatmap };
const state = document.getElementById('state');
const tokenForm = document.getElementById('token');
const forget = document.getElementById('forget');
const clockList = document.getElementById('clock');
const stateAsker = new Asker();

// What is asked for once: the names of streams and tables, and the version.
let known = null;
const version = askVersion();

async function nameLists() {
  const [streams, tables] = await Promise.all([
    new Asker().get('v1/streams'), new Asker().get('v1/tables')]);
  return { stream: streams.streams.map((one) => one.name),
           table: tables.tables.map((one) => one.name) };
}

async function askVersion() {
  try {
    return `${textOf((await new Asker().get('v1/status')).version)}, `;
  } catch {
    return '';  // It is not for every token.
  }
}

// Fills a form's lists. Where the daemon refuses them, what the view asks itself tells why.
async function fillNames(form) {
  const asked = known ??= nameLists();
  try {
    const lists = await asked;
    for (const [name, list] of Object.entries(lists)) {
      if (form[name]) fillList(form[name], list);
    }
  } catch {
    if (known === asked) known = null;
  }
}

// A question becomes the page's address, and is asked from there; the same one again is asked anew.
function ask(view, params) {
  const fragment = writeFragment(view, params);
  if (location.hash === fragment) route();
  else location.hash = fragment;
}

const shows = Object.fromEntries(Object.entries(kViews).map(([name, view]) =>
  [name, view.start(document.getElementById(name), { ask })]));
let routes = 0;

async function route() {
  const mine = ++routes;
  const { view, params } = readFragment(location.hash, Object.keys(kViews));
  for (const link of document.querySelectorAll('nav a')) {
    const name = link.hash.slice(1).split('?')[0];
    document.getElementById(name).hidden = name !== view;
    if (name === view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
    // Back at a view, its last question is there again.
    if (name === view) link.hash = writeFragment(view, params);
  }
  showState();
  const form = document.querySelector(`#${view} form`);
  if (form) await fillNames(form);
  if (mine === routes) shows[view](params);  // Else another question has come.
}

async function showState() {
  let readiness = 'ready';
  try {
    await stateAsker.get('readyz');
  } catch (error) {
    if (error instanceof Superseded) return;
    readiness = error.status === 0 ? 'no answer' : `not ready: ${error.message}`;
  }
  state.textContent = visible(`${await version}${readiness}`);
}

// What was shown and asked belongs to the token before, so the page begins anew with another one.
onSubmit(tokenForm, () => {
  const typed = tokenForm.token.value.trim();
  if (typed !== '') token.keep(typed);
  location.reload();
});
forget.addEventListener('click', () => {
  token.forget();
  location.reload();
});
forget.hidden = token.get() === '';
tokenForm.token.placeholder = token.get() === '' ? 'none' : 'kept in this tab';
clockList.value = clock.utc ? 'utc' : 'local';
clockList.addEventListener('change', () => {
  clock.utc = clockList.value === 'utc';
  route();
});
window.addEventListener('hashchange', route);
route();
