// What the reader chose, kept in the address: a link shows the same view to others.

const DEFAULTS = {
  part: "",
  sort: "",
  find: "",
  kind: "",
  dataset: "",
  representation: "",
  metrics: "",
  show: "sd",
  learner: "",
  classes: "",
  figure: "pareto",
  on: "",
  x: "",
  y: "",
  theme: "",
  all: "",
  ranked: "",
};
let state = { ...DEFAULTS };

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  state = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) {
    if (given.has(name)) state[name] = given.get(name);
  }
}

function writeAddress() {
  const changed = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  history.replaceState(null, "", `#${new URLSearchParams(changed)}`);
}
