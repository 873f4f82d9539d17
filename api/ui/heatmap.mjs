// Heat map: how many rows of which keys were written or read, minute by minute. Ranges go down,
// minutes across.

import { Asker } from './ask.mjs';
import {
  clock, color, fillForm, keepDrawn, label, make, onSubmit, readForm, show, sized } from './dom.mjs';
import { greatestOf, heat, kMinute, minutesOf } from './heat.mjs';
import { textOf, visible } from './json.mjs';
import { given, targetOf } from './question.mjs';
import { timeText, timeTickText, timeTicks, zoneText } from './scale.mjs';

const kBottom = 24;
const kLabel = 14;  // Pixels that a range must have to bear its name.
const kMostLetters = 80;  // Of a name, which may have thousands: no more have room.

export function start(section, { ask }) {
  const form = section.querySelector('form');
  const answer = section.querySelector('.answer');
  const asker = new Asker();
  onSubmit(form, () => ask('heatmap', readForm(form)));

  return async (params) => {
    fillForm(form, params);
    if (!params.has('table')) return answer.replaceChildren();
    const asked = given(params, ['table', 'metric', 'from', 'to']);
    await show(answer, async () => {
      const told = await asker.get(targetOf(['v1', 'heatmap'], asked));
      return [...hotOf(told), ...map(told)];
    });
  };
}

function hotOf({ hot }) {
  if (hot.length === 0) return [make('p', 'note', 'No prefix has half of the rows of this time.')];
  return hot.map(({ detail }) => make('p', 'warning', textOf(detail)));
}

function map({ ranges, times, values, metric }) {
  if (ranges.length === 0 || times.length === 0) {
    return [make('p', 'note', `No row was ${metric === 'reads' ? 'read' : 'written'} in this time.`)];
  }
  const { first, minutes, count } = minutesOf(times);
  const counts = values.map((row) => row.map(Number));
  let most = 0;
  for (const row of counts) for (const one of row) most = Math.max(most, one);
  const valueAt = (range, minute) => counts[range][minutes.indexOf(minute)] ?? 0;

  const canvas = make('canvas', '');
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${ranges.length} ranges by ${count} minutes; the ` +
                                    'arrow keys read values');
  const height = Math.min(640, Math.max(80, ranges.length * 22));
  const told = make('output', '');
  let at = null;  // {range, minute} that is told.
  let left = 0;
  let cells = null;  // As an image: a million of them are looked at once, not for each move.
  const draw = () => {
    const paper = sized(canvas, height + kBottom);
    left = Math.min(220, Math.floor(paper.width * 0.3));
    const inside = paper.width - left;
    drawNames(paper.context, ranges, left, height);
    cells ??= imageOf({ counts, minutes, count, most }, Math.round(inside * paper.ratio),
                      Math.round(height * paper.ratio));
    paper.context.imageSmoothingEnabled = false;
    paper.context.drawImage(cells, left, 0, inside, height);
    drawTimes(paper, first, count, { left, inside, height });
    if (!at) return;
    paper.context.strokeStyle = color('ink');
    const [wide, high] = [inside / count, height / ranges.length];
    paper.context.strokeRect(left + at.minute * wide, at.range * high, Math.max(2, wide),
                             Math.max(2, high));
  };
  const point = (range, minute) => {
    at = { range: Math.min(ranges.length - 1, Math.max(0, range)),
           minute: Math.min(count - 1, Math.max(0, minute)) };
    const { start, end } = ranges[at.range];
    told.textContent = visible(`${textOf(start) || 'the start'} to ${textOf(end) || 'the end'}, ` +
      `${timeText(first + at.minute * kMinute, clock.utc)}: ${valueAt(at.range, at.minute)}`);
    draw();
  };
  canvas.addEventListener('pointermove', (event) => {
    point(Math.floor(event.offsetY / height * ranges.length),
          Math.floor((event.offsetX - left) / (canvas.clientWidth - left) * count));
  });
  canvas.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!by) return;
    event.preventDefault();
    point((at?.range ?? 0) + by[0], (at?.minute ?? 0) + by[1]);
  });
  keepDrawn(canvas, () => {
    cells = null;
    draw();
  });
  // Below: what is told may take several lines, and would move the canvas from under the pointer.
  return [legend(most), canvas, make('p', 'note', `Times are in ${zoneText(clock.utc)}. `, told)];
}

function legend(most) {
  const ramp = make('canvas', 'ramp');
  keepDrawn(ramp, () => {
    const { context, width, height } = sized(ramp, 13);
    const paint = painter();
    for (let x = 0; x < width; ++x) {
      const [red, green, blue] = paint(x / width);
      context.fillStyle = `rgb(${red}, ${green}, ${blue})`;
      context.fillRect(x, 0, 1, height);
    }
  });
  return make('p', 'note', 'Rows a minute: 0 ', ramp, ` ${most} (logarithmic)`);
}

// From 0..1 to a color between those of the stylesheet, as bytes.
function painter() {
  const stops = ['cold', 'hot-low', 'hot-high'].map((name) => {
    const digits = color(name).slice(1);
    return [0, 2, 4].map((place) => parseInt(digits.slice(place, place + 2), 16));
  });
  return (share) => {
    const [from, to, part] = share < 0.15 ? [0, 1, share / 0.15] : [1, 2, (share - 0.15) / 0.85];
    return stops[from].map((one, place) => Math.round(one + (stops[to][place] - one) * part));
  };
}

// An image of the cells, of at most so many pixels.
function imageOf({ counts, minutes, count, most }, widest, highest) {
  const width = Math.max(1, Math.min(count, widest));
  const height = Math.max(1, Math.min(counts.length, highest));
  const paint = painter();
  const palette = Array.from({ length: 256 }, (_, share) => paint(share / 255));
  const image = new ImageData(width, height);
  greatestOf({ counts, minutes, count }, width, height).forEach((value, place) => {
    const bytes = palette[Math.round(heat(value, most) * 255)];
    for (let i = 0; i < 3; ++i) image.data[place * 4 + i] = bytes[i];
    image.data[place * 4 + 3] = 255;
  });
  const cells = make('canvas', '');
  cells.width = width;
  cells.height = height;
  cells.getContext('2d').putImageData(image, 0, 0);
  return cells;
}

function drawNames(context, ranges, left, height) {
  context.fillStyle = color('faint');
  context.textBaseline = 'middle';
  const each = Math.max(1, Math.ceil(kLabel / (height / ranges.length)));
  for (let range = 0; range < ranges.length; range += each) {
    const whole = visible(textOf(ranges[range].start));
    let name = whole.slice(0, kMostLetters);
    const wide = (text) => context.measureText(text).width > left - 8;
    while (name !== '' && wide(`${name}…`)) name = name.slice(0, -1);
    context.fillText(name === whole ? name : `${name}…`, 0,
                     Math.max(kLabel / 2, (range + 0.5) * height / ranges.length));
  }
}

function drawTimes(paper, first, minutes, { left, inside, height }) {
  paper.context.fillStyle = color('faint');
  const end = first + minutes * kMinute;
  const { times, step } = timeTicks(first, end, Math.min(minutes, inside / 90), clock.utc);
  for (const time of times) {
    const x = left + (time - first) / (end - first) * inside;
    paper.context.fillRect(x, height, 1, 4);
    label(paper, timeTickText(time, step, clock.utc), x, height + 7);
  }
}
