// The table: which lines and columns are shown, in which order, and their cells.

const MOST_ROWS = 200;
const FILTERS = {
  kind: (line) => line.kind,
  dataset: (line) => datasetOf(line).title,
  representation: (line) => line.representation,
};

function datasetOf(line) {
  return part.datasets[line.dataset];
}

function chosenMetrics() {
  const names = state.metrics ? state.metrics.split(";") : part.shown;
  const places = names.map((name) => part.metrics.findIndex((metric) => metric.name === name));
  return places.filter((place) => place >= 0);
}

/** The lines that the filters let through. */
function filteredLines() {
  const sought = state.find.toLowerCase();
  return part.lines.filter(
    (line) =>
      line.title.toLowerCase().includes(sought) &&
      Object.entries(FILTERS).every(([name, read]) => !state[name] || read(line) === state[name]),
  );
}

/** The same in the order asked for, dataset by dataset: numbers on two datasets are not to be compared. */
function sortedLines() {
  const lines = filteredLines();
  if (!state.sort) return lines;
  const down = state.sort.startsWith("-");
  const read = sortKey(state.sort.replace("-", ""));
  const compare = (a, b) =>
    a.dataset - b.dataset || missingLast(read(a), read(b)) || inOrder(read(a), read(b)) * (down ? -1 : 1);
  return lines.toSorted(compare);
}

function sortKey(name) {
  if (name === "learner") return (line) => line.title;
  if (name === "kind") return (line) => line.kind;
  if (name === "trials") return (line) => line.seeds.length;
  const place = part.metrics.findIndex((metric) => metric.name === name);
  return (line) => line.means[place] ?? null;
}

function missingLast(a, b) {
  return (a === null) - (b === null);
}

function inOrder(a, b) {
  return typeof a === "string" ? a.localeCompare(b) : a - b;
}

/** Sort by a column: better first, then worse first, then as it was. */
function sortBy(name) {
  const metric = part.metrics.find((one) => one.name === name);
  const first = metric?.direction === "higher" ? `-${name}` : name;
  const second = first === name ? `-${name}` : name;
  const next = { __proto__: null, [first]: second, [second]: "" };
  change({ sort: next[state.sort] ?? first });
}

function cellWords(line, place) {
  const unit = part.metrics[place].unit;
  if (line.failed) return line.failed;
  if (state.show === "trials") return line.values[place].map((value) => sayValue(value, null, unit)).join("  ") || "-";
  return sayValue(line.means[place], state.show === "sd" ? line.spreads[place] : null, unit);
}

/** The table as it is shown, as rows of {text, value, best}. */
function tableCells() {
  const places = chosenMetrics();
  const head = ["dataset", "learner", "kind", "trials", ...places.map((place) => part.metrics[place].title)];
  const body = sortedLines().map((line) => [
    ...[datasetOf(line).title, line.title, line.kind, line.trials].map((text) => ({ text })),
    ...places.map((place) => ({
      text: cellWords(line, place),
      value: state.show === "trials" ? null : line.means[place],
      best: line.best.includes(place),
    })),
  ]);
  return [head.map((text) => ({ text })), ...body];
}

function showTable() {
  const places = chosenMetrics();
  const lines = sortedLines();
  const shown = state.all ? lines : lines.slice(0, MOST_ROWS);
  const caption = element("caption", { class: "unseen" }, part.headline);
  const table = element("table", { class: "results" }, caption, tableHead(places));
  for (const [dataset, members] of groupBy(shown, (line) => line.dataset)) {
    table.append(datasetBody(part.datasets[dataset], members, places));
  }
  const more =
    shown.length < lines.length ? button(`Show all ${lines.length} rows`, () => change({ all: "yes" })) : null;
  fill("table", table, more);
  byId("row-count").textContent =
    `${lines.length} of ${part.lines.length} rows. Bold and ★: the best, and all that a test ` +
    "cannot tell from it, among all learners on a dataset, filtered out or not.";
}

function groupBy(items, read) {
  const found = new Map();
  for (const item of items) {
    if (!found.has(read(item))) found.set(read(item), []);
    found.get(read(item)).push(item);
  }
  return found;
}

function tableHead(places) {
  const columns = [
    ["learner", "learner", ""],
    ["kind", "kind", ""],
    ["trials", "trials", ""],
    ...places.map((place) => [part.metrics[place].name, part.metrics[place].title, part.metrics[place].summary]),
  ];
  const cells = columns.map(([name, title, summary]) => {
    const sorted = { [name]: "ascending", [`-${name}`]: "descending" }[state.sort] ?? "none";
    return element(
      "th",
      { scope: "col", "aria-sort": sorted },
      button(title, () => sortBy(name), { title: summary, "data-sort": name, "data-focus": `sort ${name}` }),
    );
  });
  return element("thead", {}, element("tr", {}, cells));
}

function datasetBody(dataset, lines, places) {
  const heading = element(
    "th",
    { colspan: 3 + places.length, scope: "rowgroup" },
    named(dataset.title),
    " ",
    element("small", {}, dataset.detail),
  );
  const rows = lines.map((line) => tableRow(line, places));
  return element("tbody", {}, element("tr", { class: "dataset" }, heading), rows);
}

function tableRow(line, places) {
  const name = learnerButton(line.title, `line ${line.dataset} ${line.title}`, { "data-learner": line.title });
  const trials = line.failures.length ? failureButton(line, line.trials) : line.trials;
  return element(
    "tr",
    { class: state.learner === line.title ? "lit" : null },
    element("th", { scope: "row" }, name),
    element("td", { "data-label": "kind" }, line.kind),
    element("td", { "data-label": "trials" }, trials),
    places.map((place) => metricCell(line, place)),
  );
}

function metricCell(line, place) {
  const words = cellWords(line, place);
  const best = line.best.includes(place);
  const star = element("span", { class: "star", role: "img", "aria-label": "best" }, "★");
  let content = words;
  if (line.failed) content = failureButton(line, words);
  else if (best) content = element("strong", {}, words, star);
  return element("td", { "data-label": part.metrics[place].title, class: "number" }, content);
}

function failureButton(line, words) {
  return button(words, () => showFailures(line), { class: "failure" });
}

// -- what is shown of it

function showFilters() {
  const find = element("input", {
    type: "search",
    id: "find",
    value: state.find,
    "data-focus": "find",
    oninput: (event) => change({ find: event.target.value }),
  });
  const controls = [element("label", {}, "learner ", find)];
  for (const [name, words] of [
    ["kind", "kind"],
    ["dataset", "dataset"],
    ["representation", "representation"],
  ]) {
    const values = [...new Set(part.lines.map(FILTERS[name]))];
    if (values.length > 1) {
      const options = [["", "all"], ...values.map((value) => [value, value])];
      controls.push(chooser(words, options, state[name], (value) => change({ [name]: value })));
    }
  }
  const shows = [
    ["sd", "mean ± sd"],
    ["mean", "mean"],
    ["trials", "every trial"],
  ];
  controls.push(chooser("show", shows, state.show, (value) => change({ show: value })));
  controls.push(
    chooser("sort by", sortOptions(), state.sort, (value) => change({ sort: value })),
    metricChooser(),
  );
  fill("filters", controls);
}

function sortOptions() {
  const options = [
    ["", "as run"],
    ["learner", "learner"],
  ];
  for (const place of chosenMetrics()) {
    const { name, title, direction } = part.metrics[place];
    options.push([direction === "higher" ? `-${name}` : name, `${title}, best first`]);
    options.push([direction === "higher" ? name : `-${name}`, `${title}, worst first`]);
  }
  return options;
}

function metricChooser() {
  const chosen = chosenMetrics();
  const boxes = part.metrics.map((metric, place) => {
    const box = element("input", {
      type: "checkbox",
      checked: chosen.includes(place),
      value: metric.name,
      onchange: pickMetrics,
      "data-focus": `metric ${metric.name}`,
    });
    return element("label", { title: metric.summary }, box, ` ${metric.title}`);
  });
  const open = byId("metrics")?.open ?? false;
  return element(
    "details",
    { id: "metrics", open },
    element("summary", {}, `metrics (${chosen.length} of ${boxes.length})`),
    element("fieldset", {}, element("legend", { class: "unseen" }, "Metrics"), boxes),
  );
}

function pickMetrics() {
  const boxes = byId("metrics").querySelectorAll("input:checked");
  change({ metrics: [...boxes].map((box) => box.value).join(";") });
}
