"""Tables and grids for LaTeX, with booktabs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from harness.tables.words import headings_of, row_words

if TYPE_CHECKING:
    from harness.tables.grid import Grid
    from harness.tables.table import Group, Table

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
    # Bare, these two belong to the \\ before them.
    "[": "{[}",
    "*": "{*}",
}
_ESCAPES = str.maketrans(_LATEX)


def table_to_latex(table: Table) -> str:
    """The best is bold, the foot stands as a comment for the caption."""
    lines = list(map(_comment, table.foot))
    words = "l" * (len(headings_of(table)) - len(table.columns) - 1)  # all but the trials, which are numbers
    lines += [rf"\begin{{tabular}}{{{words}{'r' * (len(table.columns) + 1)}}}", r"\toprule"]
    lines.append(_latex_row(map(_escape_latex, headings_of(table))))
    for group in table.groups:
        lines += _group_lines(table, group)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _group_lines(table: Table, group: Group) -> list[str]:
    width = len(headings_of(table))
    title = _escape_latex(f"{group.title} ({group.detail})")
    lines = [r"\midrule", rf"\multicolumn{{{width}}}{{l}}{{\textit{{{title}}}}} \\"]
    for row in group.rows:
        lines.append(_latex_row(row_words(row, table.columns, _embolden_latex, _escape_latex)))
    return lines


def grid_to_latex(grid: Grid) -> str:
    lines = list(map(_comment, (grid.title, *grid.foot)))
    lines += [rf"\begin{{tabular}}{{{'l' * len(grid.columns)}}}", r"\toprule"]
    lines += [_latex_row(map(_escape_latex, grid.columns)), r"\midrule"]
    for row in grid.rows:
        lines.append(_latex_row(map(_escape_latex, row)))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _comment(text: str) -> str:
    """A comment of one line: a name from a file may have more, and what stands on the next would be read."""
    return f"% {' '.join(text.split())}"


def _latex_row(words: Iterable[str]) -> str:
    return " & ".join(words) + r" \\"


def _embolden_latex(text: str) -> str:
    return rf"\textbf{{{text}}}"


def _escape_latex(text: str) -> str:
    return text.translate(_ESCAPES)
