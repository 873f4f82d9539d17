// JSON whose numbers are printed as the daemon spelled them. JSON.parse makes a double of each: the
// integer 9007199254740993 would be shown as ...992, and the float 2.0 as the integer 2.

// A number that a double does not give back by its own spelling. valueOf() is near it, for a place
// in a plot.
export class Exact {
  constructor(text) {
    this.text = text;
  }
  valueOf() {
    return Number(this.text);
  }
  toString() {
    return this.text;
  }
}

const kNumber = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const kSafeDigits = 15;  // An integer of so many digits is one double, which prints as it.

// Under which an object keeps the order of its names where JavaScript has another one: it puts those
// that are whole numbers first.
const kNames = Symbol('names');
const kWholeNumber = /^\d+$/;

// Objects have no prototype: their names come from outside.
export function parseExact(text) {
  let at = 0;
  const fail = () => {
    throw new SyntaxError(`no JSON at ${at}`);
  };
  const skip = () => {
    while (text.charCodeAt(at) <= 32) ++at;
  };
  const word = (spelled, value) => {
    if (!text.startsWith(spelled, at)) fail();
    at += spelled.length;
    return value;
  };
  // Without a pattern: one that takes millions of escapes has no room on the stack.
  const string = () => {
    if (text[at] !== '"') fail();
    const from = at;
    let slashes;
    do {
      at = text.indexOf('"', at + 1);
      if (at < 0) fail();
      slashes = 0;
      while (text[at - 1 - slashes] === '\\') ++slashes;
    } while (slashes % 2 === 1);
    return JSON.parse(text.slice(from, ++at));
  };
  const number = () => {
    // Short integers, of which a heat map has a million, without a look at the pattern.
    let end = at;
    while (text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57) ++end;
    const isShort = end > at && end - at <= kSafeDigits && !'.eE'.includes(text[end] ?? ' ');
    if (isShort) return Number(text.slice(at, at = end));
    kNumber.lastIndex = at;
    const spelled = kNumber.exec(text)?.[0];
    if (spelled === undefined) fail();
    at += spelled.length;
    const value = Number(spelled);
    return String(value) === spelled ? value : new Exact(spelled);
  };
  // Calls `each` for every member between two brackets.
  const members = (close, each) => {
    ++at;
    skip();
    if (text[at] !== close) {
      for (;;) {
        skip();
        each();
        skip();
        if (text[at] === close) break;
        word(',');
      }
    }
    ++at;
  };
  const value = () => {
    switch (text[at]) {
      case '{': {
        const object = Object.create(null);
        const names = [];
        members('}', () => {
          const name = string();
          if (!(name in object)) names.push(name);
          skip();
          word(':');
          skip();
          object[name] = value();
        });
        if (names.some((name) => kWholeNumber.test(name))) object[kNames] = names;
        return object;
      }
      case '[': {
        const array = [];
        members(']', () => array.push(value()));
        return array;
      }
      case '"': return string();
      case 't': return word('true', true);
      case 'f': return word('false', false);
      case 'n': return word('null', null);
      default: return number();
    }
  };
  skip();
  const whole = value();
  skip();
  if (at !== text.length) fail();
  return whole;
}

// The names of an object of parseExact, in the order in which they came.
export function namesOf(object) {
  return object[kNames] ?? Object.keys(object);
}

export function isNumber(value) {
  return typeof value === 'number' || value instanceof Exact;
}

// A value for people: text as it is, bytes as {"base64": "..."}, what is absent as nothing.
export function textOf(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (isNumber(value) || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map(quoted).join(', ')}]`;
  const members = namesOf(value).map((name) => `${quoted(name)}: ${quoted(value[name])}`);
  return `{${members.join(', ')}}`;
}

// What would turn around, or hide, the text beside it, by its number: names and keys come from
// whoever writes.
const kUnseen =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export function visible(text) {
  return text.replace(kUnseen, (one) =>
    `⟨U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

// As textOf, but text in its quotes: so 5 and "5" are two.
export function quoted(value) {
  if (value === null) return 'null';
  return typeof value === 'string' ? JSON.stringify(value) : textOf(value);
}
