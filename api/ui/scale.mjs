// Axes and times: round numbers, round moments, and where a value stands between two ends.

const kUnits = { us: 0.001, ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000, w: 604800000 };
const kTimeSteps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000,
  60000, 120000, 300000, 600000, 900000, 1800000,
  3600000, 7200000, 10800000, 21600000, 43200000,
  86400000, 172800000, 604800000, 2592000000, 7776000000, 31536000000];

// "5m" in milliseconds; nothing where it is no such text.
export function stepMs(text) {
  const found = /^(\d+)(us|ms|s|m|h|d|w)$/.exec(text.trim());
  return found ? Number(found[1]) * kUnits[found[2]] : undefined;
}

// About `count` multiples of 1, 2 or 5 times a power of ten within [from, to]. Where doubles lie
// further apart than these, as beyond 2^53, there are fewer.
export function ticks(from, to, count) {
  const rough = (to - from) / Math.max(1, count);
  if (!(rough > 0) || !Number.isFinite(rough)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5].map((digit) => digit * power).find((one) => one >= rough) ?? 10 * power;
  const first = Math.ceil(from / step);
  const found = new Set();
  for (let i = 0; i <= count && (first + i) * step <= to; ++i) found.add((first + i) * step);
  return [...found];
}

// What a tick is called: without the noise that a double has behind its 15th digit. Whole numbers
// have none, and beyond 2^53 need them all to be told apart.
export function tickText(value) {
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(15)));
}

function offsetMs(ms, utc) {
  return utc ? 0 : -new Date(ms).getTimezoneOffset() * 60000;
}

// About `count` moments within [from, to] that are round by the clock that is shown, also where it
// is put forward or back between them.
export function timeTicks(from, to, count, utc) {
  const rough = (to - from) / Math.max(1, count);
  const step = kTimeSteps.find((one) => one >= rough) ?? kTimeSteps.at(-1) *
    Math.ceil(rough / kTimeSteps.at(-1));
  const found = [];
  let at = from;
  for (;;) {
    const offset = offsetMs(at, utc);
    at = Math.ceil((at + offset) / step) * step - offset;
    const moved = offsetMs(at, utc) - offset;
    if (moved % step !== 0 && at - moved > (found.at(-1) ?? from)) at -= moved;
    if (!(at <= to)) return { times: found, step };
    found.push(at);
    at += 1;
  }
}

function pad(number, digits) {
  return String(number).padStart(digits, '0');
}

// Day and time by the clock that is shown, as ["2026-11-29", "05:45:00.000"].
function partsOf(ms, utc) {
  const date = new Date(Math.floor(ms) + offsetMs(ms, utc));
  if (Number.isNaN(date.getTime())) return [String(ms), ''];
  const [day, time] = date.toISOString().split('T');
  return [day, time.slice(0, -1)];
}

// In whole, as finely as it is told: a time that is no whole millisecond has digits behind these. A
// clock that is put back shows an hour twice, so a local time says how far from UTC it is.
export function timeText(value, utc) {
  const [day, time] = partsOf(Number(value), utc);
  const finer = /\.(\d+)$/.exec(String(value));
  return `${day} ${time}${finer ? finer[1] : ''}${utc ? '' : offsetText(Number(value))}`;
}

function offsetText(ms) {
  const minutes = Math.round(offsetMs(ms, false) / kUnits.m);
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return ` ${minutes < 0 ? '-' : '+'}${pad(hours, 2)}:${pad(rest, 2)}`;
}

// At an axis whose ticks are `step` apart: no more than tells them apart.
export function timeTickText(ms, step, utc) {
  const [day, time] = partsOf(ms, utc);
  if (step >= kUnits.d || time === '00:00:00.000') return day;
  return step >= kUnits.m ? time.slice(0, 5) : step >= kUnits.s ? time.slice(0, 8) : time;
}

export function zoneText(utc) {
  return utc ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
}
