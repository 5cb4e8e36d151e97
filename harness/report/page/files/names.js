// Where the names of points go, so that they cover neither each other nor points.

const LETTER = { width: 6.6, height: 13 }; // of the charts' font, about
const PLOT = { height: 400, margin: 16, beside: 70, widest: 1120 };
const LONGEST_NAME = 22;
const OFFSETS = [
  { dx: 8, dy: -6, align: "left" },
  { dx: 8, dy: 9, align: "left" },
  { dx: -8, dy: -6, align: "right" },
  { dx: -8, dy: 9, align: "right" },
  { dx: 0, dy: -13, align: "center" },
  { dx: 0, dy: 16, align: "center" },
];

/**
 * Give each point its name and a place for it. The important points, which are picks or on the front, come first.
 * A point without room has no name; its tooltip shows it. In a crowd only the important ones are named.
 */
function placeNames(points, scale, important) {
  const width = Math.min(byId("chart").clientWidth, PLOT.widest) - PLOT.beside;
  const across = places(
    points.map((point) => (scale === "log" ? Math.log(point.x) : point.x)),
    width,
  );
  const down = places(
    points.map((point) => -point.y),
    PLOT.height,
  );
  const taken = points.map((_, n) => box(across[n], down[n], { dx: 0, dy: 0, align: "center" }, 1));
  const order = points.map((_, n) => n).toSorted((a, b) => important.has(points[b]) - important.has(points[a]));
  order.forEach((n) => {
    const point = points[n];
    const words = point.learner.length > LONGEST_NAME ? `${point.learner.slice(0, LONGEST_NAME)}…` : point.learner;
    const free = (where) => {
      const there = box(across[n], down[n], where, words.length);
      return there.left >= 0 && there.right <= width && !taken.some((other, m) => m !== n && overlap(other, there));
    };
    const isNamed = points.length <= MOST_NAMED || important.has(point);
    const where = isNamed ? OFFSETS.find(free) : undefined;
    Object.assign(point, where ?? OFFSETS[0], { name: where ? words : "" });
    if (where) taken.push(box(across[n], down[n], where, words.length));
  });
}

/** Numbers as pixels along an axis, about. */
function places(values, length) {
  const least = Math.min(...values);
  const range = Math.max(...values) - least || 1;
  return values.map((value) => PLOT.margin + ((value - least) / range) * (length - 2 * PLOT.margin));
}

function box(x, y, { dx, dy, align }, letters) {
  const width = letters * LETTER.width;
  const left = x + dx - { left: 0, center: width / 2, right: width }[align];
  return { left, right: left + width, top: y + dy - LETTER.height / 2, bottom: y + dy + LETTER.height / 2 };
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
