"""Rows as they are coded, into CSV, TSV, JSON lines or Parquet: a file is there when it is whole, and never in part."""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from harness.api.row_reading import ABSENT, DELIMITERS
from harness.errors import DataError

Row = Sequence[Any]


class RowWriter(Protocol):
    """What rows are written to."""

    def write(self, columns: Sequence[str], rows: Sequence[Row]) -> None: ...

    def close(self) -> None: ...


class CsvWriter:
    """A line a row, below the names of the columns."""

    def __init__(self, file: IO[str], delimiter: str) -> None:
        self.file = file
        self.writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        self.columns: tuple[str, ...] | None = None

    def write(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        if self.columns is None:
            self.columns = tuple(columns)
            self.writer.writerow(columns)
        if tuple(columns) != self.columns:
            raise DataError(
                f"later rows have other columns: {', '.join(columns)}", next_step="write JSON lines: --out FILE.jsonl"
            )
        self.writer.writerows(rows)

    def close(self) -> None:
        self.file.flush()


class JsonWriter:
    """An object a line."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def write(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        for row in rows:
            known = {name: value for name, value in zip(columns, row, strict=True) if value is not ABSENT}
            self.file.write(json.dumps(known, ensure_ascii=False, default=str) + "\n")

    def close(self) -> None:
        self.file.flush()


class ParquetWriter:
    """The types of the columns are those of the first rows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer: Any = None

    def write(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        import pyarrow  # noqa: PLC0415 (an extra)
        from pyarrow import parquet  # noqa: PLC0415 (an extra)

        values = list(zip(*rows, strict=True)) or [()] * len(columns)
        table = pyarrow.table({name: _as_nulls(column) for name, column in zip(columns, values, strict=True)})
        if self.writer is None:
            self.writer = parquet.ParquetWriter(self.path, table.schema)
        try:
            self.writer.write_table(table.select(self.writer.schema.names).cast(self.writer.schema))
        except (pyarrow.ArrowInvalid, KeyError) as error:
            raise DataError(
                f"later rows do not have the types of the first ones: {error}", next_step="write --out FILE.csv"
            ) from error

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def _as_nulls(column: Sequence[Any]) -> list[Any]:
    return [None if value is ABSENT else value for value in column]


@contextmanager
def open_writer(path: Path | None, form: str) -> Iterator[RowWriter]:
    """A writer to a file, which appears under its name at the end alone; to standard output where there is no path."""
    if path is None:
        yield _text_writer(sys.stdout, form)
        sys.stdout.flush()
        return
    beside = path.with_name(f".{path.name}.part")
    try:
        if form == "parquet":
            writer: RowWriter = ParquetWriter(beside)
            yield writer
            writer.close()
        else:
            with _open_text(beside, packed=path.suffix.lower() == ".gz") as file:
                writer = _text_writer(file, form)
                yield writer
                writer.close()
        os.replace(beside, path)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror}", culprit=str(path)) from error
    finally:
        beside.unlink(missing_ok=True)


def _open_text(path: Path, *, packed: bool) -> IO[str]:
    if packed:
        return gzip.open(path, "wt", encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


def _text_writer(file: IO[str], form: str) -> RowWriter:
    if form == "jsonl":
        return JsonWriter(file)
    return CsvWriter(file, DELIMITERS.get(form, ","))
