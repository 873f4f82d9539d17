// Lint: what is unwise in the tables, the worst first.

import { Asker } from './ask.mjs';
import { make, show, table } from './dom.mjs';
import { textOf } from './json.mjs';

const kSeverities = ['error', 'warn', 'info'];

export function start(section) {
  const answer = section.querySelector('.answer');
  const asker = new Asker();
  return () => show(answer, async () => {
    const { findings } = await asker.get('v1/lint');
    if (findings.length === 0) return make('p', 'note', 'Nothing is unwise in these tables.');
    const worst = [...findings].sort((a, b) =>
      kSeverities.indexOf(a.severity) - kSeverities.indexOf(b.severity));
    const count = (severity) => findings.filter((one) => one.severity === severity).length;
    const counts = kSeverities.map((one) => `${one}: ${count(one)}`).join(', ');
    return [make('p', 'note', `Findings by severity: ${counts}.`),
            table(['severity', 'rule', 'table', 'detail', 'cure'], worst.map(rowOf))];
  });
}

function rowOf({ severity, rule, table: name, detail, cure }) {
  const wrapped = (text) => make('td', 'wrap', textOf(text));
  const known = kSeverities.includes(severity) ? severity : '';
  return [make('td', known, textOf(severity)), rule,
          name === '' ? 'the whole instance' : name, wrapped(detail), wrapped(cure)];
}
