// Asking the daemon: with the token, in its own words where it refuses, one question at a time.

import { parseExact, textOf } from './json.mjs';

const kTokenName = 'tallyd-token';
// The daemon's own root, wherever a proxy may have put it.
const kRoot = new URL('../', document.baseURI);

// The token lives as long as this tab, and in no URL, cookie or file.
export const token = {
  get: () => sessionStorage.getItem(kTokenName) ?? '',
  keep: (text) => sessionStorage.setItem(kTokenName, text),
  forget: () => sessionStorage.removeItem(kTokenName),
};

export function urlOf(target) {
  return new URL(target, kRoot).href;
}

// What the daemon refused, or that it did not answer.
export class Problem extends Error {
  constructor(status, detail, more = {}) {
    super(detail);
    this.status = status;  // 0: there was no answer.
    this.title = textOf(more.title);
    this.retryAfter = more.retryAfter ?? null;
    this.errors = Array.isArray(more.errors) ? more.errors : [];  // A proxy has errors of its own.
  }
}

// Thrown where a newer question took the place of this one: nobody waits for its answer.
export class Superseded extends Error {}

// One question at a time: a newer one ends the one before it.
export class Asker {
  #running = null;

  async get(target) {
    this.#running?.abort();
    const mine = new AbortController();
    this.#running = mine;
    try {
      return await fetchJson(target, mine.signal);
    } catch (error) {
      throw mine.signal.aborted ? new Superseded() : error;
    }
  }
}

async function fetchJson(target, signal) {
  const headers = { Accept: 'application/json' };
  if (!/^[\x20-\x7e]*$/.test(token.get())) {
    throw new Problem(401, 'The token that was given holds a character that none has.');
  }
  if (token.get() !== '') headers.Authorization = `Bearer ${token.get()}`;
  let answer;
  let text;
  try {
    // Credentials: there are no cookies, but a browser's certificate counts as one. The daemon sends
    // no question elsewhere, and the token follows nobody who does.
    answer = await fetch(urlOf(target),
                         { headers, signal, credentials: 'same-origin', redirect: 'error' });
    text = await answer.text();
  } catch (error) {
    throw new Problem(0, `The daemon does not answer, or its answer ended early (${error.message}).`);
  }
  let json = null;
  try {
    json = parseExact(text);
  } catch (error) {
    if (answer.ok) throw new Problem(answer.status, `The answer is no JSON: ${error.message}.`);
  }
  if (answer.ok) return json;
  throw new Problem(answer.status, textOf(json?.detail ?? json?.why ?? answer.statusText), {
    title: json?.title,
    retryAfter: answer.headers.get('Retry-After'),
    errors: json?.errors,
  });
}
