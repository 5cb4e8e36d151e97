// Reading the data, and showing it anew when the reader changes something.

let page = null;
let part = null;
let templates = {};

async function readData() {
  const packed = Uint8Array.from(atob(byId("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** Change what was chosen, and show it: only what it touches is made anew, and the focus stays where it was. */
function change(changes) {
  const before = document.activeElement?.dataset?.focus;
  Object.assign(state, changes);
  if ("part" in changes) state = { ...DEFAULTS, part: state.part, theme: state.theme };
  writeAddress();
  show(new Set(Object.keys(changes)));
  if (before) document.querySelector(`[data-focus="${CSS.escape(before)}"]`)?.focus();
}

const TABLE = ["sort", "find", "kind", "dataset", "representation", "metrics", "show", "learner", "all"];
const FIGURE = ["figure", "on", "x", "y", "find", "kind", "dataset", "representation"];

function show(changed) {
  const touched = (names) => changed.has("part") || names.some((name) => changed.has(name));
  if (touched([])) showPart();
  if (touched(["theme"])) showPageControls();
  if (touched(["sort", "kind", "dataset", "representation", "metrics", "show"])) showFilters();
  if (touched(TABLE)) showTable();
  if (touched(FIGURE)) {
    showFigureControls();
    showFigure();
  }
  if (touched(["on", "dataset", "figure", "learner"])) showAnswer();
  if (touched(["learner", "ranked"])) showOverview();
  if (touched(["learner", "classes"])) showClasses();
  if (touched(["learner"])) {
    showLearnerControls();
    showLearner();
    lightUp();
  }
}

/** What changes with the part alone. */
function showPart() {
  part = page.parts.find((one) => one.title === state.part) ?? page.parts[0];
  showNotes();
  showPublished();
  showFailureList();
  showCopying();
}

function showPageControls() {
  document.documentElement.dataset.theme = state.theme;
  const controls = [];
  if (page.parts.length > 1) {
    const options = page.parts.map((one) => [one.title, one.title]);
    controls.push(chooser("results", options, part.title, (value) => change({ part: value })));
  }
  const themes = [
    ["", "system"],
    ["light", "light"],
    ["dark", "dark"],
  ];
  controls.push(chooser("colours", themes, state.theme, (value) => change({ theme: value })));
  fill("page-controls", controls);
}

function showAll() {
  readAddress();
  show(new Set(["part"]));
}

const data = await readData();
({ page, charts: templates } = data);
scales = data.scales;
byId("about").textContent = Object.entries(page.about)
  .map(([name, words]) => `${name} ${words}`)
  .join(", ");
addEventListener("hashchange", showAll);
showAll();
document.documentElement.dataset.ready = "yes";
