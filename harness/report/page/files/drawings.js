// What the charts show: the table's own numbers for what is chosen, or a figure that came with the data.

const WIDE = 20; // positive numbers that spread over more than this factor get a logarithmic axis
const WIDE_COSTS = 4; // of costs it is ratios that matter
const FEW_POINTS = 8; // with fewer points, none is left out as an outlier
const OUTLIER_SPREADS = 3; // interquartile ranges below the lower quartile

/** Score against cost over the trials that all learners share, as the table's marks compare them. */
function drawPareto() {
  const [across, up] = [metricX(), metricY()].map((metric) => part.metrics.indexOf(metric));
  const lines = figureLines().filter((line) => line.values[across].length && line.values[up].length);
  const seeds = sharedSeeds(lines, [across, up]);
  const all = lines
    .map((line) => ({ ...learnerOf(line), x: meanOver(line, across, seeds), y: meanOver(line, up, seeds) }))
    .filter((point) => point.x !== null && point.y !== null);
  const points = withoutOutliers(all, metricY());
  const costs = points.map((point) => point.x);
  const scale = scaleFor(costs, WIDE_COSTS);
  const picks = new Set(part.datasets[figureDataset()].picks.map((pick) => pick.learner));
  const picked = points.filter((point) => picks.has(point.learner));
  placeNames(points, scale, new Set([...picked, ...frontPoints(points, metricX(), metricY())]));
  for (const point of points) {
    point.told_x = sayValue(point.x, null, metricX().unit);
    point.told_y = sayValue(point.y, null, metricY().unit);
  }
  const spec = template("pareto", { points, front: frontSteps(points, metricX(), metricY()) });
  setAxis(spec, "x", metricX().title, metricX().unit, scale);
  setAxis(spec, "y", metricY().title, metricY().unit, "linear");
  return { spec, count: points.length, caption: paretoCaption(seeds.size, all.filter((point) => !points.includes(point))) };
}

function paretoCaption(trials, outliers) {
  const parts = [part.datasets[figureDataset()].title];
  if (trials) parts.push(trials === 1 ? "one trial" : `mean over ${trials} shared trials`);
  parts.push("dashed: the Pareto front");
  if (outliers.length) parts.push(`far below, not shown: ${outliers.map((point) => point.learner).join(", ")}`);
  return parts.join("; ");
}

/** The points without those far below the others: a baseline must not flatten the differences that matter. */
function withoutOutliers(points, { direction, unit }) {
  if (points.length < FEW_POINTS || direction !== "higher" || unit !== "share") return points;
  const sorted = points.map((point) => point.y).toSorted((a, b) => a - b);
  const [low, high] = [0.25, 0.75].map((share) => sorted[Math.floor(share * (sorted.length - 1))]);
  const least = low - OUTLIER_SPREADS * Math.max(high - low, 0.01);
  return points.filter((point) => point.y >= least);
}

function learnerOf(line) {
  return { learner: line.title, family: line.family, kind: line.kind };
}

function sharedSeeds(lines, places) {
  let shared = null;
  for (const line of lines) {
    const seeds = line.seeds.filter((_, trial) => places.every((place) => line.values[place][trial] !== null));
    if (seeds.length) shared = new Set(seeds.filter((seed) => shared === null || shared.has(seed)));
  }
  return shared ?? new Set();
}

function meanOver(line, place, seeds) {
  const values = line.values[place].filter((value, trial) => value !== null && seeds.has(line.seeds[trial]));
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

/** The points that no other one equals or beats in both while beating it in one. */
function frontPoints(points, across, up) {
  const signs = [across, up].map((metric) => (metric.direction === "higher" ? 1 : -1));
  const beats = (a, b) => {
    const gains = [signs[0] * (a.x - b.x), signs[1] * (a.y - b.y)];
    return Math.min(...gains) >= 0 && Math.max(...gains) > 0;
  };
  return points.filter((point) => !points.some((other) => beats(other, point)));
}

/** The front as a border in steps, from below its first point to the far edge: also where one point beats all others. */
function frontSteps(points, across, up) {
  let front = frontPoints(points, across, up)
    .map(({ x, y }) => ({ x, y }))
    .toSorted((a, b) => a.x - b.x);
  if (front.length && across.direction !== "higher" && up.direction === "higher") {
    const lowest = Math.min(...points.map((point) => point.y));
    const farthest = Math.max(...points.map((point) => point.x));
    front = [{ x: front[0].x, y: lowest }, ...front, { x: farthest, y: front.at(-1).y }];
  }
  return front.map((point, place) => ({ ...point, place }));
}

function scaleFor(values, wide) {
  const least = Math.min(...values);
  return least > 0 && Math.max(...values) > wide * least ? "log" : "linear";
}

function drawBars() {
  const metric = metricY();
  const place = part.metrics.indexOf(metric);
  const rows = figureLines()
    .filter((line) => line.means[place] !== null)
    .map((line) => ({
      ...learnerOf(line),
      y: line.means[place],
      told_x: metric.title,
      told_y: sayValue(line.means[place], line.spreads[place], metric.unit),
    }));
  const values = rows.map((row) => row.y);
  const scale = metric.unit === "share" ? "linear" : scaleFor(values, WIDE);
  const low = scale === "log" ? Math.min(...values) / 2 : 0;
  rows.forEach((row) => {
    row.low = low;
  });
  const spec = template("bars", { rows });
  setAxis(spec, "x", metric.title, metric.unit, scale, scale === "log" ? { domainMin: low } : { zero: true });
  spec.height = 20 * rows.length;
  return {
    spec,
    count: rows.length,
    caption: `${part.datasets[figureDataset()].title}; mean ± standard deviation over trials`,
  };
}

/** What the figure may be of: the datasets, or where it came with the data, what there is of its kind. */
function figureTitles() {
  const titles = part.figures.filter((figure) => figure.kind === currentFigure()).map((figure) => figure.title);
  return titles.length ? [...new Set(titles)] : part.datasets.map((dataset) => dataset.title);
}

function figureTitle() {
  const titles = figureTitles();
  return [state.on, state.dataset].find((title) => titles.includes(title)) ?? titles[0];
}

function seriesFigures() {
  return part.figures.filter((figure) => figure.kind === currentFigure() && figure.title === figureTitle());
}

function drawSeries() {
  const all = seriesFigures();
  const ofMetric = all.filter((figure) => figure.metric === metricY().name);
  const figure = ofMetric.find((one) => one.x_title === state.x) ?? ofMetric[0] ?? all[0];
  if (!figure) return { spec: null, count: 0, caption: "" };
  const names = new Set(filteredLines().flatMap((line) => [line.title, line.family]));
  const shown = (label) => [label, label.split(" (")[0], label.split("(")[0]].some((name) => names.has(name));
  const points = figure.series.filter((one) => shown(one.label)).flatMap((one) => seriesPoints(one, figure));
  const spec = template("series", { points });
  spec.params.find((param) => param.name === "few").value = figure.series.length <= MOST_BANDS;
  if (figure.series.length > MOST_NAMED)
    spec.layer.forEach((layer) => {
      layer.encoding.color.legend = null;
    });
  setAxis(spec, "x", figure.x_title, figure.x_unit || "share", figure.x_scale);
  if (figure.integer_x) spec.layer.forEach((layer) => (layer.encoding.x.axis.values = wholeTicks(points)));
  setAxis(spec, "y", figure.y_title, figure.y_unit, figure.y_scale);
  return { spec, count: points.length, caption: `${figure.title}; bands: ± standard deviation over trials` };
}

function seriesPoints(one, figure) {
  const learner = one.note ? `${one.label}, ${one.note}` : one.label;
  return one.x.map((x, place) => {
    const [y, spread] = [one.y[place], one.spread[place]];
    const [low, high] = bandAround(y, spread, figure);
    return {
      learner,
      family: one.label,
      kind: one.kind,
      x,
      y,
      low,
      high,
      told_x: String(x),
      told_y: sayValue(y, spread, figure.y_unit),
    };
  });
}

/** A band ends where no value can be: at nothing on a logarithmic axis, at all and nothing of a share. */
function bandAround(y, spread, { y_scale, y_unit }) {
  const [low, high] = [y - spread, y + spread];
  if (y_scale === "log" && low <= 0) return [y, high];
  return y_unit === "share" ? [Math.max(low, 0), Math.min(high, 1)] : [low, high];
}

/** Whole numbers along an axis, a few. */
function wholeTicks(points) {
  const [least, most] = [Math.min, Math.max].map((end) => end(...points.map((point) => point.x)));
  const step = Math.max(1, Math.ceil((most - least) / 12));
  return Array.from({ length: Math.floor((most - least) / step) + 1 }, (_, n) => least + n * step);
}

function drawRanks() {
  const found = part.ranks.find((one) => one.metric === metricY().name) ?? part.ranks[0];
  const half = found.difference / 2;
  const rows = Object.entries(found.ranks).map(([learner, rank]) => ({
    learner,
    family: learner,
    x: rank,
    low: rank - half,
    high: rank + half,
    told_x: rank.toFixed(2),
    told_y: learner,
  }));
  const spec = template("ranks", { rows });
  setAxis(spec, "x", `average rank by ${metricNamed(found.metric).title} (1 is best)`, "share", "linear");
  spec.height = 34 * rows.length;
  const leftOut = found.left_out.length ? `; left out, not being on all datasets: ${found.left_out.join(", ")}` : "";
  const caption =
    `${found.n_datasets} datasets, Friedman p = ${found.p_value.toPrecision(2)}, critical difference ` +
    `${found.difference.toFixed(2)} (Nemenyi, 5%): learners whose bars overlap cannot be told apart${leftOut}`;
  return { spec, count: rows.length, caption };
}
