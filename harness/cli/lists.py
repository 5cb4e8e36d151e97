"""How commands print lists: within the width of whoever reads them, and with a word on what found no room."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

import click

from harness.tables.fit_width import WIDTH, FittedList, fit_list

NARROWEST = 60
"""Below this nothing readable can be made: the terminal wraps instead."""


def reader_width() -> int:
    """The columns of the terminal, or of the variable COLUMNS; 80 where the text goes elsewhere."""
    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def fit_rows(rows: Sequence[Mapping[str, object]], folded: Mapping[str, int], spare: Sequence[str] = ()) -> FittedList:
    """A list for this reader: `folded` columns with their least widths, `spare` ones in the order they leave in."""
    return fit_list(rows, folded, spare, reader_width())


def show_rows(
    rows: Sequence[Mapping[str, object]], folded: Mapping[str, int], spare: Sequence[str] = (), elsewhere: str = ""
) -> None:
    """Print a list; what found no room is named, with where it is told."""
    if not rows:
        return
    fitted = fit_rows(rows, folded, spare)
    click.echo(fitted.text)
    if fitted.left_out:
        click.echo(f"\nNo room for: {', '.join(fitted.left_out)}. {elsewhere}", err=True)
