import assert from 'node:assert/strict';
import test from 'node:test';

import { stepMs, tickText, ticks, timeText, timeTickText, timeTicks } from '../../api/ui/scale.mjs';

function within(zone, what) {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    what();
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}

test('ticks are round and lie inside', () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(0.05, 0.31, 3).map(tickText), ['0.1', '0.2', '0.3']);
  assert.deepEqual(ticks(-1, 1, 4).map(tickText), ['-1', '-0.5', '0', '0.5', '1']);
  assert.deepEqual(ticks(1e18, 1e18 + 1024, 2), [1e18, 1e18 + 1000]);
  assert.deepEqual([1e18, 1e18 + 1000, 1700000000000200, 1000000000.003].map(tickText),
                   ['1000000000000000000', '1000000000000001000', '1700000000000200',
                    '1000000000.003']);
});

test('ticks of no length, or of a length beyond numbers, end', () => {
  assert.deepEqual(ticks(3, 3, 5), [3]);
  assert.ok(ticks(-1.7e308, 1.7e308, 5).length > 0);
  assert.ok(ticks(9007199254740992, 9007199254740994, 6).length <= 3);
  assert.deepEqual(ticks(0, Infinity, 5), [0]);
});

test('moments are round by the clock that is shown', () => {
  const from = Date.UTC(2026, 10, 29, 5, 47, 12);
  const { times, step } = timeTicks(from, from + 3600000, 6, true);
  assert.equal(step, 600000);
  assert.equal(timeTickText(times[0], step, true), '05:50');
  assert.ok(times.every((one) => one % step === 0 && one >= from && one <= from + 3600000));
});

test('the clock of the reader may be half an hour off', () => {
  within('Asia/Kolkata', () => {
    const from = Date.UTC(2026, 10, 29, 5, 47, 12);
    const { times, step } = timeTicks(from, from + 6 * 3600000, 6, false);
    assert.deepEqual(times.slice(0, 2).map((one) => timeTickText(one, step, false)),
                     ['12:00', '13:00']);
    assert.equal(timeText(times[0], false), '2026-11-29 12:00:00.000 +05:30');
    assert.equal(timeText(times[0], true), '2026-11-29 06:30:00.000');
  });
});

test('days begin at midnight on both sides of a clock that is put forward or back', () => {
  within('Europe/Berlin', () => {
    for (const from of [Date.UTC(2026, 9, 22, 12), Date.UTC(2026, 2, 26, 12)]) {
      const { times, step } = timeTicks(from, from + 6 * 86400000, 6, false);
      assert.equal(new Set(times.map((one) => timeTickText(one, step, false))).size, 6);
      assert.ok(times.every((one) => timeText(one, false).includes(' 00:00:00.000 ')));
    }
  });
});

test('an hour that comes twice has its ticks twice, and is told apart', () => {
  within('Europe/Berlin', () => {
    const from = Date.UTC(2026, 9, 25, 0, 5);
    const { times, step } = timeTicks(from, from + 7200000, 4, false);
    assert.deepEqual(times.map((one) => timeTickText(one, step, false)),
                     ['02:30', '02:00', '02:30', '03:00']);
    assert.equal(timeText(times[0], false), '2026-10-25 02:30:00.000 +02:00');
    assert.equal(timeText(times[2], false), '2026-10-25 02:30:00.000 +01:00');
  });
  within('Africa/Monrovia', () => {
    const from = Date.UTC(1972, 0, 7);
    assert.ok(timeTicks(from, from + 7200000, 12, false).times.length <= 13);  // By 44.5 minutes.
  });
  within('America/St_Johns', () => {
    assert.match(timeText(Date.UTC(2026, 0, 1), false), / -03:30$/);
  });
});

test('midnight is called by its day, and a second by its second', () => {
  const day = Date.UTC(2026, 10, 29);
  assert.equal(timeTickText(day, 3600000, true), '2026-11-29');
  assert.equal(timeTickText(day + 5000, 5000, true), '00:00:05');
  assert.equal(timeTickText(day + 5, 5, true), '00:00:00.005');
});

test('a time is told as finely as it came', () => {
  assert.equal(timeText(1426535612045, true), '2015-03-16 19:53:32.045');
  assert.equal(timeText({ toString: () => '1426535612045.125', valueOf: () => 1426535612045.125 }, true),
               '2015-03-16 19:53:32.045125');
});

test('a step is read in its unit', () => {
  assert.equal(stepMs('500ms'), 500);
  assert.equal(stepMs('1m'), 60000);
  assert.equal(stepMs('2d'), 172800000);
  assert.equal(stepMs(''), undefined);
  assert.equal(stepMs('1y'), undefined);
});
