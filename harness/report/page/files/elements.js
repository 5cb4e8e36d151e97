// Building the page: elements are made one by one and texts are text nodes, so that no name is ever read as HTML.

/** An element with attributes, listeners (on...) and children: elements, texts, or nothing. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

/** A name that somebody gave: it may run from right to left, and must not turn what stands around it. */
function named(text) {
  return element("bdi", {}, text);
}

function byId(id) {
  return document.getElementById(id);
}

function fill(id, ...children) {
  byId(id).replaceChildren(...children.flat().filter((child) => child));
}

/** A labelled choice; options are [value, words]. */
function chooser(label, options, value, choose) {
  const select = element("select", {
    onchange: (event) => choose(event.target.value),
    "data-focus": `choose ${label}`,
  });
  for (const [option, words] of options) {
    select.append(element("option", { value: option, selected: option === value }, words));
  }
  return element("label", {}, `${label} `, select);
}

function button(words, press, attributes = {}) {
  return element("button", { type: "button", onclick: press, ...attributes }, words);
}

/** A table of words under headings, the first column being what each row is about. */
function wordTable(headings, rows) {
  const head = element(
    "tr",
    {},
    headings.map((heading) => element("th", { scope: "col" }, heading)),
  );
  const body = rows.map((row) =>
    element(
      "tr",
      {},
      row.map((cell) => element("td", {}, named(cell))),
    ),
  );
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, body));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": headings.join(", ") }, table);
}
