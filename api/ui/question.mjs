// From what is typed to a question's URL, and to the fragment under which it can be found again.

// As encodeURIComponent, but that %HH stays the byte that it says (keys are arbitrary bytes), and
// that nothing is left which ends a string of the shell.
export function escape(text) {
  return text.replace(/%[0-9A-Fa-f]{2}|[^%]+|%/g, (part) =>
    /^%./.test(part) ? part : encodeURIComponent(part)).replace(/'/g, '%27');
}

// "hostname=web01&LOAD>3" as [name, value] pairs. What a part compares with is told by its first
// operator: `=` alone makes it a parameter of the URL, as a filter, `table=` or `scan=1`; any other
// makes it a `where`.
export function readFilters(text) {
  const params = [];
  for (const part of text.split('&')) {
    if (part.trim() === '') continue;
    const operator = /[<>]=?|!=|=/.exec(part);
    if (operator && operator[0] === '=') {
      const name = part.slice(0, operator.index);
      params.push([name.trim(), part.slice(operator.index + 1)]);
    } else if (operator) {
      params.push(['where', part.trim()]);
    } else {
      params.push([part.trim(), '']);
    }
  }
  return params;
}

const kLists = ['fields', 'columns', 'agg', 'by'];

// What was given of a form: [name, value] of those of `names` that are not empty. Lists go without
// the blanks between their parts, which the daemon would take for a part of a name.
export function given(params, names) {
  return names.map((name) => {
    const text = params.get(name) ?? '';
    return [name, kLists.includes(name) ? readList(text).map(inList).join(',') : text];
  }).filter(([, value]) => value !== '');
}

// A name as a part of a list.
export function inList(name) {
  return name.replace(/,/g, '\\,');
}

// Relative to the page, so that it is right behind a proxy that serves the daemon below a path.
// `path` is a list of segments, `params` one of pairs. A filter may be for nothing (`rack=`): only
// the caller knows what was left out.
export function targetOf(path, params) {
  const query = params.map(([name, value]) => `${escape(name)}=${escape(value)}`);
  const target = path.map(encodeURIComponent).join('/').replace(/'/g, '%27');
  return query.length === 0 ? target : `${target}?${query.join('&')}`;
}

// What each kind of question takes beside its filters.
const kParams = {
  events: ['from', 'to', 'fields', 'order', 'limit', 'cursor'],
  latest: ['fields', 'limit', 'cursor'],
  series: ['limit', 'cursor'],
  rows: ['prefix', 'start', 'end', 'columns', 'from', 'to', 'versions', 'limit', 'cursor'],
};

export function kindOf(params) {
  const kind = params.get('show');
  return Object.keys(kParams).includes(kind) ? kind : 'events';
}

// What Explore asks.
export function targetOfQuestion(params) {
  const kind = kindOf(params);
  const path = kind === 'rows' ? ['v1', 'tables', params.get('table') ?? '', 'rows']
                               : ['v1', 'streams', params.get('stream') ?? '', kind];
  const filters = kind === 'rows' ? [] : readFilters(params.get('filters') ?? '');
  return targetOf(path, [...filters, ...given(params, kParams[kind])]);
}

// What Plot asks: of events, or, where there is a step, of steps.
export function targetOfPlot(params) {
  const hasSteps = (params.get('step') ?? '') !== '';
  const asked = hasSteps ? ['from', 'to', 'fields', 'step', 'agg', 'by'] : ['from', 'to', 'fields'];
  return targetOf(['v1', 'streams', params.get('stream') ?? '', 'events'],
                  [...readFilters(params.get('filters') ?? ''), ...given(params, asked)]);
}

// What asks the same in a shell; the token is to be in $TOKEN there.
export function curlOf(url, hasToken) {
  return `curl -s ${hasToken ? '-H "Authorization: Bearer $TOKEN" ' : ''}'${url}'`;
}

// "#plot?stream=server&step=1m" -> {view, params}. The first of `views` where there is no such one.
export function readFragment(hash, views) {
  const [name, query] = split(hash.replace(/^#/, ''), '?');
  const view = views.includes(name) ? name : views[0];
  return { view, params: new URLSearchParams(view === name ? query : '') };
}

export function writeFragment(view, params) {
  const query = String(params);
  return query === '' ? `#${view}` : `#${view}?${query}`;
}

// "a, b\,c" -> ["a", "b,c"].
export function readList(text) {
  const found = text.match(/(?:\\,|[^,])+/g) ?? [];
  return found.map((one) => one.trim().replace(/\\,/g, ',')).filter((one) => one !== '');
}

// Whether a name is what `glob` says, in which * is any text and ? any character. By hand: of many
// stars a regular expression tries every way to share the name among them.
export function matches(glob, name) {
  let at = 0;
  let place = 0;
  let star = -1;  // The last one met, which takes all before `taken`.
  let taken = 0;
  while (place < name.length) {
    if (glob[at] === '*') {
      star = at++;
      taken = place;
    } else if (glob[at] === '?' || glob[at] === name[place]) {
      ++at;
      ++place;
    } else if (star >= 0) {
      at = star + 1;
      place = ++taken;
    } else {
      return false;
    }
  }
  while (glob[at] === '*') ++at;
  return at === glob.length;
}

function split(text, at) {
  const place = text.indexOf(at);
  return place < 0 ? [text, ''] : [text.slice(0, place), text.slice(place + 1)];
}
