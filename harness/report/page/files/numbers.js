// Numbers as the text tables write them: 0.862 ± 0.004, 31 min, 226k. The scales come with the data.

let scales = {};

/** Those of axes, in steps of a thousand: what is round in seconds would not be so in minutes. */
const tickScales = {
  seconds: [[1, " s"], [1e-3, " ms"], [1e-6, " µs"], [1e-9, " ns"]],
  bytes: [[1e9, " GB"], [1e6, " MB"], [1e3, " kB"], [1, " bytes"]],
};

function scaleOf(size, unit) {
  const known = Object.hasOwn(scales, unit) ? scales[unit] : [[1, ""]];
  return known.find(([scale]) => size >= scale) ?? known[known.length - 1];
}

function digitsOf(size, unit) {
  if (unit === "share") return 3;
  if (size >= 100) return 0;
  if (size >= 10) return 1;
  return size >= 1 || size === 0 ? 2 : 3;
}

/** So many digits behind the point, rounded as Python does it: what lies exactly between two goes to the even one. */
function fixed(value, digits) {
  const exact = value.toFixed(digits + 40);
  const above = value.toFixed(digits);
  const isTie = /^50*$/.test(exact.slice(-40));
  return isTie && /[13579]$/.test(above) ? exact.slice(0, -40).replace(/\.$/, "") : above;
}

/** Mean ± spread in a unit; without a spread the mean alone. */
function sayValue(mean, spread, unit) {
  if (mean === null || mean === undefined) return "-";
  const [scale, suffix] = scaleOf(Math.abs(mean), unit);
  const digits = digitsOf(Math.abs(mean / scale), unit);
  const said = fixed(mean / scale, digits);
  if (spread === null || spread === undefined) return said + suffix;
  return `${said} ± ${fixed(spread / scale, digits)}${suffix}`;
}

/** A logarithmic axis has a tick for each digit: only 1, 2 and 5 of each decade have words and a line. */
function roundTicks(unit) {
  const digit = "round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))";
  const test = `indexof([1, 2, 5], ${digit}) >= 0`;
  const opacity = { condition: { test, value: 1 }, value: 0 };
  return { labelExpr: `${test} ? (${tickWords(unit)}) : ''`, gridOpacity: opacity, tickOpacity: opacity };
}

/** One scale of a unit as a part of such an expression; the last one is for all that is smaller, and nothing for 0. */
function scaledTick([scale, suffix], place, scales) {
  const words = `format(datum.value / ${scale}, ',.4~r') + '${suffix}'`;
  if (place < scales.length - 1) return `datum.value >= ${scale} ? ${words} : `;
  return `datum.value > 0 ? ${words} : '0'`;
}

/** How an axis writes its ticks, as an expression of Vega. */
function tickWords(unit) {
  if (Object.hasOwn(tickScales, unit)) return tickScales[unit].map(scaledTick).join("");
  if (unit === "count") return "datum.value < 1 ? format(datum.value, '~g') : format(datum.value, '~s')";
  return "format(datum.value, '~g')";
}
