// Details in words: a learner's trials, failures, published numbers, notes.

function showNotes() {
  byId("headline").textContent = part.headline;
  fill(
    "notes",
    element(
      "ul",
      {},
      part.notes.map((note) => element("li", {}, named(note))),
    ),
  );
}

function showPublished() {
  byId("published-section").hidden = part.published.length === 0;
  fill(
    "published",
    part.published.map((grid) =>
      element(
        "details",
        {},
        element("summary", {}, named(grid.title), ` (${grid.rows.length} numbers)`),
        wordTable(grid.columns, grid.rows),
        grid.footnotes.map((line) => element("p", { class: "status" }, line)),
      ),
    ),
  );
}

// -- one learner

function showLearnerControls() {
  const titles = [...new Set(part.lines.map((line) => line.title))];
  const options = [["", "choose one"], ...titles.map((title) => [title, title])];
  fill(
    "learner-controls",
    chooser("learner", options, state.learner, (value) => change({ learner: value })),
  );
}

function showLearner() {
  const lines = part.lines.filter((line) => line.title === state.learner);
  fill(
    "learner",
    lines.map((line) =>
      element(
        "details",
        { open: lines.length === 1 },
        element("summary", {}, named(datasetOf(line).title)),
        factList(line.facts),
        noticeList(line.notices),
        trialTable(line),
        line.tuning.map(tuningLog),
        line.failures.map(failureText),
      ),
    ),
  );
}

function factList(facts) {
  return element(
    "dl",
    {},
    Object.entries(facts).flatMap(([name, words]) => [element("dt", {}, name), element("dd", {}, named(words))]),
  );
}

function noticeList(notices) {
  return notices.length
    ? element(
        "ul",
        { class: "warning" },
        notices.map((notice) => element("li", {}, named(notice))),
      )
    : null;
}

function trialTable(line) {
  const places = part.metrics.map((_, place) => place).filter((place) => line.values[place].length);
  if (!places.length) return null;
  const rows = line.seeds.map((seed, trial) => [
    `seed ${seed}`,
    ...places.map((place) => sayValue(line.values[place][trial], null, part.metrics[place].unit)),
  ]);
  return wordTable(["trial", ...places.map((place) => part.metrics[place].title)], rows);
}

function tuningLog({ seed, chosen, candidates }) {
  const rows = candidates.map(([params, score, trouble]) => [params, score === null ? "-" : String(score), trouble]);
  return element(
    "details",
    {},
    element("summary", {}, `tuning with seed ${seed}: `, named(chosen)),
    wordTable(["parameters", "score on validation rows", "trouble"], rows),
  );
}

// -- failures

function showFailureList() {
  const failed = part.lines.filter((line) => line.failures.length);
  byId("failures-section").hidden = failed.length === 0;
  fill(
    "failures",
    element(
      "ul",
      {},
      failed.map((line) =>
        element(
          "li",
          {},
          failureButton(line, `${line.title} on ${datasetOf(line).title}`),
          ": ",
          named(line.failures.map((one) => `${one.status}, ${one.message}`).join("; ")),
        ),
      ),
    ),
  );
}

function failureText({ seeds, status, message, traceback, output }) {
  return element(
    "div",
    {},
    element("p", {}, element("strong", {}, status), ` (seeds ${seeds.join(", ")}): `, named(message)),
    traceback ? element("pre", { tabindex: "0" }, traceback) : null,
    output ? element("pre", { tabindex: "0" }, output) : null,
  );
}

function showFailures(line) {
  showDialog(`${line.title} on ${datasetOf(line).title}`, line.failures.map(failureText));
}

function showDialog(title, content) {
  const dialog = byId("dialog");
  dialog.replaceChildren(
    element("h2", { id: "dialog-title" }, named(title)),
    ...[content].flat(),
    button("Close", () => dialog.close()),
  );
  dialog.showModal();
}
