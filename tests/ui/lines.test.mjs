import assert from 'node:assert/strict';
import test from 'node:test';

import { parseExact } from '../../api/ui/json.mjs';
import { linesOf, nearest, piecesOf, reachOf, thinned } from '../../api/ui/lines.mjs';

const kSteps = { fields: ['v'], by: ['host'], hasSteps: true };
const kEvents = { fields: ['v'], by: [], hasSteps: false };

function answer(columns, ...rows) {
  return parseExact(JSON.stringify({ columns, rows }));
}

test('each group is a line of its own, in order of time', () => {
  const { lines } = linesOf(answer(['ts', 'host', 'v'], [1, 'a', 5], [2, 'a', 6], [1, 'b', 7]), kSteps);
  assert.deepEqual(lines.map((line) => line.name), ['v host=a', 'v host=b']);
  const { lines: turned } = linesOf(answer(['ts', 'host', 'v'], [2, 'a', 6], [1, 'a', 5]), kSteps);
  assert.deepEqual(turned[0].points.map((point) => point.time), [1, 2]);
});

test('a key field tells events apart, also where it is a number', () => {
  const { lines } = linesOf(answer(['ts', 'meter', 'v'], [1, 7, 5], [1, 8, 6]), kEvents);
  assert.deepEqual(lines.map((line) => line.name), ['v meter=7', 'v meter=8']);
});

test('text that looks like another field joins no two lines', () => {
  const { lines } = linesOf(answer(['ts', 'a', 'b', 'v'], [1, 'x b=y', null, 5], [1, 'x', 'y', 6],
                                   [1, 5, null, 7], [1, '5', null, 8]), kEvents);
  assert.deepEqual(lines.map((line) => line.points.map((point) => point.value)),
                   [[5], [6], [7], [8]]);
});

test('where a glob means a key field, too, it tells lines apart', () => {
  const told = answer(['ts', 'host', 'v'], [1, 'a', 5], [2, 'b', 6]);
  const { lines, others } = linesOf(told, { ...kEvents, fields: ['*'] });
  assert.deepEqual(lines.map((line) => line.name), ['v host=a', 'v host=b']);
  assert.equal(others, 0);
  assert.equal(linesOf(told, { ...kEvents, fields: ['host'] }).others, 2);
});

test('a name that is no text is one all the same', () => {
  const told = parseExact('{"columns": ["ts", {"base64": "/w=="}, "v"], "rows": [[1, "a", 5]]}');
  assert.deepEqual(linesOf(told, kEvents).lines.map((line) => line.name), ['v {"base64": "/w=="}=a']);
});

test('several aggregations of a field are several lines', () => {
  const { lines } = linesOf(answer(['ts', 'v:min', 'v:max'], [1, 5, 6]), { ...kSteps, by: [] });
  assert.deepEqual(lines.map((line) => line.name), ['v:min', 'v:max']);
});

test('what is no number is counted and not drawn', () => {
  const { lines, others } = linesOf(answer(['ts', 'v'], [1, 'text'], [2, true], [3, 4]), kEvents);
  assert.equal(others, 2);
  assert.deepEqual(lines[0].points.map((point) => point.value), [4]);
});

test('a value beyond 2^53 is drawn near its place and told by its digits', () => {
  const told = parseExact('{"columns": ["ts", "v"], "rows": [[1, 9007199254740993]]}');
  const point = linesOf(told, kEvents).lines[0].points[0];
  assert.equal(point.text, '9007199254740993');
  assert.equal(typeof point.value, 'number');
});

test('an empty step cuts the line, and an event without the field does not', () => {
  const told = answer(['ts', 'v'], [1, 5], [2, null], [3, 6]);
  const pieces = (how) => {
    const [line] = linesOf(told, how).lines;
    return piecesOf(line.points, 10).length;
  };
  assert.equal(pieces({ ...kSteps, by: [] }), 2);
  assert.equal(pieces(kEvents), 1);
});

test('a step that is left out cuts the line', () => {
  const { lines: [line] } = linesOf(answer(['ts', 'v'], [0, 1], [60000, 1], [180000, 1]),
                                    { ...kSteps, by: [] });
  assert.equal(piecesOf(line.points, reachOf(line, 60000)).length, 2);
});

test('events are cut where none came for three times their usual distance', () => {
  const { lines: [line] } = linesOf(
    answer(['ts', 'v'], ...[0, 5, 10, 15, 31, 36, 41].map((time) => [time, 1])), kEvents);
  assert.deepEqual(piecesOf(line.points, reachOf(line)).map((piece) => piece.length), [4, 3]);
});

test('a line of many points is drawn by those that are seen of it', () => {
  const piece = [5, 9, 1, 6, 7, 2, 3].map((value, time) => ({ time, value }));
  const values = (columnOf) => thinned(piece, columnOf).map((point) => point.value);
  assert.deepEqual(values((time) => time), [5, 9, 1, 6, 7, 2, 3]);
  assert.deepEqual(values((time) => time < 4 ? 0 : 1), [5, 9, 1, 6, 7, 2, 3]);
  assert.deepEqual(values(() => 0), [5, 9, 1, 3]);
  assert.deepEqual(thinned([], () => 0), []);
});

test('the nearest point is the nearest on either side', () => {
  const points = [0, 10, 20].map((time) => ({ time }));
  assert.deepEqual([-5, 4, 6, 14, 99].map((time) => nearest(points, time)), [0, 0, 1, 1, 2]);
  assert.equal(nearest([], 1), -1);
});
