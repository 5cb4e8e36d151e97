"""Front page of the committed results: results/index.html, drawn from the READMEs of results/.

    python benchmarks/front_page.py

Runs no trial. The page opens with the answer of the field and its table of best learners, then lists every folder with
its finding and links to its README and, where it has records, to its part of results/page.html.
"""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
FRONT = RESULTS / "index.html"
CSS = ROOT / "harness" / "report" / "page" / "files" / "page.css"
OWN_CSS = """
body { max-width: 76rem; }
.lead { font-size: 1.15rem; margin: 0.4rem 0 0.8rem; max-width: 60rem; }
nav a { margin-right: 1.2rem; }
a { color: var(--link); }
code { font-size: 0.92em; }
.wide { overflow-x: auto; }
.front { width: 100%; border-collapse: collapse; }
.front th, .front td { text-align: left; padding: 0.25rem 0.8rem 0.25rem 0; vertical-align: top; border: 0; }
.front tr { border-bottom: 1px solid var(--line); }
.front th { color: var(--soft); font-weight: 600; }
.findings :is(td, th):first-child { width: 14rem; }
.findings :is(td, th):nth-child(3) { width: 4rem; }
.front td.number { text-align: right; font-variant-numeric: tabular-nums; }
@media (max-width: 40rem) {
  .front, .front tbody, .front tr, .front td, .front td.number { display: block; width: auto; text-align: left; }
  .front thead { display: none; }
  .front tr { padding: 0.5rem 0; }
  .front td, .front td.number { padding: 0.05rem 0; overflow-wrap: anywhere; }
  .front:not(.findings) td:not(:first-child)::before { content: attr(data-label); color: var(--soft); }
  .front td::before { margin-right: 0.5rem; }
}
"""
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
BEST_COLUMNS = ("dataset", "classes", "best built-in", "best external", "fastest within a point")
Rows = list[list[str]]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    FRONT.write_text(draw(), encoding="utf-8")
    print(FRONT.relative_to(ROOT))


def draw() -> str:
    """Return the front page."""
    sections = list(read_sections(RESULTS / "README.md"))
    answer = re.search(r"\*\*(.+?)\*\*", read(RESULTS / "field" / "README.md"), re.DOTALL)
    assert answer is not None, "results/field/README.md has no answer in bold"
    links = "".join(f'<a href="#{anchor(title)}">{inline(title)}</a>' for title, _ in sections)
    body = [
        "<header><div><h1>Results of harness: which learner, at what cost?</h1></div></header>",
        f'<p class="lead">{inline(answer[1])}</p>',
        f'<nav aria-label="Sections"><a href="page.html">All tables and figures</a>{links}',
        '<a href="#benchmarks">Benchmarks</a></nav>',
        "<main>",
        "<h2>Most accurate and fastest, by dataset</h2>",
        best_table(),
        f"<p><small>R1 and CPU time of training; bold: the highest R1. {trials_note()} ",
        '<a href="field/README.md">Set-up, ranks and limits</a>, <a href="page.html#part=field">all learners</a>.',
        "</small></p>",
    ]
    for title, rows in sections:
        body += [f'<h2 id="{anchor(title)}">{inline(title)}</h2>', findings_table(rows)]
    body += ['<h2 id="benchmarks">Benchmarks</h2>', benchmarks_table(), "</main>"]
    return PAGE.format(css=read(CSS) + OWN_CSS, body="\n".join(body))


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Results of harness</title>
<style>
{css}
</style>
</head>
<body>
{body}
<footer><p>Drawn by <code>python benchmarks/front_page.py</code> from the READMEs beside it.</p></footer>
</body>
</html>
"""


# -- reading ---------------------------------------------------------------------------------------------------------


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def read_sections(path: Path) -> Iterator[tuple[str, Rows]]:
    """Yield each second-level heading of a page with the rows of its table."""
    for part in COMMENT.sub("", read(path)).split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        yield title, table_rows(text)


def table_rows(text: str) -> Rows:
    """Return the rows of the first table in a Markdown text, the heading first."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if not set("".join(row)) <= set("-:")]


# -- drawing ---------------------------------------------------------------------------------------------------------


def leader_rows() -> Rows:
    """Return the table of best learners in the README of the field, the heading first."""
    text = read(RESULTS / "field" / "README.md")
    return table_rows(text.partition("<!-- leaders -->")[2].partition("<!-- end of leaders -->")[0])


def best_table() -> str:
    """Draw the best learners of each dataset. The name of a dataset leads to its part of the page of all results."""
    heading, *rows = leader_rows()
    places = [heading.index(name) for name in BEST_COLUMNS]
    cells = []
    for row in rows:
        dataset, *others = [inline(row[at]) for at in places]
        view = urlencode({"part": "field", "on": row[places[0]]})
        cells.append([f'<a href="page.html#{html.escape(view)}">{dataset}</a>', *others])
    return draw_table(BEST_COLUMNS, cells, numbers={1})


def trials_note() -> str:
    """Return a sentence on the numbers of trials of the field."""
    heading, *rows = leader_rows()
    trials = sorted({int(row[heading.index("trials")]) for row in rows})
    if trials == [1]:
        return "One trial of each learner and dataset."
    numbers = str(trials[0]) if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    return f"{numbers} trials of each learner and dataset."


def findings_table(rows: Rows) -> str:
    """Draw one section of results/README.md, with a link to the records of each folder."""
    cells = []
    for folder, finding in rows[1:]:
        name = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", folder)
        has_records = (RESULTS / name / "records.jsonl").exists()
        records = f'<a href="page.html#part={name}">tables</a>' if has_records else ""
        cells.append([inline(folder), inline(finding), records])
    return draw_table(("folder", "finding", ""), cells, "findings")


def benchmarks_table() -> str:
    """Draw the list of benchmarks with their answers."""
    rows = table_rows(read(RESULTS / "benchmarks" / "README.md"))[1:]
    linked = [[inline(row[0].replace("](", "](benchmarks/")), inline(row[2] or row[1])] for row in rows]
    return draw_table(("benchmark", "answer"), linked, "findings")


def draw_table(heading: Sequence[str], rows: Rows, kind: str = "", numbers: Collection[int] = ()) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in heading)
    lines = []
    for row in rows:
        cells = []
        for at, cell in enumerate(row):
            number = ' class="number"' if at in numbers else ""
            cells.append(f'<td data-label="{html.escape(heading[at])}"{number}>{cell}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(lines)
    table = f'<table class="front {kind}"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'
    return f'<div class="wide">{table}</div>'


def inline(text: str) -> str:
    """Return HTML of a line of Markdown: code, bold and links; all else is text."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    escaped = re.sub(r"(\d) (s|µs|MB|GB)\b", r"\1&nbsp;\2", escaped)
    escaped = re.sub(r"`(.+?)`", r"<code>\1</code>", escaped)
    escaped = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escaped)
    return re.sub(r"\[([^\]]+)\]\(([^)\"<>]+)\)", r'<a href="\2">\1</a>', escaped)


def anchor(title: str) -> str:
    """Return the id of a heading."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")


if __name__ == "__main__":
    main()
