import assert from 'node:assert/strict';
import test from 'node:test';

import { curlOf, escape, given, kindOf, matches, readFilters, readFragment, readList, targetOf,
         targetOfPlot, targetOfQuestion, writeFragment } from '../../api/ui/question.mjs';

test('the first operator of a filter tells what it is', () => {
  assert.deepEqual(readFilters('hostname=web01&LOAD>3'),
                   [['hostname', 'web01'], ['where', 'LOAD>3']]);
  assert.deepEqual(readFilters('a>=1&b<=2&c!=3&d=x>y&e<4'),
                   [['where', 'a>=1'], ['where', 'b<=2'], ['where', 'c!=3'], ['d', 'x>y'],
                    ['where', 'e<4']]);
  assert.deepEqual(readFilters('scan=1& where=x=1 &field.limit=5&&'),
                   [['scan', '1'], ['where', 'x=1 '], ['field.limit', '5']]);
  assert.deepEqual(readFilters('lone'), [['lone', '']]);
});

test('a question is a path and what was typed, without what was left out', () => {
  const params = new URLSearchParams({ from: '', fields: 'CPU/*, a\\,b ', other: '1' });
  assert.deepEqual(given(params, ['from', 'to', 'fields']), [['fields', 'CPU/*,a\\,b']]);
  assert.equal(targetOf(['v1', 'streams', 'server', 'events'],
                        [['hostname', 'web 01'], ['fields', 'CPU/*']]),
               'v1/streams/server/events?hostname=web%2001&fields=CPU%2F*');
  assert.equal(targetOf(['v1', 'tables', 'a/b?c'], []), 'v1/tables/a%2Fb%3Fc');
});

test('each kind of question takes what it knows, and an unknown kind is one of events', () => {
  const ask = (params) => targetOfQuestion(new URLSearchParams(params));
  assert.equal(ask('show=rows&table=T&stream=s&filters=a=1&prefix=k%2523&limit=5'),
               'v1/tables/T/rows?prefix=k%23&limit=5');
  assert.equal(ask('show=latest&stream=s&filters=a%3D1&from=-1h&fields=v'),
               'v1/streams/s/latest?a=1&fields=v');
  for (const kind of ['toString', '__proto__', 'other', '']) {
    assert.equal(kindOf(new URLSearchParams({ show: kind })), 'events');
    assert.equal(ask(`show=${kind}&stream=s`), 'v1/streams/s/events');
  }
});

test('a plot without a step takes none of what belongs to steps', () => {
  const ask = (params) => targetOfPlot(new URLSearchParams(params));
  assert.equal(ask('stream=s&fields=v&step=&agg=avg&by=h'), 'v1/streams/s/events?fields=v');
  assert.equal(ask('stream=s&fields=v&step=1m&agg=min,+max&by=h'),
               'v1/streams/s/events?fields=v&step=1m&agg=min%2Cmax&by=h');
});

test('a filter for nothing is asked, not left out', () => {
  assert.equal(targetOf(['v1'], readFilters('rack=&scan')), 'v1?rack=&scan=');
});

test('what is typed stays what it is in a URL', () => {
  assert.equal(escape('a+b&c=d#e'), 'a%2Bb%26c%3Dd%23e');
  assert.equal(escape('%26 %ff %zz 100%'), '%26%20%ff%20%25zz%20100%25');
  assert.equal(escape('é'), '%C3%A9');
});

test('no value ends the text that the shell takes', () => {
  const target = targetOf(['v1', 'streams', "it's", 'events'], [['a', "x'; rm -rf /; '"]]);
  assert.ok(!target.includes("'"));
  assert.equal(curlOf(`http://h/${target}`, true).split("'").length, 3);
  assert.equal(curlOf('http://h/v1', true), 'curl -s -H "Authorization: Bearer $TOKEN" \'http://h/v1\'');
  assert.equal(curlOf('http://h/v1', false), "curl -s 'http://h/v1'");
});

test('a view and its question come back from the fragment', () => {
  const views = ['explore', 'plot'];
  const asked = new URLSearchParams({ stream: 'a b', filters: 'x=1&y>2', prefix: 'k#%00?' });
  const { view, params } = readFragment(writeFragment('plot', asked), views);
  assert.equal(view, 'plot');
  assert.deepEqual([...params], [...asked]);
  assert.equal(writeFragment('plot', new URLSearchParams()), '#plot');
});

test('a fragment that names no view is the first one, without a question', () => {
  for (const hash of ['', '#', '#none?stream=a']) {
    const { view, params } = readFragment(hash, ['explore', 'plot']);
    assert.equal(view, 'explore');
    assert.deepEqual([...params], []);
  }
});

test('lists and globs are read as they are typed', () => {
  assert.deepEqual(readList('a, b\\,c ,,CPU/*'), ['a', 'b,c', 'CPU/*']);
  assert.deepEqual(readList(''), []);
  assert.ok(matches('CPU/*', 'CPU/CPU1_USR') && matches('a?c', 'abc') && matches('a.b', 'a.b'));
  assert.ok(matches('*', '') && matches('*b*', 'abc') && matches('a*c', 'abcbc') && matches('', ''));
  assert.ok(!matches('?', '') && !matches('a*c', 'acb') && !matches('', 'a') && !matches('aa', 'a'));
  assert.ok(!matches('CPU/*', 'xCPU/1') && !matches('a.b', 'axb') && !matches('a', 'ab'));
});

test('a glob of many stars takes no longer than the name times its length', () => {
  assert.ok(!matches(`${'*a'.repeat(40)}b`, 'a'.repeat(4000)));
});
