// The figures: each takes the table's own numbers, or a figure that came with the data, and fills a chart's template.

const FIGURES = {
  pareto: { title: "score against cost", draw: drawPareto, x: true, onData: true },
  bars: { title: "bars", draw: drawBars, onData: true },
  curve: { title: "by pass", draw: drawSeries, onData: true },
  sweep: { title: "by a parameter", draw: drawSeries, onData: true },
  scaling: { title: "by the size of the data", draw: drawSeries },
  coverage: { title: "accuracy on the surest rows", draw: drawSeries, onData: true },
  ranks: { title: "average ranks over data sets", draw: drawRanks },
};
const MOST_NAMED = 30;  // points that have their names beside them, series that have theirs in a legend
const MOST_BANDS = 4;
let chartView = null;
let drawnLearners = new Set();
let drawing = 0;

function availableFigures() {
  const kinds = new Set(part.figures.map((figure) => figure.kind));
  return Object.keys(FIGURES).filter((name) => ["pareto", "bars"].includes(name) || kinds.has(name)
    || (name === "ranks" && part.ranks.length > 0));
}

function currentFigure() {
  return availableFigures().includes(state.figure) ? state.figure : "pareto";
}

function metricNamed(name, fallback) {
  return part.metrics.find((metric) => metric.name === name) ?? fallback;
}

/** What stands up the side: the reader's choice, or the first column. */
function metricY() {
  return metricNamed(state.y, metricNamed(part.shown[0], part.metrics[0]));
}

/** What stands along the bottom: the reader's choice, or the first cost, something of which less is better. */
function metricX() {
  const costs = part.shown.map((name) => metricNamed(name)).filter((metric) => metric.direction === "lower");
  return metricNamed(state.x, costs[0] ?? part.metrics.at(-1));
}

function figureDataset() {
  return part.datasets.findIndex((dataset) => dataset.title === figureTitle());
}

function figureLines() {
  const place = figureDataset();
  return filteredLines().filter((line) => line.dataset === place);
}

// -- data for the charts

/** Score against cost over the trials that all have, as the table's marks compare them. */
function drawPareto() {
  const [across, up] = [metricX(), metricY()].map((metric) => part.metrics.indexOf(metric));
  const lines = figureLines().filter((line) => line.values[across].length && line.values[up].length);
  const seeds = sharedSeeds(lines, [across, up]);
  const points = lines.map((line) => ({ ...learnerOf(line), x: meanOver(line, across, seeds), y: meanOver(line, up, seeds) }))
    .filter((point) => point.x !== null && point.y !== null);
  for (const point of points) {
    point.name = points.length <= MOST_NAMED ? point.learner : "";
    point.told_x = sayValue(point.x, null, metricX().unit);
    point.told_y = sayValue(point.y, null, metricY().unit);
  }
  const spec = template("pareto", { points, front: paretoFront(points, metricX(), metricY()) });
  setAxis(spec, "x", metricX().title, metricX().unit, scaleFor(points.map((point) => point.x), 4));
  setAxis(spec, "y", metricY().title, metricY().unit, "linear");
  const few = seeds.size ? `, ${seeds.size} trials that all have` : "";
  return { spec, count: points.length, caption: `${part.datasets[figureDataset()].title}${few}; dashed: what no other one beats in both` };
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

/** The points that no other one equals or beats in both while beating it in one, in the order of x. */
function paretoFront(points, across, up) {
  const signs = [across, up].map((metric) => (metric.direction === "higher" ? 1 : -1));
  const beats = (a, b) => {
    const gains = [signs[0] * (a.x - b.x), signs[1] * (a.y - b.y)];
    return Math.min(...gains) >= 0 && Math.max(...gains) > 0;
  };
  const front = points.filter((point) => !points.some((other) => beats(other, point)));
  return front.map(({ x, y }) => ({ x, y })).toSorted((a, b) => a.x - b.x);
}

function scaleFor(values, wide) {
  const least = Math.min(...values);
  return least > 0 && Math.max(...values) > wide * least ? "log" : "linear";
}

function drawBars() {
  const metric = metricY();
  const place = part.metrics.indexOf(metric);
  const rows = figureLines().filter((line) => line.means[place] !== null).map((line) => ({ ...learnerOf(line),
    y: line.means[place], told_x: metric.title, told_y: sayValue(line.means[place], line.spreads[place], metric.unit) }));
  const values = rows.map((row) => row.y);
  const scale = metric.unit === "share" ? "linear" : scaleFor(values, 20);
  const low = scale === "log" ? Math.min(...values) / 2 : 0;
  rows.forEach((row) => { row.low = low; });
  const spec = template("bars", { rows });
  setAxis(spec, "x", metric.title, metric.unit, scale, scale === "log" ? { domainMin: low } : { zero: true });
  spec.height = 20 * rows.length;
  return { spec, count: rows.length, caption: `${part.datasets[figureDataset()].title}; mean ± standard deviation over trials` };
}

/** What the figure may be of: the data sets, or where it came with the data, what there is of its kind. */
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
  if (figure.series.length > MOST_NAMED) spec.layer.forEach((layer) => { layer.encoding.color.legend = null; });
  setAxis(spec, "x", figure.x_title, figure.x_unit || "share", figure.x_scale);
  setAxis(spec, "y", figure.y_title, figure.y_unit, figure.y_scale);
  return { spec, count: points.length, caption: `${figure.title}; bands: ± standard deviation over trials` };
}

function seriesPoints(one, figure) {
  const learner = one.note ? `${one.label}, ${one.note}` : one.label;
  return one.x.map((x, place) => {
    const [y, spread] = [one.y[place], one.spread[place]];
    const low = figure.y_scale === "log" && y - spread <= 0 ? y : y - spread;
    return { learner, family: one.label, kind: one.kind, x, y, low, high: y + spread,
      told_x: String(x), told_y: sayValue(y, spread, figure.y_unit) };
  });
}

function drawRanks() {
  const found = part.ranks.find((one) => one.metric === metricY().name) ?? part.ranks[0];
  const half = found.difference / 2;
  const rows = Object.entries(found.ranks).map(([learner, rank]) => ({ learner, family: learner, x: rank, low: rank - half,
    high: rank + half, told_x: rank.toFixed(2), told_y: learner }));
  const spec = template("ranks", { rows });
  setAxis(spec, "x", `average rank by ${metricNamed(found.metric).title} (1 is best)`, "share", "linear");
  spec.height = 34 * rows.length;
  const leftOut = found.left_out.length ? `; left out, not being on all data sets: ${found.left_out.join(", ")}` : "";
  const caption = `${found.n_datasets} data sets, Friedman p = ${found.p_value.toPrecision(2)}, critical difference `
    + `${found.difference.toFixed(2)} (Nemenyi, 5%): learners whose bars overlap cannot be told apart${leftOut}`;
  return { spec, count: rows.length, caption };
}

// -- filling templates

function template(name, datasets) {
  const spec = structuredClone(templates[name]);
  spec.datasets = datasets;
  spec.width = "container";
  spec.height = 340;
  spec.background = null;
  const kinds = new Set(Object.values(datasets).flat().map((row) => row.kind));
  for (const { encoding } of spec.layer) {
    if (encoding.color?.field === "kind") encoding.color.legend.values = encoding.color.scale.domain.filter((kind) => kinds.has(kind));
  }
  spec.autosize = { type: "fit-x", contains: "padding" };
  return spec;
}

/** Title, ticks and scale of one axis, in all layers that have it. */
function setAxis(spec, channel, title, unit, type, more = {}) {
  for (const layer of spec.layer) {
    const encoding = layer.encoding[channel];
    if (!encoding) continue;
    encoding.title = title;
    encoding.scale = { ...encoding.scale, ...more, type };
    if (type === "log") delete encoding.scale.zero;
    encoding.axis = { ...encoding.axis, labelExpr: tickWords(unit), tickCount: 6 };
  }
}

function chartColours() {
  const ink = getComputedStyle(document.body).getPropertyValue("color");
  const faint = getComputedStyle(document.body).getPropertyValue("--line");
  return { axis: { labelColor: ink, titleColor: ink, gridColor: faint, domainColor: faint, tickColor: faint },
    legend: { labelColor: ink, titleColor: ink }, text: { color: ink }, view: { stroke: null },
    font: "system-ui, sans-serif" };
}

async function showFigure() {
  const number = ++drawing;
  const { spec, count, caption } = FIGURES[currentFigure()].draw();
  byId("chart-caption").textContent = count ? caption : "Nothing to draw of what is chosen.";
  chartView?.finalize();
  chartView = null;
  if (!count) return fill("chart");
  const options = { ast: true, actions: false, renderer: "svg",
    defaultStyle: false, tooltip: { disableDefaultStyle: true }, config: chartColours() };
  spec.description = `${FIGURES[currentFigure()].title}: ${caption}`;
  const rows = Object.values(spec.datasets).flat();
  drawnLearners = new Set(rows.flatMap((row) => [row.learner, row.family]));
  const holder = element("div", { class: "chart" });
  fill("chart", holder);
  const { view } = await window.vegaEmbed(holder, spec, options);
  if (number !== drawing) return view.finalize();  // the reader has chosen something else meanwhile
  chartView = view;
  view.addEventListener("click", (_, item) => {
    const names = [item?.datum?.learner, item?.datum?.family];
    const learner = names.find((name) => part.lines.some((line) => line.title === name));
    if (learner) change({ learner: learner === state.learner ? "" : learner });
  });
  return lightUp();
}

/** Show the chosen learner in the figure without drawing it anew. */
function lightUp() {
  if (!chartView) return;
  const line = part.lines.find((one) => one.title === state.learner);
  const name = [state.learner, line?.family].find((one) => drawnLearners.has(one)) ?? "";
  chartView.signal("chosen", name).run();
}

function showFigureControls() {
  const figure = currentFigure();
  const controls = [chooser("figure", availableFigures().map((name) => [name, FIGURES[name].title]), figure,
    (value) => change({ figure: value, x: "" }))];
  const titles = figureTitles();
  if (FIGURES[figure].onData && titles.length > 1) {
    controls.push(chooser("on", titles.map((title) => [title, title]), figureTitle(), (value) => change({ on: value })));
  }
  const metrics = part.metrics.map((metric) => [metric.name, metric.title]);
  const drawn = new Set((figure === "ranks" ? part.ranks : seriesFigures()).map((one) => one.metric));
  const up = drawn.size ? metrics.filter(([name]) => drawn.has(name)) : metrics;
  controls.push(chooser("y", up, metricY().name, (value) => change({ y: value })));
  if (FIGURES[figure].x) controls.push(chooser("x", metrics, metricX().name, (value) => change({ x: value })));
  const bottoms = ["sweep", "scaling"].includes(figure) ? [...new Set(seriesFigures().map((one) => one.x_title))] : [];
  if (bottoms.length > 1) {
    const chosen = bottoms.includes(state.x) ? state.x : bottoms[0];
    controls.push(chooser("x", bottoms.map((title) => [title, title]), chosen, (value) => change({ x: value })));
  }
  fill("figure-controls", controls);
}
