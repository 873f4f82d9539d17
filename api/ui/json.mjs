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

const kString = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const kNumber = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const kSafeDigits = 15;  // An integer of so many digits is one double, which prints as it.

// Objects have no prototype: their names come from outside.
export function parseExact(text) {
  let at = 0;
  const fail = () => {
    throw new SyntaxError(`no JSON at ${at}`);
  };
  const skip = () => {
    while (text.charCodeAt(at) <= 32) ++at;
  };
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) fail();
    at = pattern.lastIndex;
    return found[0];
  };
  const word = (spelled, value) => {
    if (!text.startsWith(spelled, at)) fail();
    at += spelled.length;
    return value;
  };
  const string = () => JSON.parse(take(kString));
  const number = () => {
    // Short integers, of which a heat map has a million, without a look at the pattern.
    let end = at;
    while (text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57) ++end;
    const isShort = end > at && end - at <= kSafeDigits && !'.eE'.includes(text[end] ?? ' ');
    if (isShort) return Number(text.slice(at, at = end));
    const spelled = take(kNumber);
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
        members('}', () => {
          const name = string();
          skip();
          word(':');
          skip();
          object[name] = value();
        });
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

export function isNumber(value) {
  return typeof value === 'number' || value instanceof Exact;
}

// A value for people: text as it is, bytes as {"base64": "..."}, what is absent as nothing.
export function textOf(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (isNumber(value) || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map(quoted).join(', ')}]`;
  return `{${Object.keys(value).map((name) => `"${name}": ${quoted(value[name])}`).join(', ')}}`;
}

function quoted(value) {
  if (value === null) return 'null';
  return typeof value === 'string' ? JSON.stringify(value) : textOf(value);
}
