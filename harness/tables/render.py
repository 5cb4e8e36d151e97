"""Table -> terminal, Markdown, LaTeX, CSV, JSON, HTML: pure functions from a Table to text."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tabulate import tabulate

from harness.contract import MetricSpec
from harness.tables.format import format_value
from harness.tables.grid import Grid
from harness.tables.table import Cell, Row, Table


def _text(cell: Cell, metric: MetricSpec, mark: Callable[[str], str], missing: str = "-") -> str:
    if cell.failed:
        return cell.failed
    if cell.summary is None:
        return missing
    text = format_value(replace(cell.summary, sd=cell.spread), metric)
    return mark(text) if cell.best else text


def _heading(table: Table) -> list[str]:
    return [table.row_heading, "kind", "trials", *(m.title or m.name for m in table.columns)]


def _line(table: Table, row: Row, mark: Callable[[str], str], escape: Callable[[str], str] = str) -> list[str]:
    cells = [_text(cell, metric, mark) for cell, metric in zip(row.cells, table.columns, strict=True)]
    return [escape(row.title), row.kind, row.trials, *cells]


def render_terminal(table: Table, *, colour: bool = False) -> str:
    """For people at a terminal; the best is bold where that is possible, starred where not."""

    def mark(text: str) -> str:
        return f"\033[1m{text}\033[0m" if colour else f"{text} *"

    parts = []
    for group in table.groups:
        body = [_line(table, row, mark) for row in group.rows]
        grid = tabulate(body, _heading(table), tablefmt="simple", disable_numparse=True)
        parts.append(f"{group.title}  ({group.detail})\n\n{grid}\n")
    return "\n".join([*parts, *table.foot]) + "\n"


def render_markdown(table: Table) -> str:
    """GitHub's Markdown; the best is bold."""
    parts = []
    for group in table.groups:
        body = [_line(table, row, lambda text: f"**{text}**", _escape_markdown) for row in group.rows]
        heading = [_escape_markdown(title) for title in _heading(table)]
        grid = tabulate(body, heading, tablefmt="pipe", disable_numparse=True)
        parts.append(f"### {_escape_markdown(group.title)}\n\n{_escape_markdown(group.detail)}\n\n{grid}\n")
    return "\n".join([*parts, *(f"{_escape_markdown(line)}  " for line in table.foot)]) + "\n"


def _escape_markdown(text: str) -> str:
    return "".join(f"\\{c}" if c in r"\|*_`[]<>&~$" else c for c in text)


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "µ": r"$\mu$",
}
_LATEX |= {c: f"\\{c}" for c in "&%$#_{}"} | {c: f"{{{c}}}" for c in "[*"}  # bare, these two belong to the \\ before
_LATEX |= {"|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}"}


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)


def render_latex(table: Table) -> str:
    """A booktabs table; the best is bold, the foot stands as a comment for the caption."""
    lines = [f"% {line}" for line in table.foot]
    lines += [rf"\begin{{tabular}}{{ll{'r' * (len(table.columns) + 1)}}}", r"\toprule"]
    lines += [" & ".join(map(_escape_latex, _heading(table))) + r" \\"]
    for group in table.groups:
        width = len(table.columns) + 3
        title = _escape_latex(f"{group.title} ({group.detail})")
        lines += [r"\midrule", rf"\multicolumn{{{width}}}{{l}}{{\textit{{{title}}}}} \\"]
        for row in group.rows:
            cells = [
                rf"\textbf{{{_escape_latex(_text(cell, metric, str))}}}" if cell.best and not cell.failed
                else _escape_latex(_text(cell, metric, str))
                for cell, metric in zip(row.cells, table.columns, strict=True)
            ]  # fmt: skip
            lines.append(" & ".join([*map(_escape_latex, (row.title, row.kind, row.trials)), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def render_csv(table: Table) -> str:
    """One line a row with full-precision numbers: mean, sd and n of every metric."""
    heading = ["group", "detail", table.row_heading, "kind", "trials"]
    for metric in table.columns:
        heading += [metric.name, f"{metric.name}_sd", f"{metric.name}_n", f"{metric.name}_best"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heading)
    for group in table.groups:
        for row in group.rows:
            values: list[Any] = [group.title, group.detail, row.title, row.kind, row.trials]
            for cell in row.cells:
                s = cell.summary
                values += [cell.failed if s is None else repr(s.mean), "" if s is None or s.sd is None else repr(s.sd)]
                values += [0 if s is None else s.n, int(cell.best)]
            writer.writerow(values)
    return out.getvalue()


def render_json(table: Table) -> str:
    """Everything, for programs."""

    def cell(value: Cell) -> dict[str, Any]:
        s = value.summary
        numbers = {"mean": s.mean, "sd": s.sd, "n": s.n} if s else {"mean": None, "sd": None, "n": 0}
        return {**numbers, "best": value.best, "failed": value.failed or None}

    groups = [
        {
            "title": group.title,
            "detail": group.detail,
            "rows": [
                {
                    table.row_heading: row.title,
                    "kind": row.kind,
                    "trials": row.trials,
                    "metrics": {m.name: cell(c) for m, c in zip(table.columns, row.cells, strict=True)},
                }
                for row in group.rows
            ],
        }
        for group in table.groups
    ]
    return json.dumps({"groups": groups, "foot": table.foot}, indent=2, ensure_ascii=False) + "\n"


_STYLE = """body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
thead th { border-bottom: 2px solid #333; }
.failed { color: #a00; } .detail, footer { color: #555; font-size: .9em; }"""


def render_html(table: Table) -> str:
    """A page that stands alone: no script, nothing loaded from elsewhere."""
    parts = []
    for group in table.groups:
        head = "".join(f"<th>{html.escape(title)}</th>" for title in _heading(table))
        rows = []
        for row in group.rows:
            first = "".join(f"<td>{html.escape(text)}</td>" for text in (row.title, row.kind, row.trials))
            rows.append(first + "".join(map(_html_cell, row.cells, table.columns)))
        body = "\n".join(f"<tr>{cells}</tr>" for cells in rows)
        parts.append(
            f'<h2>{html.escape(group.title)}</h2>\n<p class="detail">{html.escape(group.detail)}</p>\n'
            f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
        )
    foot = "".join(f"<p>{html.escape(line)}</p>\n" for line in table.foot)
    return _page("\n".join(parts), foot)


def _page(body: str, foot: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>harness: comparison</title>\n'
        f"<style>\n{_STYLE}\n</style>\n</head>\n<body>\n{body}\n<footer>\n{foot}</footer>\n</body>\n</html>\n"
    )


def _html_cell(cell: Cell, metric: MetricSpec) -> str:
    if cell.failed:
        return f'<td class="failed">{html.escape(cell.failed)}</td>'
    text = html.escape(_text(cell, metric, str))
    return f"<td><strong>{text}</strong></td>" if cell.best else f"<td>{text}</td>"


RENDERERS: dict[str, Callable[[Table], str]] = {
    "terminal": render_terminal,
    "markdown": render_markdown,
    "latex": render_latex,
    "csv": render_csv,
    "json": render_json,
    "html": render_html,
}


# -- grids -----------------------------------------------------------------------------------------------------------


def _grid_terminal(grid: Grid) -> str:
    body = tabulate(grid.rows, grid.columns, tablefmt="simple", disable_numparse=True)
    return "\n".join([f"{grid.title}\n", f"{body}\n", *grid.foot]) + "\n"


def _grid_markdown(grid: Grid) -> str:
    rows = [[_escape_markdown(text) for text in row] for row in grid.rows]
    body = tabulate(rows, [_escape_markdown(c) for c in grid.columns], tablefmt="pipe", disable_numparse=True)
    foot = (f"{_escape_markdown(line)}  " for line in grid.foot)
    return "\n".join([f"### {_escape_markdown(grid.title)}\n", f"{body}\n", *foot]) + "\n"


def _grid_latex(grid: Grid) -> str:
    lines = [f"% {grid.title}", *(f"% {line}" for line in grid.foot)]
    lines += [rf"\begin{{tabular}}{{{'l' * len(grid.columns)}}}", r"\toprule"]
    heading, *rows = (" & ".join(map(_escape_latex, row)) + r" \\" for row in (grid.columns, *grid.rows))
    return "\n".join([*lines, heading, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _grid_csv(grid: Grid) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(grid.values[0]) if grid.values else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(grid.values)
    return out.getvalue()


def _grid_json(grid: Grid) -> str:
    content = {"title": grid.title, "rows": grid.values, "foot": grid.foot}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _grid_html(grid: Grid) -> str:
    body = tabulate(grid.rows, grid.columns, tablefmt="html", disable_numparse=True)
    foot = "".join(f"<p>{html.escape(line)}</p>\n" for line in grid.foot)
    return _page(f"<h2>{html.escape(grid.title)}</h2>\n{body}", foot)


GRID_RENDERERS: dict[str, Callable[[Grid], str]] = {
    "terminal": _grid_terminal,
    "markdown": _grid_markdown,
    "latex": _grid_latex,
    "csv": _grid_csv,
    "json": _grid_json,
    "html": _grid_html,
}
