// Numbers as the text tables write them: 0.862 ± 0.004, 31 min, 226k. The scales come with the data.

let scales = {};

function scaleOf(size, unit) {
  const known = scales[unit] ?? [[1, ""]];
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

/** The same on a logarithmic axis, which has a tick for each digit: only 1, 2 and 5 of each decade have words. */
function roundTickWords(unit) {
  const digit = "round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))";
  return `indexof([1, 2, 5], ${digit}) >= 0 ? (${tickWords(unit)}) : ''`;
}

/** How an axis writes its ticks, as an expression of Vega. */
function tickWords(unit) {
  if (unit === "seconds")
    return "datum.value >= 1 ? format(datum.value, ',~f') + ' s' : format(datum.value, '~s') + 's'";
  if (unit === "bytes") return "format(datum.value, '~s') + 'B'";
  if (unit === "count") return "datum.value < 1 ? format(datum.value, '~g') : format(datum.value, '~s')";
  return "format(datum.value, '~g')";
}
