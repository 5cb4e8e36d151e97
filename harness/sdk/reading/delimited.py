"""Rows of CSV and its relatives: the delimiter, the line on which each row begins, errors that name the line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

from harness.errors import DataError

DELIMITERS = {",": "CSV", "\t": "TSV", ";": "CSV with ';'", "|": "CSV with '|'"}
MAX_CELL = 2**26
"""Characters in one cell: a quote that is never closed ends here."""


def choose_delimiter(first: str, expected: Sequence[str] = (), fallback: str | None = None) -> str:
    """Return the most frequent mark outside of quotes in the first line.

    Parameters
    ----------
    first : str
        The first line.
    expected : sequence of str, default=()
        Columns that the file should have.
    fallback : str, optional
        The delimiter to use instead if it gives the expected columns, and the most frequent mark does not.

    Returns
    -------
    str
        A character.
    """
    bare = re.sub(r'"[^"]*"', "", first)
    detected = max(DELIMITERS, key=bare.count)
    is_found = _has_columns(first, detected, expected)
    if fallback and not is_found and _has_columns(first, fallback, expected):
        return fallback
    return detected


def _has_columns(first: str, delimiter: str, expected: Sequence[str]) -> bool:
    try:
        cells = next(csv.reader([first], delimiter=delimiter), [])
    except csv.Error:  # reading the rows raises an error with the line
        return False
    return set(expected) <= set(map(str.strip, cells))


def read_records(
    lines: Iterator[str], name: str, delimiter: str, *, before: int, end: str, size: int
) -> Iterator[tuple[Sequence[int], list[list[str]]]]:
    r"""Read rows in batches. Blank lines are skipped. The rows before an error come first.

    Parameters
    ----------
    lines : iterator of str
        Lines with their ends.
    name : str
        Name of the file in messages.
    delimiter : str
        The character between cells.
    before : int
        Number of lines before the first one.
    end : str
        The end of a line, "\n" or "\r".
    size : int
        Maximum number of rows in a batch. The first row comes alone, since it may be a header.

    Yields
    ------
    sequence of int, list of list of str
        The line on which each row begins, and the cells of each row; at least one row.

    Raises
    ------
    DataError
        If quotes are wrong, or if a line cannot be read.
    """
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    begins, wanted = before + 1, 1
    problem: csv.Error | DataError | None = None
    is_open = True
    while is_open:
        rows: list[list[str]] = []
        try:
            rows.extend(islice(reader, wanted))  # keeps the rows before an error
        except (csv.Error, DataError) as error:
            problem = error
        is_open, wanted = len(rows) == wanted, size
        numbers, begins = _number(rows, begins, before + reader.line_num + 1, end)
        if not all(rows):
            kept = [(number, row) for number, row in zip(numbers, rows, strict=True) if row]
            numbers, rows = [number for number, _ in kept], [row for _, row in kept]
        if rows:
            yield numbers, rows
    if isinstance(problem, csv.Error):
        raise _bad_quotes(name, begins, problem)
    if problem is not None:
        raise problem


def _number(rows: list[list[str]], first: int, reached: int, end: str) -> tuple[Sequence[int], int]:
    """Return the line on which each row begins, and the line after the last row.

    Every row has one line if the reader has reached the line after as many lines. Otherwise cells contain line ends, or
    the reader stopped inside of a row.
    """
    if reached - first == len(rows):
        return range(first, reached), reached
    heights = (1 + sum(cell.count(end) for cell in row) for row in rows)
    *begins, following = accumulate(heights, initial=first)
    return begins, following


def _bad_quotes(name: str, line: int, error: csv.Error) -> DataError:
    """Return the error for a row that cannot be read; an open quote takes in the rows below."""
    problem = str(error)
    if "unexpected end" in problem or "field limit" in problem:
        problem = "a quote is opened and never closed: it takes in all lines below"
    return DataError(
        problem,
        culprit=f"{name}, line {line}",
        next_step="Close each quote, and write a quote inside a quoted cell twice.",
    )


def wrong_width(name: str, line: int, found: int, expected: int, delimiter: str) -> DataError:
    """Return the error for a row with another number of columns than the first one.

    Parameters
    ----------
    name : str
        Name of the file.
    line : int
        The line on which the row begins.
    found, expected : int
        Numbers of columns.
    delimiter : str
        The character between cells.

    Returns
    -------
    DataError
        The error, to raise.
    """
    return DataError(
        f"{found} columns, expected {expected} as in the first line (separated by {delimiter!r})",
        culprit=f"{name}, line {line}",
        next_step="Put quotes around a cell that holds one, or set the delimiter.",
    )
