// The answer of one dataset: a card for each need, and a sentence on the statistics.

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
  const about = element("span", { class: titles.length > 1 ? "printed" : null }, " for ", named(dataset.title));
  fill("answer-heading", "Which learner", about, "?");
  fill("cards", dataset.picks.map(pickCard));
  fill("verdict", named(dataset.verdict.join(" ")));
  fill("warnings", warningNotice());
}

function pickCard({ need, learner, kind, quality, costs }) {
  const rows = Object.entries(costs).map(([heading, value]) =>
    element("div", {}, element("dt", {}, heading), element("dd", {}, value)),
  );
  return element(
    "article",
    { class: state.learner === learner ? "card lit" : "card" },
    element("h3", {}, need),
    element("p", { class: "winner" }, learnerButton(learner, `card ${need}`), " ", element("small", {}, kind)),
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

/** The name of a learner, which highlights it everywhere when it is pressed. */
function learnerButton(learner, focus, attributes = {}) {
  const lit = state.learner === learner;
  return button(named(learner), () => change({ learner: lit ? "" : learner }), {
    class: lit ? "name lit" : "name",
    "aria-pressed": String(lit),
    "data-focus": focus,
    ...attributes,
  });
}
