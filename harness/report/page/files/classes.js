// Classes: what the chosen learner takes most often for what, the way to figures by class, and why nothing is told.

const BY_CLASS = {
  frequency: "R1 by how often training saw the class",
  levels: "Right at each level of the class tree",
};

function showClasses() {
  const told = part.lines.filter((line) => line.confusions.length);
  byId("classes-section").hidden = !told.length && !part.unread;
  const unread = part.unread ? element("p", { class: "status" }, part.unread) : null;
  if (!told.length) {
    fill("classes-controls");
    fill("classes", unread);
    return;
  }
  const titles = [...new Set(told.map((line) => datasetOf(line).title))];
  const title = titles.includes(state.classes) ? state.classes : titles[0];
  const line = confusedLine(told.filter((one) => datasetOf(one).title === title));
  const options = titles.map((one) => [one, one]);
  fill(
    "classes-controls",
    chooser("classes of", options, title, (value) => change({ classes: value })),
    figureButtons(title),
  );
  fill(
    "classes",
    element("p", {}, "What ", named(line.title), " takes most often for something else:"),
    confusionTable(line),
    unread,
  );
}

/** The chosen learner, or the best by the first column, or the first. */
function confusedLine(lines) {
  const place = part.metrics.findIndex((metric) => metric.name === part.shown[0]);
  return (
    lines.find((line) => line.title === state.learner) ?? lines.find((line) => line.best.includes(place)) ?? lines[0]
  );
}

function confusionTable(line) {
  const rows = line.confusions.map(({ truth, answer, rows: wrong, of }) => [
    truth,
    answer || "(none)",
    `${wrong} of ${of}`,
    sayValue(wrong / of, null, "share"),
  ]);
  return wordTable(["true class", "taken for", "test rows, all trials", "share"], rows);
}

/** Buttons that show the figures by class above, where there are any of this dataset. */
function figureButtons(title) {
  const there = new Set(part.figures.filter((figure) => figure.title === title).map((figure) => figure.kind));
  return Object.entries(BY_CLASS)
    .filter(([kind]) => there.has(kind))
    .map(([kind, words]) =>
      button(words, () => {
        change({ figure: kind, on: title });
        byId("figures-heading").scrollIntoView();
      }),
    );
}
