// Explore: events, latest values and series of a stream, rows of a table, as tables.

import { Asker, Superseded, token, urlOf } from './ask.mjs';
import { fillForm, make, onSubmit, problem, readForm, show, table } from './dom.mjs';
import { namesOf, textOf } from './json.mjs';
import { curlOf, inList, kindOf, targetOf, targetOfQuestion, writeFragment } from './question.mjs';

export function start(section, { ask }) {
  const form = section.querySelector('form');
  const about = section.querySelector('.about div');
  const answer = section.querySelector('.answer');
  const asker = new Asker();
  const describer = new Asker();

  function showParts() {
    for (const label of form.querySelectorAll('[data-for]')) {
      label.hidden = !label.dataset.for.split(' ').includes(form.show.value);
      label.querySelector('input, select').disabled = label.hidden;
    }
  }

  function describe() {
    showParts();
    const isRows = form.show.value === 'rows';
    const path = isRows ? ['v1', 'tables', form.table.value]
                        : ['v1', 'streams', form.stream.value, 'fields'];
    about.previousElementSibling.textContent = isRows ? 'About this table' : 'Fields of this stream';
    if (path[2] === '') return;
    show(about, async () => {
      const told = await describer.get(targetOf(path, []));
      return isRows ? tableAbout(told) : fieldsAbout(told.fields, form);
    });
  }

  onSubmit(form, () => ask('explore', readForm(form)));
  for (const list of [form.show, form.stream, form.table]) {
    list.addEventListener('change', describe);
  }

  return async (params) => {
    const isAsked = params.has('stream') || params.has('table');
    fillForm(form, params);
    if (isAsked) form.show.value = kindOf(params);
    describe();
    if (!isAsked) return answer.replaceChildren();
    const target = targetOfQuestion(params);
    const curl = make('pre', '', curlOf(urlOf(target), token.get() !== ''));
    await show(answer, async () => {
      try {
        const told = await asker.get(target);
        return [curl, ...notesOf(told), answerTable(told), ...nextPage(told, params)];
      } catch (error) {
        if (error instanceof Superseded) throw error;
        return [curl, problem(error)];  // The line is what one would try by hand.
      }
    });
  };
}

export function notesOf(told) {
  const notes = [];
  const { plan } = told;
  if (plan) {
    notes.push(make('p', 'note', `From ${textOf(plan.table)}: ${textOf(plan.kind)}, ranges ` +
      `${textOf(plan.ranges)}, rows read ${textOf(plan.rows_read)}.`));
    if (plan.complete === false) {
      notes.push(make('p', 'warning', 'This answer may lack something. ', plan.note));
    }
  }
  if (told.hint) notes.push(make('p', 'warning', told.hint));
  return notes;
}

function answerTable(told) {
  if (told.series) return seriesTable(told.series);
  if (told.columns) return counted(told.rows, table(told.columns, told.rows, [0]));
  return counted(told.rows, table(['key', 'column', 'value', 'time'], told.rows.flatMap(cellsOf),
                                  [3]));
}

function counted(rows, ...shown) {
  return make('div', '', make('p', 'note', `Rows on this page: ${rows.length}.`), ...shown);
}

function seriesTable(series) {
  const columns = [...new Set(series.flatMap(namesOf))];
  return counted(series, table(columns, series.map((one) =>
    columns.map((name) => one[name] ?? null))));
}

// A line for each cell; the key stands at the first of its row.
function cellsOf(row) {
  const lines = [];
  for (const family of namesOf(row.cells)) {
    const columns = row.cells[family];
    for (const qualifier of namesOf(columns)) {
      for (const { value, ts } of columns[qualifier]) {
        lines.push([lines.length === 0 ? row.key : '', `${family}:${qualifier}`, value, ts]);
      }
    }
  }
  return lines;
}

function nextPage(told, params) {
  if (!told.next) return [];
  const next = new URLSearchParams(params);
  next.set('cursor', told.next);
  const link = make('a', '', 'Next page');
  link.href = writeFragment('explore', next);
  return [make('p', '', link)];
}

// The fields of a stream, as buttons that put them into the question.
function fieldsAbout(fields, form) {
  if (fields.length === 0) return make('p', 'note', 'No event has come yet.');
  const buttons = fields.map(({ name, types, label }) => {
    const button = make('button', '', `${textOf(name)} (${types.map(textOf).join(', ')})`,
                        label ? ', label' : null);
    button.type = 'button';
    button.title = 'Put it into Fields';
    button.addEventListener('click', () => {
      const spelled = inList(textOf(name)).replace(/%/g, '%25');
      form.fields.value = [form.fields.value, spelled].filter((one) => one !== '').join(',');
    });
    return button;
  });
  return make('div', 'fields', ...buttons);
}

function tableAbout(told) {
  return table(['of the table', ''], namesOf(told).map((name) => [name, textOf(told[name])]));
}
