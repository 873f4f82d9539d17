// From an answer about events to the lines of a plot.

import { isNumber, quoted, textOf } from './json.mjs';
import { matches } from './question.mjs';

// Which columns are drawn, and which tell lines apart. Asked for are names and globs, of steps with
// several `agg` as field:agg. Whatever else comes (the key's fields, `by`) tells apart; so does what
// only a glob asks for and is no number anywhere: `*` means the key's fields, too.
function columnsOf({ columns, rows }, fields, by) {
  const spellings = (name) => [name, name.replace(/:[a-z0-9]+$/, '')];
  const isNamed = (name) => spellings(name).some((one) => fields.includes(one));
  const isMeant = (name) => spellings(name).some((one) => fields.some((glob) => matches(glob, one)));
  const hasNumbers = (at) => rows.some((row) => isNumber(row[at]));
  const places = columns.map((_, at) => at).slice(1);
  const free = places.filter((at) => !by.includes(columns[at]));
  const asked = free.filter((at) =>
    isNamed(columns[at]) || (isMeant(columns[at]) && hasNumbers(at)));
  // A field may come back under another spelling than it was asked by.
  const drawn = asked.length > 0 ? asked : free.filter(hasNumbers);
  return { drawn, apart: places.filter((at) => !drawn.includes(at)) };
}

// {lines: [{name, points: [{time, value, text}]}], others}: points in order of time, `value` null
// where a step is empty, `others` counting values that are no numbers and so have no place.
export function linesOf(answer, { fields, by, hasSteps }) {
  const columns = answer.columns.map(textOf);
  const { drawn, apart } = columnsOf({ columns, rows: answer.rows }, fields, by);
  const lines = new Map();
  let others = 0;
  for (const row of answer.rows) {
    const given = apart.filter((at) => row[at] !== null);
    const group = given.map((at) => `${columns[at]}=${textOf(row[at])}`).join(' ');
    // Not the name: text may hold what looks like the next field, and 5 is not "5".
    const groupKey = given.map((at) => `${at}=${quoted(row[at])}`).join(' ');
    for (const at of drawn) {
      const value = row[at];
      // An event that lacks a field says nothing of it; a step that lacks it is empty.
      if (value === null && !hasSteps) continue;
      if (value !== null && !isNumber(value)) {
        ++others;
        continue;
      }
      const key = `${at} ${groupKey}`;
      if (!lines.has(key)) {
        const name = [columns[at], group].filter((one) => one !== '').join(' ');
        lines.set(key, { name, points: [] });
      }
      lines.get(key).points.push({
        time: Number(row[0]),
        value: value === null ? null : Number(value),
        text: textOf(value),
      });
    }
  }
  const found = [...lines.values()];
  for (const line of found) line.points.sort((a, b) => a.time - b.time);
  return { lines: found, others };
}

// The distance beyond which two points are not joined: of steps one step; of events three times
// the usual one, since nobody says how often they should come.
export function reachOf(line, step) {
  if (step) return step * 1.5;
  const distances = [];
  for (let i = 1; i < line.points.length; ++i) {
    distances.push(line.points[i].time - line.points[i - 1].time);
  }
  distances.sort((a, b) => a - b);
  return distances.length === 0 ? 0 : 3 * distances[distances.length >> 1];
}

// The line in pieces, cut where a value is null or nothing came for longer than `reach`.
export function piecesOf(points, reach) {
  const pieces = [];
  let piece = [];
  const cut = () => {
    if (piece.length > 0) pieces.push(piece);
    piece = [];
  };
  for (const point of points) {
    const before = piece.at(-1);
    if (point.value === null || (before && point.time - before.time > reach)) cut();
    if (point.value !== null) piece.push(point);
  }
  cut();
  return pieces;
}

// What can be seen of a piece: in each column of the paper, which `columnOf` tells of a time, the
// first point, the least, the greatest and the last. A hundred thousand points keep a browser for
// seconds, and look the same.
export function thinned(piece, columnOf) {
  const kept = [];
  for (let first = 0, next; first < piece.length; first = next) {
    const column = columnOf(piece[first].time);
    let [least, most] = [first, first];
    for (next = first + 1; next < piece.length && columnOf(piece[next].time) === column; ++next) {
      if (piece[next].value < piece[least].value) least = next;
      if (piece[next].value > piece[most].value) most = next;
    }
    const seen = [...new Set([first, least, most, next - 1])].sort((a, b) => a - b);
    kept.push(...seen.map((at) => piece[at]));
  }
  return kept;
}

// The place of the point nearest to a time; -1 where there is none.
export function nearest(points, time) {
  let low = 0;
  let high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle].time < time) low = middle + 1;
    else high = middle;
  }
  if (low > 0 && time - points[low - 1].time < points[low].time - time) --low;
  return points.length === 0 ? -1 : low;
}
