import assert from 'node:assert/strict';
import test from 'node:test';

import { Exact, isNumber, namesOf, parseExact, textOf, visible } from '../../api/ui/json.mjs';

test('integers beyond 2^53 keep their digits', () => {
  const [big, least, safe] = parseExact('[9007199254740993, -9223372036854775808, 9007199254740991]');
  assert.equal(textOf(big), '9007199254740993');
  assert.equal(textOf(least), '-9223372036854775808');
  assert.equal(safe, 9007199254740991);
  assert.ok(big instanceof Exact && isNumber(big));
  assert.equal(Number(big), 9007199254740992);
});

test('a float keeps the spelling by which it is no integer', () => {
  assert.deepEqual(parseExact('[2.0, 0.02, 1e300, -0.0, -0]').map(textOf),
                   ['2.0', '0.02', '1e300', '-0.0', '-0']);
  assert.equal(parseExact('0.02'), 0.02);
});

test('a time that is finer than a millisecond keeps its digits', () => {
  assert.equal(textOf(parseExact('[1426535612045.125]')[0]), '1426535612045.125');
});

test('what is no number is as JSON.parse has it', () => {
  for (const text of ['null', 'true', ' [ ] ', '{}', '{"a":{"b":[1,"x",false,null]},"c":""}',
                      '"\\u00e9\\n\\"\\\\"', '[[],[1],{"":0}]', '12', '{ "a" : 1 , "b" : 2 }\n']) {
    assert.equal(JSON.stringify(parseExact(text)), JSON.stringify(JSON.parse(text)));
  }
});

test('a name from outside is a name, whatever it says', () => {
  const object = parseExact('{"__proto__": {"a": 1}, "constructor": 2}');
  assert.deepEqual(Object.keys(object), ['__proto__', 'constructor']);
  assert.equal(object.toString, undefined);
});

test('a long text is read in one go', () => {
  for (const part of ['a\\n', '\\"', '\\\\']) {
    const text = `"${part.repeat(5000000)}"`;
    assert.ok(parseExact(text) === JSON.parse(text), part);
  }
});

test('names come in the order in which the daemon gave them, numbers among them', () => {
  const object = parseExact('{"b": 1, "10": {"9": 2, "1": 3}, "9": 4, "b": 5}');
  assert.deepEqual(namesOf(object), ['b', '10', '9']);
  assert.equal(textOf(object), '{"b": 5, "10": {"9": 2, "1": 3}, "9": 4}');
  assert.deepEqual(namesOf(parseExact('{"b": 1, "a": 2}')), ['b', 'a']);
});

test('what ends early, or goes on, is an error', () => {
  for (const text of ['', '"', '"\\"', '[', '[1', '[1,]', '{"a"}', '{"a":}', '"a', '1 2', 'nul', '[1 2]', '-', '{a:1}']) {
    assert.throws(() => parseExact(text), SyntaxError, text);
  }
});

test('what would turn around or hide the text beside it is shown by its number', () => {
  assert.equal(visible('a\u202eb\0c\u2069'), 'a⟨U+202E⟩b⟨U+0000⟩c⟨U+2069⟩');
  assert.equal(visible('a\tb\né 日本 👩‍🔧'), 'a\tb\né 日本 👩‍🔧');
});

test('bytes are shown as the daemon tells them', () => {
  assert.equal(textOf(parseExact('{"base64": "/wA="}')), '{"base64": "/wA="}');
  assert.equal(textOf(parseExact('[1.0, "a", null, [true]]')), '[1.0, "a", null, [true]]');
  assert.equal(textOf(parseExact('{"a\\"b": "\\n"}')), '{"a\\"b": "\\n"}');
  assert.equal(textOf(null), '');
  assert.equal(textOf('a\n<b>'), 'a\n<b>');
});
