// From an answer about heat to the shares and places of a map's cells.

export const kMinute = 60000;

// The minutes of `times` as numbers from the first one on, of which there are `count`: one without a
// row may be left out, and a clock that was wrong leaves out years.
export function minutesOf(times) {
  const first = Number(times[0]);
  const minutes = times.map((time) => (Number(time) - first) / kMinute);
  return { first, minutes, count: minutes.at(-1) + 1 };
}

// Of each pixel the greatest of the cells that lie in it, so that what is hot is never lost between
// two: `width` by `height` of them for `count` minutes by as many ranges as there are lists of counts.
export function greatestOf({ counts, minutes, count }, width, height) {
  const greatest = new Float64Array(width * height);
  counts.forEach((row, range) => {
    const from = Math.floor(range * height / counts.length) * width;
    row.forEach((value, at) => {
      const place = from + Math.floor(minutes[at] * width / count);
      greatest[place] = Math.max(greatest[place], value);
    });
  });
  return greatest;
}

// 0 for nothing, from 0.15 for one to 1 for `most`, by the logarithm: beside a range that takes a
// thousand a minute one that takes two is still seen.
export function heat(value, most) {
  if (!(value > 0)) return 0;
  return most <= 1 ? 1 : 0.15 + 0.85 * Math.log(Math.max(1, value)) / Math.log(most);
}
