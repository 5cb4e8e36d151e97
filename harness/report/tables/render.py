"""Output formats of tables and grids: terminal, Markdown, LaTeX, HTML, CSV, JSON and data frames.

The command line imports this module to list `FORMATS`, so slow imports are inside functions.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from harness.host.contract import MetricSpec
from harness.report.tables.layout import WIDTH, fold_columns, format_value, lay_out, plain_numbers, wrap_lines
from harness.text import choose

if TYPE_CHECKING:
    import pandas as pd

    from harness.records.record import Record
    from harness.report.tables.table import Cell, ComparisonTable, Group, Row

Values = dict[str, object]
"""Values by column name: a row, or part of a row."""


def plain_rows(table: ComparisonTable) -> list[Values]:
    """Return the rows of a table as plain values: mean, sd, n and mark of each metric."""
    return _rows_of(table, _plain_cell)


def _rows_of(table: ComparisonTable, values_of_cell: Callable[[Cell, MetricSpec], Values]) -> list[Values]:
    rows = []
    for group in table.groups:
        for row in group.rows:
            values: Values = {"group": group.title, "detail": group.detail, table.row_heading: row.title}
            values |= row.facts
            for cell, metric in zip(row.cells, table.columns, strict=True):
                values |= values_of_cell(cell, metric)
            rows.append(values)
    return rows


def _plain_cell(cell: Cell, metric: MetricSpec) -> Values:
    mean, sd, n = plain_numbers(cell.summary)
    name = metric.name
    return {name: mean, f"{name}_sd": sd, f"{name}_n": n, f"{name}_best": cell.best}


# -- CSV -------------------------------------------------------------------------------------------------------------


def table_to_csv(table: ComparisonTable) -> str:
    """Return a table as CSV, with all digits: mean, sd, n and mark of every metric."""
    heading = ["group", "detail", table.row_heading, *table.groups[0].rows[0].facts]
    for metric in table.columns:
        heading += [metric.name, f"{metric.name}_sd", f"{metric.name}_n", f"{metric.name}_best"]
    return _csv_text(heading, _rows_of(table, _csv_cell))


def _csv_cell(cell: Cell, metric: MetricSpec) -> Values:
    """Return the values of a cell; if all trials failed, their status replaces the mean."""
    values = _plain_cell(cell, metric) | {f"{metric.name}_best": int(cell.best)}
    if cell.summary is None:
        values[metric.name] = cell.failed
    return values


def grid_to_csv(grid: Grid) -> str:
    """Return the plain values of a grid as CSV; an empty line for a grid without rows."""
    heading = list(grid.values[0]) if grid.values else []
    return _csv_text(heading, grid.values)


def _csv_text(heading: list[str], rows: Iterable[Mapping[str, object]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, heading, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


# -- JSON ------------------------------------------------------------------------------------------------------------


def table_to_json(table: ComparisonTable) -> str:
    """Return a table as JSON, group by group, with its footnotes."""
    groups = [_json_group(table, group) for group in table.groups]
    return _json_text({"groups": groups, "footnotes": table.footnotes})


def _json_group(table: ComparisonTable, group: Group) -> Values:
    rows = [_json_row(table, row) for row in group.rows]
    return {"title": group.title, "detail": group.detail, "rows": rows}


def _json_row(table: ComparisonTable, row: Row) -> Values:
    metrics = {}
    for metric, cell in zip(table.columns, row.cells, strict=True):
        mean, sd, n = plain_numbers(cell.summary)
        metrics[metric.name] = {"mean": mean, "sd": sd, "n": n, "best": cell.best, "failed": cell.failed or None}
    return {table.row_heading: row.title, **row.facts, "metrics": metrics}


def grid_to_json(grid: Grid) -> str:
    """Return the plain values of a grid as JSON, with its title and footnotes."""
    return _json_text({"title": grid.title, "rows": grid.values, "footnotes": grid.footnotes})


def _json_text(content: Values) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def heading_of(metric: MetricSpec) -> str:
    """Return the heading of a metric's column."""
    return metric.title or metric.name


def headings_of(table: ComparisonTable) -> list[str]:
    """Return the headings of a table: title and facts of the rows, then the metrics."""
    return [table.row_heading, *table.groups[0].rows[0].facts, *map(heading_of, table.columns)]


def cell_words(cell: Cell, metric: MetricSpec) -> str:
    """Return a cell as text: mean and spread, the status if all trials failed, or a dash without a value.

    Parameters
    ----------
    cell : Cell
        A value of the table, or the reason why there is none.
    metric : MetricSpec
        The metric of its column.
    """
    if cell.failed:
        return cell.failed
    if cell.summary is None:
        return "-"
    return format_value(replace(cell.summary, sd=cell.spread), metric)


def row_words(
    row: Row, columns: Sequence[MetricSpec], mark: Callable[[str], str], escape: Callable[[str], str] = str
) -> list[str]:
    """Return the cells of a row as text.

    Parameters
    ----------
    row : Row
        The row.
    columns : sequence of MetricSpec
        The metric of each cell.
    mark : callable
        Formats a cell that is marked as best.
    escape : callable, default=str
        Escapes the special characters of the output format.
    """
    words = [escape(row.title), *map(escape, row.facts.values())]
    for cell, metric in zip(row.cells, columns, strict=True):
        text = escape(cell_words(cell, metric))
        words.append(mark(text) if cell.best else text)
    return words


_STYLE = """body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; display: block; overflow-x: auto; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
thead th { border-bottom: 2px solid #333; }
.failed { color: #a00; } .detail, footer { color: #555; font-size: .9em; }"""


def table_to_html(table: ComparisonTable) -> str:
    """Return a table as an HTML page without scripts and without external files."""
    return _page(_table_body(table))


def grid_to_html(grid: Grid) -> str:
    """Return a grid as an HTML page without scripts and without external files."""
    return _page(_grid_body(grid))


def table_fragment(table: ComparisonTable) -> str:
    """Return a table as an HTML fragment for notebooks, with the classes `harness-table`, `detail` and `failed`."""
    return f'<div class="harness-table">\n{_table_body(table)}\n</div>'


def grid_fragment(grid: Grid) -> str:
    """Return a grid as an HTML fragment for notebooks, with the class `harness-grid`."""
    return f'<div class="harness-grid">\n{_grid_body(grid)}\n</div>'


def _page(body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>harness: comparison</title>\n'
        f"<style>\n{_STYLE}\n</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _table_body(table: ComparisonTable) -> str:
    parts = [_group_part(group, headings_of(table), table.columns) for group in table.groups]
    return "\n".join([*parts, _footer(table.footnotes)])


def _grid_body(grid: Grid) -> str:
    return f"<h2>{escape(grid.title)}</h2>\n{lay_out(grid.rows, grid.columns, 'html')}\n{_footer(grid.footnotes)}"


def _footer(footnotes: Iterable[str]) -> str:
    lines = "".join(f"<p>{escape(line)}</p>\n" for line in footnotes)
    return f"<footer>\n{lines}</footer>"


def _group_part(group: Group, headings: Sequence[str], columns: Sequence[MetricSpec]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in headings)
    rows = "\n".join(_html_row(row, columns) for row in group.rows)
    return (
        f'<h2>{escape(group.title)}</h2>\n<p class="detail">{escape(group.detail)}</p>\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _html_row(row: Row, columns: Sequence[MetricSpec]) -> str:
    cells = [f"<td>{escape(text)}</td>" for text in (row.title, *row.facts.values())]
    for cell, metric in zip(row.cells, columns, strict=True):
        cells.append(_html_cell(cell, metric))
    return f"<tr>{''.join(cells)}</tr>"


def _html_cell(cell: Cell, metric: MetricSpec) -> str:
    text = escape(cell_words(cell, metric))
    if cell.failed:
        return f'<td class="failed">{text}</td>'
    if cell.best:
        return f"<td><strong>{text}</strong></td>"
    return f"<td>{text}</td>"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "µ": r"$\mu$",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    # At the start of a row, LaTeX would read a bare [ or * as an argument of the \\ before it.
    "[": "{[}",
    "*": "{*}",
}
_ESCAPES = str.maketrans(_LATEX)


def table_to_latex(table: ComparisonTable) -> str:
    """Return a table for LaTeX with booktabs; marked cells are bold, and footnotes are comments."""
    lines = list(map(_comment, table.footnotes))
    words = "l" * (len(headings_of(table)) - len(table.columns) - 1)  # without trials, which are aligned right
    lines += [rf"\begin{{tabular}}{{{words}{'r' * (len(table.columns) + 1)}}}", r"\toprule"]
    lines.append(_latex_row(map(_escape_latex, headings_of(table))))
    for group in table.groups:
        lines += _group_lines(table, group)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _group_lines(table: ComparisonTable, group: Group) -> list[str]:
    width = len(headings_of(table))
    title = _escape_latex(f"{group.title} ({group.detail})")
    lines = [r"\midrule", rf"\multicolumn{{{width}}}{{l}}{{\textit{{{title}}}}} \\"]
    for row in group.rows:
        lines.append(_latex_row(row_words(row, table.columns, _embolden_latex, _escape_latex)))
    return lines


def grid_to_latex(grid: Grid) -> str:
    """Return a grid for LaTeX with booktabs; title and footnotes are comments."""
    lines = list(map(_comment, (grid.title, *grid.footnotes)))
    lines += [rf"\begin{{tabular}}{{{'l' * len(grid.columns)}}}", r"\toprule"]
    lines += [_latex_row(map(_escape_latex, grid.columns)), r"\midrule"]
    for row in grid.rows:
        lines.append(_latex_row(map(_escape_latex, row)))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _comment(text: str) -> str:
    """Return a LaTeX comment in one line; a second line would be typeset."""
    return f"% {' '.join(text.split())}"


def _latex_row(words: Iterable[str]) -> str:
    return " & ".join(words) + r" \\"


def _embolden_latex(text: str) -> str:
    return rf"\textbf{{{text}}}"


def _escape_latex(text: str) -> str:
    return text.translate(_ESCAPES)


_SPECIAL = re.compile(r"[\\|*_`\[\]<>&~$]")


def table_to_markdown(table: ComparisonTable) -> str:
    """Return a table in GitHub's Markdown; marked cells are bold."""
    headings = list(map(_escape_markdown, headings_of(table)))
    parts = []
    for group in table.groups:
        rows = [row_words(row, table.columns, _embolden_markdown, _escape_markdown) for row in group.rows]
        title, detail = _escape_markdown(group.title), _escape_markdown(group.detail)
        parts.append(f"### {title}\n\n{detail}\n\n{lay_out(rows, headings, 'pipe')}\n")
    return "\n".join([*parts, *_footnote_lines(table.footnotes)]) + "\n"


def grid_to_markdown(grid: Grid) -> str:
    """Return a grid in GitHub's Markdown."""
    headings = list(map(_escape_markdown, grid.columns))
    rows = [list(map(_escape_markdown, row)) for row in grid.rows]
    body = lay_out(rows, headings, "pipe")
    return "\n".join([f"### {_escape_markdown(grid.title)}\n", f"{body}\n", *_footnote_lines(grid.footnotes)]) + "\n"


def _footnote_lines(footnotes: Iterable[str]) -> list[str]:
    """Return footnotes with two spaces at the end, which is a line break in Markdown."""
    return [f"{_escape_markdown(line)}  " for line in footnotes]


def _embolden_markdown(text: str) -> str:
    return f"**{text}**"


def _escape_markdown(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def table_to_terminal(table: ComparisonTable, *, colour: bool = False, width: int = WIDTH) -> str:
    """Return a table for the terminal; marked cells have a star, and are bold with `colour`."""
    mark = _embolden if colour else _star
    parts = []
    for group in table.groups:
        rows = [row_words(row, table.columns, mark) for row in group.rows]
        heading = wrap_lines([f"{group.title}  ({group.detail})"], width)
        titles = 2 if group.rows[0].representation else 1  # a learner may have several rows: repeat both columns
        parts += [*heading, "", fold_columns(rows, headings_of(table), width, titles), ""]
    return "\n".join([*parts, *wrap_lines(table.footnotes, width)]) + "\n"


def _embolden(text: str) -> str:
    return f"\033[1m{_star(text)}\033[0m"


def _star(text: str) -> str:
    return f"{text} *"


def grid_to_terminal(grid: Grid, *, width: int = WIDTH) -> str:
    """Return a grid for the terminal."""
    body = fold_columns(grid.rows, grid.columns, width)
    return "\n".join([*wrap_lines([grid.title], width), "", body, "", *wrap_lines(grid.footnotes, width)]) + "\n"


@dataclass(frozen=True)
class Format:
    """An output format."""

    ending: str
    """File extension, without the dot."""
    render_table: Callable[[ComparisonTable], str]
    render_grid: Callable[[Grid], str]
    for_programs: bool = False
    """True for formats that programs read. A file in such a format contains only one table."""


FORMATS: dict[str, Format] = {
    "terminal": Format("txt", table_to_terminal, grid_to_terminal),
    "markdown": Format("md", table_to_markdown, grid_to_markdown),
    "latex": Format("tex", table_to_latex, grid_to_latex),
    "csv": Format("csv", table_to_csv, grid_to_csv, for_programs=True),
    "json": Format("json", table_to_json, grid_to_json, for_programs=True),
    "html": Format("html", table_to_html, grid_to_html),
}


def find_format(name: str) -> Format:
    """Return the format of this name; raise HarnessError for an unknown name."""
    return choose(FORMATS, name, "table format")


@dataclass(frozen=True)
class Grid:
    """Rows of text under headings, with the same rows as plain values. Displays itself in a notebook."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: tuple[Mapping[str, object], ...]
    """One mapping for each row, all with the same keys; numbers have all digits."""
    footnotes: tuple[str, ...] = ()

    def render(self, format: str = "terminal") -> str:  # noqa: A002 - the name of the command-line option
        """Return the grid as text in a format of `harness.report.tables.render.FORMATS`."""
        return find_format(format).render_grid(self)

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        return grid_fragment(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the plain values as a data frame."""
        return grid_frame(self)


LONG = ("traceback", "output", "threads_in_force", "versions", "rescored", "curve", "tuning")
"""Fields that a data frame of records leaves out, because they are long or nested."""


def records_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return a data frame with a row for each trial and a column for each field, metric and parameter (`param_C`)."""
    from harness.records.record import as_plain  # noqa: PLC0415 (imports pydantic, which only frames of records need)

    rows = []
    for record in records:
        fields = as_plain(record)
        for name in LONG:
            del fields[name]
        scores, params = fields.pop("scores"), fields.pop("params")
        for name, value in params.items():
            fields[f"param_{name}"] = value
        rows.append(fields | scores)
    return _frame(rows)


def table_frame(table: ComparisonTable) -> pd.DataFrame:
    """Return a data frame with mean, `_sd`, `_n` and `_best` of each metric for each row."""
    return _frame(plain_rows(table))


def grid_frame(grid: Grid) -> pd.DataFrame:
    """Return a data frame with a row for each row of a grid."""
    return _frame(grid.values)


def _frame(rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 (takes a second to import; `harness list` and most tables need no frame)

    return pd.DataFrame(list(rows))
