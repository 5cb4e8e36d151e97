"""Rows out of CSV, TSV, JSON lines and Parquet files, one at a time, each with the line it begins on."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

from harness.errors import DataError
from harness.sdk.reading.raw import open_raw
from harness_files.columns import looks_like_names
from harness_files.places import PACKINGS, read_lines
from harness_files.plugin import PARQUET, TEXTS

DELIMITERS = {",": "CSV", "\t": "TSV", ";": "CSV with ';'", "|": "CSV with '|'"}

Cells = Iterator[tuple[int, list[Any]]]


def count_words(min_df: int) -> str:
    """The representation that counts words of the user's texts, in any script, but for those of too few texts."""
    return f"words(tokens='any', min_df={min_df}, weighting='raw')"


@dataclass(frozen=True)
class Table:
    """A file of rows: its columns, and a function that reads some of them."""

    name: str
    kind: str
    columns: tuple[str, ...]
    read: Callable[[Sequence[int]], Cells]
    """Line (of Parquet: row) and cells of the columns at these places, in their order."""
    values: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """By the place of a column, all that it may hold, where the table says so."""


@contextmanager
def open_table(
    file: Path,
    asked: Mapping[str, Any],
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> Iterator[Table]:
    """A table of any kind; its kind is told by how it begins."""
    with open_raw(file) as stream:
        start = stream.peek(64)[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
        _check_ending(file, start)
        if start.startswith(b"PAR1"):
            yield _parquet(file)
        elif start.startswith(b"{"):
            yield _json_lines(stream, str(file), encoding)
        elif start.startswith(b"["):
            raise DataError(f"{file} is one JSON list: expected JSON lines, an object on each line")
        else:
            yield _delimited(stream, str(file), asked, delimiter, header, encoding)


def _check_ending(file: Path, start: bytes) -> None:
    """DataError where the name says Parquet and the content does not, or the other way round: one of them is wrong."""
    endings = [part.lower() for part in file.suffixes if part.lower() not in PACKINGS]
    ending = endings[-1] if endings else ""
    is_parquet = start.startswith(b"PAR1")
    if not start or ending not in (*PARQUET, *TEXTS) or is_parquet == (ending in PARQUET):
        return
    way = f"rename it to {', '.join(TEXTS[:2])} or what it is, or get it again"
    if is_parquet:
        way = "rename it to .parquet"
    begins = start[:20].decode(errors="replace")
    raise DataError(f"{file} is named {ending}, but begins with {begins!r} (Parquet begins with 'PAR1'): {way}")


# -- CSV and TSV -----------------------------------------------------------------------------------------------------


def _delimited(
    stream: IO[bytes],
    name: str,
    asked: Mapping[str, Any],
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
) -> Table:
    csv.field_size_limit(sys.maxsize)  # a text may be long
    lines = read_lines(stream, name, encoding)
    blank, first = _first_line(lines, name)
    mark = delimiter or _plainest_delimiter(first)
    if len(mark) != 1:
        raise DataError(f"{name}: delimiter={mark!r} is no single character")
    records = _records(chain([first], lines), name, mark, blank)
    line, cells = next(records)
    if header is None:
        _check_told(first, cells, name, asked)
    if header is False:
        columns = tuple(map(str, range(1, len(cells) + 1)))
        rows: Iterator[tuple[int, list[str]]] = chain([(line, cells)], records)
    else:
        columns = tuple(map(str.strip, cells))
        rows = records
    _check_names(name, columns)

    def read(places: Sequence[int]) -> Cells:
        for line, row in rows:
            if len(row) != len(columns):
                raise DataError(
                    f"{name}, line {line}: {len(row)} columns, expected {len(columns)} as in the first line "
                    f"(separated by {mark!r}): put quotes round a cell that holds one, or set the delimiter"
                )
            yield line, [row[place] for place in places]

    return Table(name, DELIMITERS.get(mark, f"CSV with {mark!r}"), columns, read)


def _first_line(lines: Iterator[str], name: str) -> tuple[int, str]:
    """The first line that is not blank, and how many are before it."""
    for blank, line in enumerate(lines):
        if line.strip():
            return blank, line
    raise DataError(f"{name} is empty: expected a line of column names, then a line for each text")


def _check_told(first: str, cells: Sequence[str], name: str, asked: Mapping[str, Any]) -> None:
    """DataError where columns go by number and nothing tells whether the first line holds names.

    Where they go by name, it does: if it does not, then the choice of columns asks.
    """
    by_number = any(isinstance(value, int) for value in asked.values())
    if by_number and not looks_like_names(cells, asked):
        raise DataError(
            f"{name}: does the first line, {first.strip()[:60]!r}, hold names? Say header=true or header=false"
        )


def _plainest_delimiter(line: str) -> str:
    """The mark that stands most often in the first line outside of quotes; a comma where none does."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(DELIMITERS, key=bare.count)


def _records(lines: Iterator[str], name: str, mark: str, before: int) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line on which they begin, `before` more than were given; blank lines are passed over."""
    reader = csv.reader(lines, delimiter=mark, strict=True)
    begins = before + 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(
                f"{name}, line {begins}: {error}: a quote inside a quoted cell is written twice, and each is closed"
            ) from error
        if row:
            yield begins, row
        begins = before + reader.line_num + 1


def _check_names(name: str, columns: Sequence[str]) -> None:
    for column, times in Counter(columns).items():
        if column and times > 1:
            raise DataError(f"{name}: two columns are called {column!r}: rename one")


# -- JSON lines ------------------------------------------------------------------------------------------------------


def _json_lines(stream: IO[bytes], name: str, encoding: str | None) -> Table:
    objects = _objects(read_lines(stream, name, encoding), name)
    first = next(objects)
    columns = tuple(first[1])

    def read(places: Sequence[int]) -> Cells:
        keys = [columns[place] for place in places]
        for number, found in chain([first], objects):
            yield number, [found.get(key) for key in keys]

    return Table(name, "JSON lines", columns, read)


def _objects(lines: Iterator[str], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The object of each line that is not blank, and the line's number."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            reason = getattr(error, "msg", error)  # without the place, which counts from this line's start
            raise DataError(f"{name}, line {number}: not JSON: {reason}: expected an object on each line") from error
        if not isinstance(found, dict):
            raise DataError(f"{name}, line {number}: expected an object, found {type(found).__name__}")
        yield number, found


# -- Parquet ---------------------------------------------------------------------------------------------------------


def _parquet(file: Path) -> Table:
    try:
        from pyarrow import ArrowException  # noqa: PLC0415 (an extra that may be missing)
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415 (an extra that may be missing)
    except ImportError:
        raise DataError(f"{file}: Parquet needs pyarrow: pip install 'manyclass-harness[parquet]'") from None
    try:
        parquet = ParquetFile(file)
    except (ArrowException, OSError) as error:
        raise DataError(f"{file} cannot be read as Parquet: {error}") from error
    columns = tuple(parquet.schema_arrow.names)

    def read(places: Sequence[int]) -> Cells:
        number = 0
        wanted = [columns[place] for place in places]
        for batch in parquet.iter_batches(batch_size=8192, columns=list(dict.fromkeys(wanted))):
            found = [batch.column(name).to_pylist() for name in wanted]
            for cells in zip(*found, strict=True):
                number += 1
                yield number, list(cells)

    return Table(str(file), "Parquet", columns, read)
