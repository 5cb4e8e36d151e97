// The table as it is shown, for elsewhere: Markdown, LaTeX, CSV.

const LATEX = {
  "\\": "\\textbackslash{}",
  "{": "\\{",
  "}": "\\}",
  $: "\\$",
  "&": "\\&",
  "#": "\\#",
  "%": "\\%",
  _: "\\_",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "±": "$\\pm$",
  µ: "$\\mu$",
  "|": "\\textbar{}",
  "<": "\\textless{}",
  ">": "\\textgreater{}",
};

function markdownCell(cell) {
  const text = cell.text.replace(/[\\`*_{}[\]<>|#]/g, "\\$&").replace(/\s+/g, " ");
  return cell.best ? `**${text}**` : text;
}

function latexCell(cell) {
  const text = cell.text.replace(/[\\{}$&#%_~^±µ|<>]/g, (letter) => LATEX[letter]).replace(/\s+/g, " ");
  return cell.best ? `\\textbf{${text}}` : text;
}

function csvCell(cell) {
  const value = cell.value ?? cell.text;
  const text = String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows of cells ({text, value, best}), the first being the headings, in a format of these. */
const COPY_FORMATS = {
  Markdown(rows) {
    const lines = rows.map((row) => `| ${row.map(markdownCell).join(" | ")} |`);
    lines.splice(1, 0, `|${" --- |".repeat(rows[0].length)}`);
    return lines.join("\n");
  },
  LaTeX(rows) {
    const [head, ...body] = rows.map((row) => `${row.map(latexCell).join(" & ")} \\\\`);
    const columns = "lll" + "r".repeat(rows[0].length - 3);
    return [`\\begin{tabular}{${columns}}`, "\\hline", head, "\\hline", ...body, "\\hline", "\\end{tabular}"].join(
      "\n",
    );
  },
  CSV: (rows) => rows.map((row) => row.map(csvCell).join(",")).join("\n"),
};

async function copyTable(format) {
  const text = COPY_FORMATS[format](tableCells());
  try {
    await navigator.clipboard.writeText(text);
    byId("copied").textContent = `${format} copied`;
  } catch {
    // no clipboard in this browser or for files: the text is shown, to be copied by hand
    showDialog(
      format,
      element("textarea", { rows: "16", readonly: true, "aria-label": `The table as ${format}` }, text),
    );
  }
}

function showCopying() {
  const buttons = Object.keys(COPY_FORMATS).map((format) => button(`Copy as ${format}`, () => copyTable(format)));
  fill("copying", buttons, element("span", { id: "copied", role: "status" }));
}
