// Plot: number fields over time. Gaps stay gaps, and what is no number is told, not drawn.

import { Asker } from './ask.mjs';
import {
  clock, color, fillForm, keepDrawn, label, make, onSubmit, readForm, show, sized } from './dom.mjs';
import { notesOf } from './explore.mjs';
import { linesOf, nearest, piecesOf, reachOf, thinned } from './lines.mjs';
import { readList, targetOfPlot } from './question.mjs';
import { stepMs, tickText, ticks, timeText, timeTickText, timeTicks, zoneText } from './scale.mjs';

const kColors = 8;
const kHeight = 340;
const kEdge = { left: 64, right: 12, top: 10, bottom: 26 };
// Lines beyond the colors are told apart by their dashes, in the plot and in the legend.
const kDashes = [['solid', []], ['dashed', [8, 4]], ['dotted', [2, 3]]];
const kMostLines = kColors * kDashes.length;

export function start(section, { ask }) {
  const form = section.querySelector('form');
  const answer = section.querySelector('.answer');
  const asker = new Asker();
  onSubmit(form, () => ask('plot', readForm(form)));

  return async (params) => {
    fillForm(form, params);
    if (!params.has('stream')) return answer.replaceChildren();
    const step = stepMs(params.get('step') ?? '');
    await show(answer, async () => {
      const told = await asker.get(targetOfPlot(params));
      const { lines, others } = linesOf(told, {
        fields: readList(params.get('fields') ?? ''),
        by: readList(params.get('by') ?? ''),
        hasSteps: step !== undefined,
      });
      return [...notesOf(told), ...remarks(told, lines, others, step), ...plot(lines, step)];
    });
  };
}

function remarks(told, lines, others, step) {
  const said = [];
  if (told.next) {
    said.push(`Only the first ${told.rows.length} rows are drawn, and there are more: ask for a ` +
              'shorter time or a longer step.');
  }
  if (others > 0) said.push(`Values that are no numbers, and so are not drawn: ${others}.`);
  if (lines.length > kMostLines) {
    said.push(`Only the first ${kMostLines} of ${lines.length} lines are drawn: ask with a filter.`);
  }
  return said.map((text) => make('p', 'warning', text))
    .concat(make('p', 'note', step ? 'A line is cut where a step has no value.'
                                   : 'Each event is drawn. A line is cut where none came for ' +
                                     'three times its usual distance.'));
}

function plot(all, step) {
  const lines = all.slice(0, kMostLines).map((line, at) => ({
    ...line, at, pieces: piecesOf(line.points, reachOf(line, step)),
  })).filter((line) => line.pieces.length > 0);
  if (lines.length === 0) return [make('p', 'note', 'There is nothing to draw.')];
  const drawn = lines.flatMap((line) => line.pieces.flat());
  const times = [...new Set(drawn.map((point) => point.time))].sort((a, b) => a - b);
  const moments = times.map((time) => ({ time }));
  const x = spread(times[0], times.at(-1), step ?? 1000);
  const y = ends(drawn.map((point) => point.value));
  const canvas = make('canvas', '');
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${lines.length} lines over time; the arrow keys read values`);
  // A rule at the time whose values are told: an element, since to draw the lines anew for each move
  // takes longer than the move.
  const rule = make('div', 'rule');
  Object.assign(rule.style, { top: `${kEdge.top}px`, bottom: `${kEdge.bottom}px` });
  const when = make('output', '');
  const outputs = lines.map(() => make('output', ''));
  let shown = null;  // The time whose values are told.

  const toX = (time) => kEdge.left + (time - x[0]) / (x[1] - x[0]) *
    (canvas.clientWidth - kEdge.left - kEdge.right);
  const placeRule = () => {
    rule.hidden = shown === null;
    if (shown !== null) rule.style.left = `${toX(shown)}px`;
  };
  const point = (time) => {
    shown = time;
    when.textContent = time === null ? '' : timeText(time, clock.utc);
    lines.forEach((line, at) => {
      const found = time === null ? undefined : line.points[nearest(line.points, time)];
      const is = found && found.value !== null && found.time === time;
      outputs[at].textContent = is ? found.text : time === null ? '' : '–';
    });
    placeRule();
  };
  const draw = () => {
    const paper = sized(canvas, kHeight);
    const toY = (value) => kHeight - kEdge.bottom - (value - y[0]) / (y[1] - y[0]) *
      (kHeight - kEdge.top - kEdge.bottom);
    drawAxes(paper, x, y, toX, toY);
    for (const line of lines) drawLine(paper, line, toX, toY);
    placeRule();
  };
  canvas.addEventListener('pointermove', (event) => {
    const inside = canvas.clientWidth - kEdge.left - kEdge.right;
    const time = x[0] + (event.offsetX - kEdge.left) / inside * (x[1] - x[0]);
    point(times[nearest(moments, time)]);
  });
  canvas.addEventListener('pointerleave', () => point(null));
  canvas.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = shown === null ? (by > 0 ? -1 : times.length) : times.indexOf(shown);
    point(times[Math.min(times.length - 1, Math.max(0, at + by))]);
  });
  keepDrawn(canvas, draw);

  const items = lines.map((line, at) => {
    const swatch = make('span', 'swatch');
    swatch.style.borderTopColor = `var(--line-${line.at % kColors})`;
    swatch.style.borderTopStyle = kDashes[Math.floor(line.at / kColors)][0];
    return make('li', '', swatch, line.name, outputs[at]);
  });
  return [make('div', 'plot', canvas, rule),
          make('p', 'note', `Times are in ${zoneText(clock.utc)}. `, when),
          make('ul', 'legend', ...items)];
}

function spread(from, to, least) {
  return to > from ? [from, to] : [from - least, to + least];
}

// Of the values' axis: a little beyond both, and never of no height.
function ends(values) {
  let least = Infinity;
  let most = -Infinity;
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const room = (most - least) * 0.05 || Math.abs(most) * 0.05 || 1;
  return [least - room, most + room];
}

function drawAxes(paper, x, y, toX, toY) {
  const { context, width } = paper;
  context.strokeStyle = color('rule');
  context.fillStyle = color('faint');
  context.lineWidth = 1;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const value of ticks(y[0], y[1], 6)) {
    const at = Math.round(toY(value)) + 0.5;
    context.beginPath();
    context.moveTo(kEdge.left, at);
    context.lineTo(width - kEdge.right, at);
    context.stroke();
    context.fillText(tickText(value), kEdge.left - 6, at, kEdge.left - 8);
  }
  const { times, step } = timeTicks(x[0], x[1], (width - kEdge.left) / 90, clock.utc);
  for (const time of times) {
    const at = Math.round(toX(time)) + 0.5;
    context.fillRect(at, kHeight - kEdge.bottom, 1, 4);
    label(paper, timeTickText(time, step, clock.utc), at, kHeight - kEdge.bottom + 7);
  }
}

function drawLine({ context, ratio }, line, toX, toY) {
  const columnOf = (time) => Math.round(toX(time) * ratio * 2);  // A line is wider than that.
  context.strokeStyle = context.fillStyle = color(`line-${line.at % kColors}`);
  context.lineWidth = 1.5;
  context.setLineDash(kDashes[Math.floor(line.at / kColors)][1]);
  for (const piece of line.pieces) {
    context.beginPath();
    for (const { time, value } of thinned(piece, columnOf)) context.lineTo(toX(time), toY(value));
    context.stroke();
    // What has no neighbour makes no line.
    if (piece.length > 1 && line.points.length > 200) continue;
    for (const { time, value } of piece) {
      context.fillRect(toX(time) - 1.5, toY(value) - 1.5, 3, 3);
    }
  }
  context.setLineDash([]);
}
