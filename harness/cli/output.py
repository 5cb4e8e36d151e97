"""Output of the commands: safe standard streams, messages with one prefix, lists and tables that fit the terminal."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from harness.errors import HarnessError
from harness.report.tables.layout import WIDTH, FittedList, fit_list, wrap_lines
from harness.report.tables.render import grid_to_terminal, table_to_terminal
from harness.text import as_error, as_note, as_warning, counted, printable

if TYPE_CHECKING:
    from harness.report.tables.render import Grid
    from harness.report.tables.table import ComparisonTable
    from harness.results.results import Results

Stream = TypeVar("Stream", bound=io.TextIOWrapper)
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


class LastingStream(io.TextIOWrapper):
    """A stream that ignores write errors: a broken pipe cannot abort a run."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().flush()


class _CleanStandardOutput(io.TextIOWrapper):
    """Standard output that escapes control characters, except those for bold letters."""

    is_closed = False
    """True if the caller has closed standard output. Further output is then lost."""
    has_lost = False
    """True if output was lost because standard output was closed."""

    def write(self, text: str) -> int:
        self.has_lost |= self.is_closed and bool(text)
        super().write(clean(text))
        return len(text)


class _CleanStandardError(LastingStream):
    """Standard error that escapes control characters."""

    behind: TextIO
    """The stream without escaping, for a progress bar, which moves the cursor."""

    def write(self, text: str) -> int:
        super().write(clean(text))
        return len(text)


def clean(text: str) -> str:
    """Return a text with its control characters escaped; bold letters stay bold."""
    parts = []
    for bold in text.split(BOLD):
        parts.append(PLAIN.join(map(printable, bold.split(PLAIN))))
    return BOLD.join(parts)


def set_up_streams() -> None:
    """Replace standard output and standard error by streams that escape control characters.

    A standard file that the caller has closed is opened on the null device. Otherwise the next file that the program
    opens would take its number. Characters outside the stream's encoding are written as escapes.
    """
    is_closed = _is_closed(1)
    handle = os.open(os.devnull, os.O_RDWR)
    while handle <= 2:
        handle = os.open(os.devnull, os.O_RDWR)
    os.close(handle)
    output = _wrap(sys.stdout, 1, _CleanStandardOutput)
    output.is_closed = is_closed
    sys.stdout = output
    behind = _wrap(sys.stderr, 2, LastingStream)
    error = _wrap(sys.stderr, 2, _CleanStandardError)
    error.behind = behind
    sys.stderr = error


def check_output(stream: TextIO) -> None:
    """Raise HarnessError if the output of a command was lost because the caller has closed standard output."""
    if getattr(stream, "has_lost", False):
        raise HarnessError(
            "is closed: the output was lost", culprit="standard output", next_step="Use > FILE, or > /dev/null."
        )


def discard_output() -> None:
    """Drop buffered output. Otherwise the interpreter fails at exit when it flushes a closed pipe."""
    handle = os.open(os.devnull, os.O_WRONLY)
    os.dup2(handle, 1)
    os.close(handle)


def _is_closed(handle: int) -> bool:
    try:
        os.fstat(handle)
    except OSError:
        return True
    return False


def _wrap(stream: TextIO | None, handle: int, kind: type[Stream]) -> Stream:
    encoding = stream.encoding if stream else "utf-8"
    at_once = handle == 2 or os.isatty(handle)
    binary = open(handle, "wb", closefd=False)  # noqa: SIM115 (open as long as the process)
    return kind(binary, encoding=encoding, errors="backslashreplace", line_buffering=at_once)


NARROWEST = 60
"""Least width of a list. A narrower terminal wraps the lines."""


def reader_width() -> int:
    """Return the width of the terminal, or the variable COLUMNS; 80 if the output is not a terminal."""
    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def fit_rows(rows: Sequence[Mapping[str, object]], folded: Mapping[str, int], spare: Sequence[str] = ()) -> FittedList:
    """Return a list that fits the terminal.

    Parameters
    ----------
    rows : sequence of mapping of str to object
        A mapping of heading to value for each row.
    folded : mapping of str to int
        Columns that may be folded, with their least widths.
    spare : sequence of str, default=()
        Columns that may be hidden, in this order.
    """
    return fit_list(rows, folded, spare, reader_width())


def show_rows(
    rows: Sequence[Mapping[str, object]], folded: Mapping[str, int], spare: Sequence[str] = (), see_all: str = ""
) -> None:
    """Print a list that fits the terminal.

    A note on standard error names the hidden columns, followed by `see_all`: how to see them.
    """
    if not rows:
        return
    fitted = fit_rows(rows, folded, spare)
    click.echo(fitted.text)
    if fitted.left_out:
        hidden = ", ".join(fitted.left_out)
        click.echo(err=True)
        print_note(f"columns hidden to fit the terminal: {hidden}. {see_all}")


def print_error(text: str) -> None:
    """Print a message about an error that ends the command."""
    click.echo(as_error(text), err=True)


def print_warning(text: str) -> None:
    """Print a message about a result that may not be what the user expects."""
    click.echo(as_warning(text), err=True)


def print_note(text: str) -> None:
    """Print a message that helps to read the output."""
    click.echo(as_note(text), err=True)


FAILED_TRIALS = 1


def show_answer(results: Results) -> None:
    """Print which learners to take; nothing if only one learner ran."""
    sentences = results.answer()
    if not sentences:
        return
    for line in wrap_lines(sentences):
        click.echo(line)
    click.echo()


def show_table(table: ComparisonTable, form: str = "terminal") -> None:
    """Print a table in a format. A terminal shows the best values in bold and continues wide tables below."""
    if form == "terminal":
        click.echo(table_to_terminal(table, colour=sys.stdout.isatty(), width=reader_width()), nl=False)
    else:
        click.echo(table.render(form), nl=False)


def show_grid(grid: Grid, form: str = "terminal") -> None:
    """Print a grid in a format; at a terminal within its width."""
    if form == "terminal":
        click.echo(grid_to_terminal(grid, width=reader_width()), nl=False)
    else:
        click.echo(grid.render(form), nl=False)


def show_page_hint(results: Results) -> None:
    """Print the command that makes a page of the results."""
    folder = results.folders[0]
    click.echo(f"Interactive page of these results: `harness page {folder}`", err=True)


def report_failures(results: Results) -> int:
    """Print the number of failed trials and return the exit code."""
    failed = [record for record in results.records if record.status != "ok"]
    if failed:
        where = ""
        if any(record.traceback for record in failed):
            first = next(record for record in failed if record.traceback)
            where = f" Tracebacks: `harness show {results.folders[0]} {shlex.quote(first.label)}`."
        print_warning(
            f"{len(failed)} of {counted(len(results.records), 'trial')} failed.{where} Use --retry-failed to run them "
            "again."
        )
    return FAILED_TRIALS if failed or results.incompatible else 0
