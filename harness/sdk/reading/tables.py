r"""Rows of table files: CSV and its relatives, JSON lines, Parquet, plain lines; compressed or not.

Training, prediction and the commands that describe data all read files with `open_table`: they read a file alike.
The content decides the format, the delimiter and the compression; the name of a file only has to agree. Rows are read
in batches, each row with its line number: a file of any size fits into memory.

Examples
--------
>>> from io import BytesIO
>>> with open_table(BytesIO(b"title;code\nnight nurse;7\n"), name="titles.csv") as table:
...     print(table.kind, table.columns, list(table.read([0])))
CSV with ';' ('title', 'code') [(2, ['night nurse'])]
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import numpy as np

from harness.errors import DataError
from harness.host.contract import TableLayout
from harness.sdk.reading.delimited import DELIMITERS, choose_delimiter, read_records, wrong_width
from harness.sdk.reading.lines import SetOption, as_flag, read_lines, skip_mark
from harness.sdk.reading.raw import SUFFIXES, is_compressed, open_raw, unreadable, without_suffix

Format = Literal["csv", "tsv", "jsonl", "parquet", "lines"]
FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "lines",
}
"""Formats by the ending of a name, which `.gz`, `.bz2`, `.xz` or `.zst` may follow."""
PARQUET_MAGIC, ZIP_MAGIC = b"PAR1", b"PK\x03\x04"
LINE_COLUMN = "text"
"""The only column of plain lines."""
BATCH_ROWS = 8192

Item = TypeVar("Item")
Cells = Iterator[tuple[int, list[Any]]]
"""Line number (Parquet: row number) and cells of each row."""


def _no_progress() -> None:
    return None


@dataclass(frozen=True)
class Table:
    """An open table.

    Attributes
    ----------
    name : str
        Name of the file in messages.
    kind : str
        The format in words, such as "CSV with ';'".
    columns : tuple of str
        Names of the columns; of JSON lines, the keys of the first object.
    read : callable
        Function that yields line number and cells of the columns at the given positions.
    values : mapping of int to sequence of str
        By position of a column, all values that it may have, where the table declares them.
    layout : TableLayout
        How the file is written.
    batches : callable or None
        Function that yields all rows with all columns, for formats that have a faster way than `read`.
    progress : callable
        Function that returns the share of the file that has been read; None if its size is unknown.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    read: Callable[[Sequence[int]], Cells]
    values: Mapping[int, Sequence[str]] = field(default_factory=dict)
    layout: TableLayout = field(default_factory=TableLayout)
    batches: Callable[[], Iterator[RowBatch]] | None = None
    progress: Callable[[], float | None] = _no_progress


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a table file; an option that is None is detected.

    `fallback_delimiter` is used where the detected delimiter does not give the columns in `expected`.
    """

    format: Format | None = None
    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    fallback_delimiter: str | None = None
    expected: tuple[str, ...] = ()
    set_option: SetOption = as_flag


@dataclass(frozen=True)
class RowBatch:
    """Some rows of a table with all their columns."""

    columns: tuple[str, ...]
    cells: list[Sequence[Any]]
    """The cells of each column."""
    lines: Sequence[int]
    """Line number of each row."""

    @classmethod
    def of(cls, columns: tuple[str, ...], rows: Sequence[Sequence[Any]], lines: Sequence[int]) -> RowBatch:
        """Return a batch of rows.

        Parameters
        ----------
        columns : tuple of str
            Names of the columns.
        rows : sequence of sequences
            The cells of each row.
        lines : sequence of int
            Line number of each row.

        Returns
        -------
        RowBatch
            The same rows, column by column.
        """
        return cls(columns, list(zip(*rows, strict=True)) or [()] * len(columns), lines)

    @property
    def rows(self) -> list[list[Any]]:
        """The cells of each row."""
        return list(map(list, zip(*self.cells, strict=True))) or [[] for _ in self.lines]


class Absent:
    """Type of `ABSENT`, which fills the columns that an object of JSON lines lacks; an empty cell in CSV."""

    def __str__(self) -> str:
        return ""


ABSENT = Absent()


@contextmanager
def open_table(source: Path | IO[bytes], options: ReadOptions | None = None, *, name: str = "") -> Iterator[Table]:
    """Open a table file of any format.

    Parameters
    ----------
    source : Path or IO of bytes
        Path of a file, or an open binary file such as standard input.
    options : ReadOptions, optional
        Format, delimiter, header and encoding, where they should not be detected.
    name : str, default=""
        Name of the file in messages; needed for open files.

    Yields
    ------
    Table
        Column names, and a reader of rows.

    Raises
    ------
    DataError
        If the file cannot be read; names the file, the line, and the next step.
    """
    options = options or ReadOptions()
    name = name or str(source)
    with ExitStack() as stack:
        raw = _open(source, name, stack)
        is_packed = is_compressed(raw.peek(16))
        stream = stack.enter_context(open_raw(raw, name=name))
        start = stream.peek(64)[:64]
        _check_name(name, start, is_packed)
        if start.startswith(PARQUET_MAGIC):
            yield _open_parquet(source if isinstance(source, Path) else raw, name, is_packed)
            return
        codec = skip_mark(stream, name, options.encoding)
        table = _open_text(stream, name, replace(options, encoding=codec))
        layout = replace(table.layout, encoding=options.encoding)
        yield replace(table, layout=layout, progress=_progress_of(raw, source))


def read_batches(table: Table) -> Iterator[RowBatch]:
    """Read all rows of a table in batches.

    Parameters
    ----------
    table : Table
        An open table.

    Yields
    ------
    RowBatch
        At most `BATCH_ROWS` rows. There is at least one batch, even if it has no rows.
    """
    if table.batches is not None:
        yield from table.batches()
        return
    for taken in _in_batches(table.read(range(len(table.columns)))):
        yield RowBatch.of(table.columns, [row for _, row in taken], [line for line, _ in taken])


def _object_batches(objects: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[RowBatch]:
    """Each key of a batch is a column; a row that lacks it has `ABSENT` there."""
    for taken in _in_batches(objects):
        columns = tuple(dict.fromkeys(chain.from_iterable(row for _, row in taken)))
        rows = [[row.get(key, ABSENT) for key in columns] for _, row in taken]
        yield RowBatch.of(columns, rows, [line for line, _ in taken])


def _in_batches(rows: Iterator[Item]) -> Iterator[list[Item]]:
    """Yield full batches, then what is left; an empty batch only for a table without rows."""
    batch = list(islice(rows, BATCH_ROWS))
    yield batch
    while len(batch) == BATCH_ROWS:
        batch = list(islice(rows, BATCH_ROWS))
        if batch:
            yield batch


def find_columns(name: str, columns: Sequence[str], wanted: Any, purpose: str) -> tuple[int, ...]:
    """Return the positions of columns given by name, by number from 1, or as several names: `title+body`.

    Parameters
    ----------
    name : str
        Name of the file in messages.
    columns : sequence of str
        The columns of the file.
    wanted : str, int, sequence or None
        Column names or numbers; None for no column.
    purpose : str
        What the column is needed for, in messages: "text".

    Returns
    -------
    tuple of int
        Positions from 0.

    Raises
    ------
    DataError
        If a column does not exist; lists the columns that do, and the most similar name.
    """
    if wanted is None:
        return ()
    parts = [wanted]
    if isinstance(wanted, list | tuple):
        parts = list(wanted)
    elif isinstance(wanted, str) and wanted not in columns:
        parts = wanted.split("+")
    return tuple(_find_column(name, columns, part, purpose) for part in parts)


def list_columns(columns: Sequence[str]) -> str:
    """Return the names of columns for a message: "Columns: 'title', 'code'", 20 at most.

    Parameters
    ----------
    columns : sequence of str
        The columns of a file.
    """
    shown = list(map(repr, columns[:20]))
    if len(columns) > 20:
        shown.append("...")
    return f"Columns: {', '.join(shown)}"


def join_texts(cells: Iterable[Any]) -> str:
    """Return the text of a row: the texts of its cells with spaces between them."""
    return " ".join(map(as_text, cells))


def as_text(cell: Any) -> str:
    """Return a cell as text: empty for a missing value, several values with spaces between them.

    Parameters
    ----------
    cell : object
        A value; a list for several values.
    """
    if cell is None or cell is ABSENT or (isinstance(cell, float) and cell != cell):  # noqa: PLR0124 (NaN)
        return ""
    if is_list(cell):
        return " ".join(map(as_text, cell))
    return str(cell)


def is_list(cell: Any) -> bool:
    """Return whether a cell holds several values: a list, a tuple or an array."""
    return isinstance(cell, list | tuple | np.ndarray)


def format_of_name(name: str) -> Format | None:
    """Return the format of a file by the ending of its name, such as "csv"; None for other endings.

    Parameters
    ----------
    name : str
        Name or path; a suffix such as .gz is skipped.
    """
    return FORMATS.get(Path(without_suffix(name.lower())).suffix)


# -- opening ---------------------------------------------------------------------------------------------------------


def _open(source: Path | IO[bytes], name: str, stack: ExitStack) -> BufferedReader:
    stream: Any = source
    if isinstance(source, Path):
        try:
            stream = stack.enter_context(source.open("rb"))
        except OSError as error:
            raise unreadable(name, error) from error
    return stream if isinstance(stream, BufferedReader) else BufferedReader(stream)


def _progress_of(raw: BufferedReader, source: Path | IO[bytes]) -> Callable[[], float | None]:
    size = source.stat().st_size if isinstance(source, Path) else 0

    def progress() -> float | None:
        return raw.tell() / size if size else None

    return progress


def _check_name(name: str, start: bytes, is_packed: bool) -> None:
    """Raise DataError if the name and the content of a file disagree: one of them is wrong."""
    if not start:
        return
    begins = f"but begins with {start[:20].decode(errors='replace')!r}"
    packing = Path(name).suffix.lower()
    if packing in SUFFIXES and not is_packed:
        raise DataError(f"is named {packing}, {begins}", culprit=name, next_step="Rename it, or get the file again.")
    if start.startswith(ZIP_MAGIC):
        raise DataError("is a zip archive or an Excel workbook", culprit=name, next_step="Save the table as CSV.")
    ending = Path(without_suffix(name.lower())).suffix
    is_parquet = start.startswith(PARQUET_MAGIC)
    if ending not in FORMATS or ending == ".txt" or is_parquet == (FORMATS[ending] == "parquet"):
        return
    way = "Rename it to .parquet." if is_parquet else "Rename it to .csv or .tsv, or get the file again."
    raise DataError(f"is named {ending}, {begins} (Parquet begins with 'PAR1')", culprit=name, next_step=way)


def _open_text(stream: BufferedReader, name: str, options: ReadOptions) -> Table:
    """Return the table in a text file, whose encoding is known."""
    lines = read_lines(stream, name, options.encoding, options.set_option)
    if options.format == "lines":
        return _plain_lines(lines, name)
    blank, first = _first_line(lines, name)
    start = first.lstrip()
    if options.format == "jsonl" or (options.format is None and start.startswith("{")):
        return _json_lines(chain([first], lines), name, blank)
    if options.format is None and start.startswith("["):
        raise DataError(
            "is one JSON list, expected JSON lines", culprit=name, next_step="Write one object on each line."
        )
    if options.format == "parquet":
        raise DataError(f"is no Parquet file: it begins with {start[:20]!r}", culprit=name)
    return _delimited(chain([first], lines), first, name, blank, options)


def _first_line(lines: Iterator[str], name: str) -> tuple[int, str]:
    """Return the first line that is not blank, and the number of lines before it."""
    for blank, line in enumerate(lines):
        if line.strip():
            return blank, line
    raise DataError("is empty", culprit=name, next_step="Expected a line of column names, then a line for each row.")


def _plain_lines(lines: Iterator[str], name: str) -> Table:
    def read(positions: Sequence[int]) -> Cells:
        for batch in batches():
            for number, line in zip(batch.lines, batch.cells[0], strict=True):
                yield number, [line] * len(positions)

    def batches() -> Iterator[RowBatch]:
        number = 1
        for taken in _in_batches(lines):
            texts = [line.rstrip("\r\n") for line in taken]
            yield RowBatch((LINE_COLUMN,), [texts], range(number, number + len(texts)))
            number += len(texts)

    return Table(name, "lines", (LINE_COLUMN,), read, layout=TableLayout("lines"), batches=batches)


# -- CSV and its relatives -------------------------------------------------------------------------------------------


def _delimited(lines: Iterator[str], first: str, name: str, blank: int, options: ReadOptions) -> Table:
    delimiter = _set_delimiter(first, name, options)
    end = "\r" if first.endswith("\r") else "\n"
    found = read_records(lines, name, delimiter, before=blank, end=end, size=BATCH_ROWS)
    begins, cells = next(found)
    has_header = options.header is not False
    columns = tuple(map(str.strip, cells[0])) if has_header else tuple(map(str, range(1, len(cells[0]) + 1)))
    _check_distinct(name, columns)

    def records() -> Iterator[tuple[Sequence[int], list[list[str]]]]:
        for numbers, rows in found if has_header else chain([(begins, cells)], found):
            if set(map(len, rows)) != {len(columns)}:
                place = next(place for place, row in enumerate(rows) if len(row) != len(columns))
                raise wrong_width(name, numbers[place], len(rows[place]), len(columns), delimiter)
            yield numbers, rows

    def batches() -> Iterator[RowBatch]:
        is_empty = True
        for numbers, rows in records():
            is_empty = False
            yield RowBatch.of(columns, rows, numbers)
        if is_empty:
            yield RowBatch.of(columns, [], [])

    def read(positions: Sequence[int]) -> Cells:
        for numbers, rows in records():
            for line, row in zip(numbers, rows, strict=True):
                yield line, [row[position] for position in positions]

    kind = DELIMITERS.get(delimiter, f"CSV with {delimiter!r}")
    form: Format = "tsv" if delimiter == "\t" else "csv"
    return Table(name, kind, columns, read, layout=TableLayout(form, delimiter, has_header), batches=batches)


def _set_delimiter(first: str, name: str, options: ReadOptions) -> str:
    """Return the delimiter in the options; without one, detect it in the first line."""
    if options.delimiter is None:
        is_tsv = options.format == "tsv"
        return "\t" if is_tsv else choose_delimiter(first, options.expected, options.fallback_delimiter)
    if len(options.delimiter) != 1 or options.delimiter in '\r\n"':
        raise DataError(f"delimiter={options.delimiter!r} is not a single character", culprit=name)
    return options.delimiter


def _check_distinct(name: str, columns: Sequence[str]) -> None:
    for column, times in Counter(columns).items():
        if column and times > 1:
            raise DataError(
                f"two columns are called {column!r}",
                culprit=name,
                next_step="Rename one, or set header=false if the first line holds no names.",
            )


# -- JSON lines ------------------------------------------------------------------------------------------------------


def _json_lines(lines: Iterator[str], name: str, blank: int) -> Table:
    found = _objects(lines, name, blank)
    first = next(found)
    columns = tuple(first[1])

    def objects() -> Iterator[tuple[int, dict[str, Any]]]:
        return chain([first], found)

    def read(positions: Sequence[int]) -> Cells:
        keys = [columns[position] for position in positions]
        for number, row in objects():
            yield number, [row.get(key) for key in keys]

    def batches() -> Iterator[RowBatch]:
        return _object_batches(objects())

    return Table(name, "JSON lines", columns, read, layout=TableLayout("jsonl"), batches=batches)


def _objects(lines: Iterator[str], name: str, blank: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number and object of each line that is not blank."""
    for number, line in enumerate(lines, blank + 1):
        if not line.strip():
            continue
        problem = ""
        try:
            row = json.loads(line)
        except RecursionError:
            problem = "not JSON: nested too deeply"
        except ValueError as error:
            problem = f"not JSON: {getattr(error, 'msg', error)}"  # without the place, which counts from this line
        if not problem and not isinstance(row, dict):
            problem = f"found {type(row).__name__}"
        if problem:
            raise DataError(problem, culprit=f"{name}, line {number}", next_step="Expected an object on each line.")
        yield number, row


# -- Parquet ---------------------------------------------------------------------------------------------------------


def _open_parquet(source: Path | BufferedReader, name: str, is_packed: bool) -> Table:
    parquet = _parquet_file(source, name, is_packed)
    columns, total = tuple(parquet.schema_arrow.names), parquet.metadata.num_rows
    done = 0

    def read(positions: Sequence[int]) -> Cells:
        nonlocal done
        for cells in _parquet_rows(parquet, name, [columns[position] for position in positions]):
            done += 1
            yield done, list(cells)

    def progress() -> float | None:
        return done / total if total else None

    return Table(name, "Parquet", columns, read, layout=TableLayout("parquet"), progress=progress)


def _parquet_file(source: Path | BufferedReader, name: str, is_packed: bool) -> Any:
    try:
        from pyarrow import ArrowException  # noqa: PLC0415 (an extra that may be missing)
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415 (an extra that may be missing)
    except ImportError:
        raise DataError(
            "Parquet needs pyarrow", culprit=name, next_step="Run `pip install 'manyclass-harness[parquet]'`."
        ) from None
    if is_packed or not (isinstance(source, Path) or source.seekable()):
        raise DataError("Parquet cannot be read from a stream", culprit=name, next_step="Write it to a plain file.")
    try:
        return ParquetFile(source)
    except (ArrowException, OSError) as error:
        raise DataError(f"cannot be read as Parquet: {error}", culprit=name) from error


def _parquet_rows(parquet: Any, name: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    from pyarrow import ArrowException  # noqa: PLC0415 (an extra that may be missing)

    batches = parquet.iter_batches(batch_size=BATCH_ROWS, columns=list(dict.fromkeys(columns)))
    try:
        for batch in batches:
            yield from zip(*(batch.column(column).to_pylist() for column in columns), strict=True)
    except (ArrowException, OSError) as error:
        raise DataError(f"cannot be read as Parquet: {error}", culprit=name) from error


# -- columns ---------------------------------------------------------------------------------------------------------


def _find_column(name: str, columns: Sequence[str], wanted: Any, purpose: str) -> int:
    """Return the position of a column given by its name, or by its number from 1."""
    names = list(map(str.strip, columns))
    text = str(wanted).strip()
    if text in names:
        return names.index(text)
    if isinstance(wanted, int) and 1 <= wanted <= len(names):
        return wanted - 1
    near = get_close_matches(text, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise DataError(
        f"no column {wanted!r} for the {purpose}", culprit=name, next_step=f"{list_columns(columns)}.{hint}"
    )
