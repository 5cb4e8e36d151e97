// All datasets: the picks of each, and a heat map of the ranks of learners.

const HEAT_STEPS = 5;
const MOST_RANKED = 20;

function showOverview() {
  byId("overview-section").hidden = part.datasets.length < 2;
  if (part.datasets.length < 2) return ["picks", "ranks", "verdict-list"].forEach((id) => fill(id));
  fill("picks", picksTable());
  fill("ranks", heatMap());
  return fill("verdict-list", verdictList());
}

/** The name of a dataset, which shows its cards and its figure when it is pressed. */
function datasetButton(title, focus) {
  const choose = () => {
    change({ on: title });
    byId("answer-heading").scrollIntoView();
  };
  return button(named(title), choose, { class: "name", "data-focus": focus });
}

// -- picks

/** A row for each dataset, a column for each need. */
function picksTable() {
  const answered = part.datasets.filter((dataset) => dataset.picks.length);
  const needs = [...new Set(answered.flatMap((dataset) => dataset.picks.map((pick) => pick.need)))];
  if (!needs.length) return null;
  const head = ["dataset", ...needs].map((words) => element("th", { scope: "col" }, words));
  const body = answered.map((dataset) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, datasetButton(dataset.title, `answer ${dataset.title}`)),
      needs.map((need) => pickCell(dataset, need)),
    ),
  );
  const table = element(
    "table",
    { class: "picks" },
    element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, body),
  );
  return scrolling("Picks of each dataset", table);
}

function pickCell({ title, picks }, need) {
  const pick = picks.find((one) => one.need === need);
  if (!pick) return element("td", { "data-label": need }, "-");
  return element(
    "td",
    { "data-label": need, class: pick.learner === state.learner ? "lit" : null },
    learnerButton(pick.learner, `pick ${need} ${title}`),
    element("small", {}, pick.reason),
  );
}

function scrolling(label, table) {
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
}

// -- ranks

/** Learners by datasets: the rank by the first column in each cell, the best average first. */
function heatMap() {
  const metric = metricNamed(part.shown[0], part.metrics[0]);
  const place = part.metrics.indexOf(metric);
  const ranks = part.datasets.map((_, dataset) => ranksOn(dataset, place, metric.direction));
  const learners = [...new Set(part.lines.map((line) => line.title))];
  const average = (learner) => mean(ranks.map((found) => found.get(learner)?.rank ?? found.size + 1));
  const averages = new Map(learners.map((learner) => [learner, average(learner)]));
  const ordered = learners.toSorted((a, b) => averages.get(a) - averages.get(b));
  const shown = ordered.filter((learner, n) => state.ranked || n < MOST_RANKED || learner === state.learner);
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, "learner"),
    element("th", { scope: "col" }, "average rank"),
    part.datasets.map(({ title }) =>
      element("th", { scope: "col" }, element("div", { class: "turned" }, datasetButton(title, `rank on ${title}`))),
    ),
  );
  const body = shown.map((learner) => rankRow(learner, averages.get(learner), ranks, metric));
  const table = element("table", { class: "heat" }, element("thead", {}, head), element("tbody", {}, body));
  const label = `Rank by ${metric.title} on each dataset`;
  return [
    scrolling(label, table),
    shown.length < ordered.length
      ? button(`Show all ${ordered.length} learners`, () => change({ ranked: "yes" }))
      : null,
    element("p", { class: "status" }, `${label}; 1 is best. A learner without a result on a dataset counts as last there.`),
  ];
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

function rankRow(learner, average, ranks, metric) {
  const cells = ranks.map((found) => {
    const one = found.get(learner);
    if (!one) return element("td", { title: "no result" }, "-");
    const step = Math.min(HEAT_STEPS - 1, Math.floor((HEAT_STEPS * (one.rank - 1)) / Math.max(found.size, 1)));
    const words = `${metric.title} ${sayValue(one.value, null, metric.unit)}, ${found.size} learners`;
    return element("td", { class: `heat-${step}`, title: words }, String(one.rank));
  });
  return element(
    "tr",
    { class: state.learner === learner ? "lit" : null },
    element("th", { scope: "row" }, learnerButton(learner, `rank ${learner}`)),
    element("td", { class: "number" }, average.toFixed(1)),
    cells,
  );
}

// -- verdicts

function verdictList() {
  const verdicts = part.datasets
    .filter((dataset) => dataset.verdict.length)
    .map((dataset) =>
      element("li", {}, element("strong", {}, named(dataset.title)), ": ", named(dataset.verdict.join(" "))),
    );
  return element("details", { id: "verdicts" }, element("summary", {}, "Verdicts in words"), element("ul", {}, verdicts));
}
