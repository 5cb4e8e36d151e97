"""Rows to be coded, some at a time, from CSV, TSV, JSON lines, Parquet or plain lines: a file of any size fits."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from harness.errors import DataError

BATCH_ROWS = 8192
FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".txt": "lines"}
"""Endings of files and what is in them; `.gz` may follow each but that of Parquet."""
DELIMITERS = {"csv": ",", "tsv": "\t"}
STDIN = "-"
LINE_COLUMN = "text"
"""What the only column of plain lines is called."""


class Absent:
    """What stands in a column that a row of JSON lines does not have; an empty cell in CSV."""

    def __str__(self) -> str:
        return ""


ABSENT = Absent()


@dataclass(frozen=True)
class RowBatch:
    """Some rows of a table."""

    columns: tuple[str, ...]
    rows: list[list[Any]]
    first: int
    """The number of the first of them, from 1."""
    share: float | None
    """How much of the file has been read; None where nobody knows."""


def format_of(path: str, given: str | None = None) -> str:
    """What a file holds, by its ending; DataError where that is not known."""
    if given:
        return given
    if path == STDIN:
        return "lines"
    endings = [suffix.lower() for suffix in Path(path).suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
    if endings and endings[-1] in FORMATS:
        return FORMATS[endings[-1]]
    raise DataError(f"expected a name that ends in {', '.join(FORMATS)}", culprit=path)


def read_batches(source: str, form: str, encoding: str = "utf-8") -> Iterator[RowBatch]:
    """The rows of a file, or of standard input (`-`), in batches: at least one, even where it has no row."""
    try:
        if form == "parquet":
            yield from _parquet_batches(source)
            return
        with _open_bytes(source) as raw:
            size = Path(source).stat().st_size if source != STDIN else None
            marked = "utf-8-sig" if encoding == "utf-8" else encoding  # some programs begin UTF-8 with a mark
            lines = io.TextIOWrapper(_unpacked(raw, source), encoding=marked, newline="")
            yield from _measured(_text_batches(lines, form, source), raw, size)
    except UnicodeDecodeError as error:
        raise DataError(
            f"is not {encoding}: byte {error.object[error.start]:#04x} ({error.reason})",
            culprit=source,
            next_step="name its encoding, such as --encoding latin-1",
        ) from None
    except LookupError:
        raise DataError(f"there is no encoding {encoding!r}", culprit=source) from None
    except (OSError, EOFError, csv.Error) as error:
        raise DataError(f"cannot be read: {getattr(error, 'strerror', None) or error}", culprit=source) from None


def _open_bytes(source: str) -> IO[bytes]:
    return open(source, "rb") if source != STDIN else open(sys.stdin.fileno(), "rb", closefd=False)


def _unpacked(raw: IO[bytes], source: str) -> IO[bytes]:
    return gzip.open(raw) if source.endswith(".gz") else raw  # type: ignore[return-value]  # a file of bytes as well


def _measured(batches: Iterable[RowBatch], raw: IO[bytes], size: int | None) -> Iterator[RowBatch]:
    """The same batches, with how much of the file has been read."""
    for batch in batches:
        share = raw.tell() / size if size else None
        yield RowBatch(batch.columns, batch.rows, batch.first, share)


def _text_batches(lines: io.TextIOWrapper, form: str, source: str) -> Iterator[RowBatch]:
    if form == "jsonl":
        return _json_batches(lines, source)
    if form == "lines":
        stripped = ([line.rstrip("\r\n")] for line in lines)
        return _in_batches((LINE_COLUMN,), stripped, 1)
    return _csv_batches(lines, DELIMITERS[form], source)


def _in_batches(columns: Sequence[str], rows: Iterator[list[Any]], first: int) -> Iterator[RowBatch]:
    batch = list(islice(rows, BATCH_ROWS))
    yield RowBatch(tuple(columns), batch, first, None)
    while len(batch) == BATCH_ROWS:
        first += BATCH_ROWS
        batch = list(islice(rows, BATCH_ROWS))
        yield RowBatch(tuple(columns), batch, first, None)


def _csv_batches(lines: Iterable[str], delimiter: str, source: str) -> Iterator[RowBatch]:
    reader = csv.reader(lines, delimiter=delimiter)
    columns = next(reader, None)
    if columns is None:
        raise DataError("is empty: expected a first line with the names of the columns", culprit=source)
    for batch in _in_batches(columns, filter(None, reader), 1):
        for number, row in enumerate(batch.rows, start=batch.first):
            if len(row) != len(columns):
                raise DataError(f"row {number} has {len(row)} values for {len(columns)} columns", culprit=source)
        yield batch


def _json_batches(lines: Iterable[str], source: str) -> Iterator[RowBatch]:
    """Every key of a batch is a column; what a row lacks is `ABSENT`."""
    filled = (line for line in lines if line.strip())
    first = 1
    while True:
        found = [_json_row(line, number, source) for number, line in enumerate(islice(filled, BATCH_ROWS), start=first)]
        if not found and first == 1:
            raise DataError("is empty: expected an object in each line", culprit=source)
        columns: dict[str, None] = {}
        for row in found:
            columns |= dict.fromkeys(row)
        yield RowBatch(tuple(columns), [[row.get(name, ABSENT) for name in columns] for row in found], first, None)
        if len(found) < BATCH_ROWS:
            return
        first += BATCH_ROWS


def _json_row(line: str, number: int, source: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DataError(f"row {number} is no JSON: {error}", culprit=source) from None
    if not isinstance(row, dict):
        raise DataError(f"row {number} is {line.strip()[:40]}: expected an object with keys", culprit=source)
    return row


def _parquet_batches(source: str) -> Iterator[RowBatch]:
    try:
        from pyarrow import ArrowInvalid, parquet  # noqa: PLC0415 (an extra)
    except ImportError:
        raise DataError(
            "reading Parquet needs pyarrow", culprit=source, next_step="pip install 'manyclass-harness[parquet]'"
        ) from None
    try:
        file = parquet.ParquetFile(source)
    except ArrowInvalid as error:
        raise DataError(f"is no Parquet file: {error}", culprit=source) from None
    columns, total, first = tuple(file.schema_arrow.names), file.metadata.num_rows, 1
    if not total:
        yield RowBatch(columns, [], 1, None)
    for batch in file.iter_batches(batch_size=BATCH_ROWS):
        rows = [list(row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]
        yield RowBatch(columns, rows, first, (first - 1 + len(rows)) / total)
        first += len(rows)
