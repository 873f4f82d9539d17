import assert from 'node:assert/strict';
import test from 'node:test';

import { greatestOf, heat, kMinute, minutesOf } from '../../api/ui/heat.mjs';

const kStart = 1790000040000;

function map(times, counts) {
  const { minutes, count } = minutesOf(times);
  return (width, height) => [...greatestOf({ counts, minutes, count }, width, height)];
}

test('a minute that is left out has its place, and no row', () => {
  const times = [kStart, kStart + 3 * kMinute];
  assert.deepEqual(minutesOf(times), { first: kStart, minutes: [0, 3], count: 4 });
  assert.deepEqual(map(times, [[5, 6], [7, 8]])(4, 2), [5, 0, 0, 6, 7, 0, 0, 8]);
});

test('what is hot is seen, however few pixels there are', () => {
  const times = Array.from({ length: 100 }, (_, at) => kStart + at * kMinute);
  const counts = Array.from({ length: 50 }, () => times.map(() => 1));
  counts[31][57] = 9;
  assert.deepEqual(map(times, counts)(2, 2), [1, 1, 1, 9]);
  assert.deepEqual(map(times, counts)(1, 1), [9]);
});

test('a row under a clock that was wrong by a century is one row more', () => {
  const times = [kStart, kStart + 100 * 365 * 1440 * kMinute];
  const greatest = map(times, Array(1000).fill([1, 2]))(800, 640);
  assert.equal(greatest[0], 1);
  assert.equal(greatest[799], 2);
  assert.equal(greatest[1], 0);
});

test('heat grows with the value, and one is not nothing', () => {
  assert.equal(heat(0, 100), 0);
  assert.equal(heat(1, 1), 1);
  assert.equal(heat(100, 100), 1);
  assert.ok(heat(1, 100) > 0.1 && heat(1, 100) < heat(10, 100));
});
