// The figures: which there are, what is chosen of them, and how a chart's template is filled and drawn.

const FIGURES = {
  pareto: { title: "Score against cost", draw: drawPareto, x: true, onData: true },
  bars: { title: "Bars", draw: drawBars, onData: true },
  curve: { title: "By pass", draw: drawSeries, onData: true },
  sweep: { title: "By a parameter", draw: drawSeries, onData: true },
  scaling: { title: "By the size of the data", draw: drawSeries, onData: true },
  coverage: { title: "Accuracy on the surest rows", draw: drawSeries, onData: true },
  frequency: { title: "R1 by class frequency", draw: drawSeries, onData: true },
  levels: { title: "By level of the class tree", draw: drawSeries, onData: true },
  ranks: { title: "Average ranks over datasets", draw: drawRanks },
};
const MOST_NAMED = 30; // points that have their names beside them, series that have theirs in a legend
const MOST_BANDS = 4;
let chartView = null;
let drawnLearners = new Set();
let drawing = 0;

function availableFigures() {
  const kinds = new Set(part.figures.map((figure) => figure.kind));
  return Object.keys(FIGURES).filter(
    (name) => ["pareto", "bars"].includes(name) || kinds.has(name) || (name === "ranks" && part.ranks.length > 0),
  );
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

/** What stands along the bottom: the reader's choice, or the first time, or something else of which less is better. */
function metricX() {
  const costs = part.shown.map((name) => metricNamed(name)).filter((metric) => metric.direction === "lower");
  const time = costs.find((metric) => metric.unit === "seconds");
  return metricNamed(state.x, time ?? costs[0] ?? part.metrics.at(-1));
}

function figureDataset() {
  return part.datasets.findIndex((dataset) => dataset.title === figureTitle());
}

function figureLines() {
  const place = figureDataset();
  return filteredLines().filter((line) => line.dataset === place);
}

// -- filling templates

function template(name, datasets) {
  const spec = structuredClone(templates[name]);
  spec.datasets = datasets;
  spec.width = "container";
  spec.height = 400;
  spec.background = null;
  const kinds = new Set(
    Object.values(datasets)
      .flat()
      .map((row) => row.kind),
  );
  for (const { encoding } of spec.layer) {
    if (encoding.color?.field === "kind")
      encoding.color.legend.values = encoding.color.scale.domain.filter((kind) => kinds.has(kind));
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
    if (type === "log") Object.assign(encoding.axis, roundTicks(unit));
  }
}

/** Colours as variables of the style sheet, which follow the theme and turn to black on white in print. */
function chartColours() {
  const [ink, faint] = ["var(--ink)", "var(--line)"];
  const letters = { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 13 };
  return {
    axis: { ...letters, gridColor: faint, domainColor: faint, tickColor: faint },
    legend: letters,
    text: { color: ink, fontSize: 12 },
    view: { stroke: null },
    font: "system-ui, sans-serif",
  };
}

async function showFigure() {
  const number = ++drawing;
  const { spec, count, caption } = FIGURES[currentFigure()].draw();
  byId("figures-heading").textContent = FIGURES[currentFigure()].title;
  byId("chart-caption").textContent = count ? caption : "Nothing to draw for this choice.";
  chartView?.finalize();
  chartView = null;
  if (!count) return fill("chart");
  const options = {
    ast: true,
    actions: false,
    renderer: "svg",
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
    config: chartColours(),
  };
  spec.description = `${FIGURES[currentFigure()].title}: ${caption}`;
  const rows = Object.values(spec.datasets).flat();
  drawnLearners = new Set(rows.flatMap((row) => [row.learner, row.family]));
  const holder = element("div", { class: "chart" });
  fill("chart", holder);
  const { view } = await window.vegaEmbed(holder, spec, options);
  if (number !== drawing) return view.finalize(); // the reader has chosen something else meanwhile
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
  const controls = [
    chooser(
      "figure",
      availableFigures().map((name) => [name, FIGURES[name].title]),
      figure,
      (value) => change({ figure: value, x: "" }),
    ),
  ];
  const titles = figureTitles();
  const isDataset = titles.every((title) => part.datasets.some((dataset) => dataset.title === title));
  if (FIGURES[figure].onData && titles.length > 1 && !isDataset) {
    controls.push(
      chooser(
        "on",
        titles.map((title) => [title, title]),
        figureTitle(),
        (value) => change({ on: value }),
      ),
    );
  }
  const metrics = part.metrics.map((metric) => [metric.name, metric.title]);
  const drawn = new Set((figure === "ranks" ? part.ranks : seriesFigures()).map((one) => one.metric));
  const up = drawn.size ? metrics.filter(([name]) => drawn.has(name)) : metrics;
  controls.push(chooser("y", up, metricY().name, (value) => change({ y: value })));
  if (FIGURES[figure].x) controls.push(chooser("x", metrics, metricX().name, (value) => change({ x: value })));
  const bottoms = ["sweep", "scaling"].includes(figure) ? [...new Set(seriesFigures().map((one) => one.x_title))] : [];
  if (bottoms.length > 1) {
    const chosen = bottoms.includes(state.x) ? state.x : bottoms[0];
    controls.push(
      chooser(
        "x",
        bottoms.map((title) => [title, title]),
        chosen,
        (value) => change({ x: value }),
      ),
    );
  }
  fill("figure-controls", controls);
}
