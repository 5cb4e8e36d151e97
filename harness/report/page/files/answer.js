// The answer of one dataset: a card for each need, a sentence on the statistics, and an overview of all datasets.

const HEAT_STEPS = 5;

/** The place of the dataset that cards and figure are about. */
function answerDataset() {
  const place = part.datasets.findIndex((dataset) => dataset.title === figureTitle());
  return place < 0 ? 0 : place;
}

function showAnswer() {
  const dataset = part.datasets[answerDataset()];
  const titles = part.datasets.map((one) => [one.title, one.title]);
  fill(
    "answer-controls",
    titles.length > 1 ? chooser("dataset", titles, dataset.title, (value) => change({ on: value })) : null,
  );
  fill("cards", dataset.picks.map(pickCard));
  fill("verdict", named(dataset.verdict.join(" ")));
  fill("warnings", warningNotice());
}

function pickCard({ need, learner, kind, quality, costs }) {
  const lit = state.learner === learner;
  const name = button(named(learner), () => change({ learner: lit ? "" : learner }), {
    class: "name",
    "aria-pressed": String(lit),
    "data-focus": `card ${need}`,
  });
  const rows = Object.entries(costs).map(([heading, value]) =>
    element("div", {}, element("dt", {}, heading), element("dd", {}, value)),
  );
  return element(
    "article",
    { class: lit ? "card lit" : "card" },
    element("h3", {}, need),
    element("p", { class: "winner" }, name, " ", element("small", {}, kind)),
    element("p", { class: "quality" }, quality),
    element("dl", {}, rows),
  );
}

/** Warnings in one line; the reader opens it for the texts. */
function warningNotice() {
  const warnings = part.notes.filter((note) => /^warning/i.test(note));
  if (!warnings.length) return null;
  const words = warnings.length === 1 ? "1 warning about these measurements" : `${warnings.length} warnings`;
  return element(
    "details",
    { class: "notice" },
    element("summary", {}, words),
    warnings.map((note) => element("p", {}, named(note))),
  );
}

// -- all datasets

/** Learners by datasets: the rank by the first column in each cell, the best average first. */
function showOverview() {
  byId("overview-section").hidden = part.datasets.length < 2;
  if (part.datasets.length < 2) return fill("overview");
  const metric = metricNamed(part.shown[0], part.metrics[0]);
  const place = part.metrics.indexOf(metric);
  const ranks = part.datasets.map((_, dataset) => ranksOn(dataset, place, metric.direction));
  const learners = [...new Set(part.lines.map((line) => line.title))];
  const average = (learner) => mean(ranks.map((found) => found.get(learner)?.rank ?? found.size + 1));
  const averages = new Map(learners.map((learner) => [learner, average(learner)]));
  const ordered = learners.toSorted((a, b) => averages.get(a) - averages.get(b));
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, "learner"),
    element("th", { scope: "col" }, "average rank"),
    part.datasets.map((dataset) => element("th", { scope: "col", class: "turned" }, named(dataset.title))),
  );
  const body = ordered.map((learner) => overviewRow(learner, averages.get(learner), ranks, metric));
  const table = element("table", { class: "heat" }, element("thead", {}, head), element("tbody", {}, body));
  const label = `Rank by ${metric.title} on each dataset`;
  return fill(
    "overview",
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table),
    element("p", { class: "status" }, `${label}; 1 is best. A learner without a result on a dataset counts as last there.`),
    verdictList(),
  );
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Rank and value of each learner that finished on a dataset; equal values share the mean of their ranks. */
function ranksOn(dataset, place, direction) {
  const sign = direction === "higher" ? -1 : 1;
  const lines = part.lines.filter((line) => line.dataset === dataset && line.means[place] !== null);
  const values = lines.map((line) => sign * line.means[place]);
  const rankOf = (value) => {
    const better = values.filter((other) => other < value).length;
    const equal = values.filter((other) => other === value).length;
    return better + (equal + 1) / 2;
  };
  return new Map(lines.map((line, n) => [line.title, { rank: rankOf(values[n]), value: line.means[place] }]));
}

function overviewRow(learner, average, ranks, metric) {
  const lit = state.learner === learner;
  const name = button(named(learner), () => change({ learner: lit ? "" : learner }), {
    class: "name",
    "aria-pressed": String(lit),
    "data-focus": `rank ${learner}`,
  });
  const cells = ranks.map((found) => {
    const one = found.get(learner);
    if (!one) return element("td", { title: "no result" }, "-");
    const step = Math.min(HEAT_STEPS - 1, Math.floor((HEAT_STEPS * (one.rank - 1)) / Math.max(found.size, 1)));
    const words = `${metric.title} ${sayValue(one.value, null, metric.unit)}, ${found.size} learners`;
    return element("td", { class: `heat-${step}`, title: words }, String(one.rank));
  });
  return element(
    "tr",
    { class: lit ? "lit" : null },
    element("th", { scope: "row" }, name),
    element("td", { class: "number" }, average.toFixed(1)),
    cells,
  );
}

function verdictList() {
  const verdicts = part.datasets
    .filter((dataset) => dataset.verdict.length)
    .map((dataset) =>
      element("li", {}, element("strong", {}, named(dataset.title)), ": ", named(dataset.verdict.join(" "))),
    );
  return element("details", { id: "verdicts" }, element("summary", {}, "Verdicts in words"), element("ul", {}, verdicts));
}
