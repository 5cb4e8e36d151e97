"""Predict classes for the rows of a file, batch by batch.

The output has the columns of the input, followed by the predicted classes, their scores and the confidence. An output
file appears only when it is complete. Rows with a low confidence can be written to a second file for review.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from io import StringIO
from itertools import compress
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.errors import DataError, HarnessError, ModelError, next_step_after, reason_of
from harness.files.atomic import staged_file
from harness.host.contract import TableLayout
from harness.models.answers import AnswerOptions, Answers, answer_rows, check_answers
from harness.models.model import NO_CONFIDENCE, Model, check_share
from harness.sdk.reading.tables import (
    ABSENT,
    FORMATS,
    LINE_COLUMN,
    Format,
    ReadOptions,
    RowBatch,
    Table,
    as_text,
    find_columns,
    format_of_name,
    join_texts,
    list_columns,
    open_table,
    read_batches,
)

STDIN = "-"
"""Name of standard input as a source."""
STDIN_NAME = "standard input"
BATCHES_AHEAD = 2
"""Number of batches that are read ahead of the one that is written."""


def open_rows(model: Model, request: PredictionRequest) -> AbstractContextManager[Table]:
    """Open the file of a request as a table. Options that the request leaves open are those of the training data."""
    trained = model.manifest.data.table or TableLayout()
    options = ReadOptions(
        format=request.form or default_format(request.source),
        delimiter=request.delimiter,
        header=trained.header if request.header is None else request.header,
        encoding=request.encoding or trained.encoding,
        fallback_delimiter=trained.delimiter,
        expected=trained.text,
    )
    if request.source == STDIN:
        return open_table(_open_stdin(), options, name=STDIN_NAME)
    return open_table(Path(request.source), options)


def default_format(source: str) -> Format | None:
    """Return "lines" for standard input and .txt files; None for other files, whose format is detected."""
    return "lines" if source == STDIN or format_of_name(source) == "lines" else None


def _open_stdin() -> IO[bytes]:
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except (AttributeError, OSError, ValueError) as error:
        problem = "is closed" if sys.stdin is None or sys.stdin.closed else f"cannot be read ({error})"
        raise DataError(problem, culprit=STDIN_NAME, next_step="Name a file.") from None


def choose_text_columns(model: Model, request: PredictionRequest, table: Table, columns: Sequence[str]) -> list[str]:
    """Return the names of the text columns of a table.

    These are the columns that the request names, else the only column, else those of the training data.

    Parameters
    ----------
    model : Model
        The model, whose manifest has the columns of the training data.
    request : PredictionRequest
        The request.
    table : Table
        The open table.
    columns : sequence of str
        The columns of the table.

    Raises
    ------
    DataError
        If the table lacks these columns. The message lists the columns that it has.
    """
    if request.text is not None:
        is_number = request.text.isdecimal() and request.text not in columns
        wanted = int(request.text) if is_number else request.text
        return [columns[position] for position in find_columns(table.name, columns, wanted, "text")]
    if table.layout.format == "lines":
        return [LINE_COLUMN]
    trained = model.manifest.data.table
    if len(columns) == 1 and not _names_its_columns(trained):
        return [columns[0]]
    if trained is not None and trained.text:
        return _trained_columns(trained.text, table, columns)
    if LINE_COLUMN in columns:
        return [LINE_COLUMN]
    raise DataError(
        f"which column holds the text? {list_columns(columns)}",
        culprit=table.name,
        next_step="Set it with --text COLUMN.",
    )


def _names_its_columns(trained: TableLayout | None) -> bool:
    """Return whether a model was trained on columns that the user named.

    Texts passed in Python have no column names; they are stored as JSON lines in a column `text`. In a CSV or TSV file,
    however, a column `text` was named by the user. A model without named columns accepts a file with any single column.
    """
    if trained is None or not trained.text:
        return False
    return trained.text != (LINE_COLUMN,) or trained.format in ("csv", "tsv")


def _trained_columns(trained: Sequence[str], table: Table, columns: Sequence[str]) -> list[str]:
    missing = [name for name in trained if name not in columns]
    if missing:
        raise DataError(
            f"no column {missing[0]!r}, which the model was trained on. {list_columns(columns)}",
            culprit=table.name,
            next_step="Name the text column with --text COLUMN. If each line is a text, use --format lines.",
        )
    return list(trained)


def texts_of(batch: RowBatch, columns: Sequence[str]) -> list[str]:
    """Return the text of each row, joined from the text columns as in training. A missing cell is an empty text."""
    found = [batch.cells[batch.columns.index(name)] for name in columns if name in batch.columns]
    if len(found) == 1:
        return [cell if type(cell) is str else as_text(cell) for cell in found[0]]
    return list(map(join_texts, zip(*found, strict=True))) or [""] * len(batch.lines)


class RowWriter(Protocol):
    """Writes rows to a file, in batches that have the same columns."""

    def write(self, columns: Sequence[str], cells: Sequence[Sequence[Any]]) -> None:
        """Write the cells of each column; raise DataError if the format cannot hold the columns or their types."""
        ...

    def close(self) -> None:
        """Write everything that is buffered."""
        ...


class CsvWriter:
    """Writes CSV or TSV with a header."""

    def __init__(self, file: IO[str], delimiter: str) -> None:
        self.file = file
        self.delimiter = delimiter
        self.quoting = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self.find_special = re.compile(f'[{re.escape(delimiter)}"\n]').search
        self.number_texts = NumberTexts()
        self.columns: tuple[str, ...] | None = None

    def write(self, columns: Sequence[str], cells: Sequence[Sequence[Any]]) -> None:
        if self.columns is None:
            self.columns = tuple(columns)
            self.file.write(self._as_csv([columns]))
        if tuple(columns) != self.columns:
            raise DataError(f"later rows have other columns: {', '.join(columns)}", next_step="Use --out FILE.jsonl.")
        text = self._joined(cells)
        if text is None:
            text = self._as_csv(zip(*cells, strict=True))
        if "\r" in text:
            self._write_one_by_one(zip(*cells, strict=True))
        else:
            self.file.write(text)

    def _as_csv(self, rows: Iterable[Sequence[Any]]) -> str:
        text = StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter, lineterminator="\n").writerows(rows)
        return text.getvalue()

    def _joined(self, cells: Sequence[Sequence[Any]]) -> str | None:
        """Return the same as `_as_csv`, faster since column by column; None if cells are not text or numbers."""
        if len(cells) < 2:  # an only cell that is empty needs quotes
            return None
        try:
            texts = [self._as_texts(column) for column in cells]
        except TypeError:
            return None
        width, n_rows = 2 * len(texts), len(texts[0])
        parts = [self.delimiter] * (width * n_rows)  # texts and delimiters in turn, since one join is the fastest
        for place, column in enumerate(texts):
            parts[2 * place :: width] = column
        parts[width - 1 :: width] = ["\n"] * n_rows
        return "".join(parts)

    def _as_texts(self, column: Sequence[Any]) -> Sequence[str]:
        """Return the cells of a column as they are in the file; raise TypeError for other types."""
        if set(map(type, column)) == {float}:
            return list(map(self.number_texts.__getitem__, column))
        every = "".join(column)
        if '"' in every or "\n" in every:
            find = self.find_special
            return ['"' + cell.replace('"', '""') + '"' if find(cell) else cell for cell in column]
        if self.delimiter in every:
            return [f'"{cell}"' if self.delimiter in cell else cell for cell in column]
        return column

    def _write_one_by_one(self, rows: Iterable[Sequence[Any]]) -> None:
        """Write rows with carriage returns, which readers take for the end of a row unless they are quoted."""
        for row in rows:
            has_return = any(isinstance(value, str) and "\r" in value for value in row)
            if has_return:
                self.quoting.writerow(row)
            else:
                self.file.write(self._as_csv([row]))

    def close(self) -> None:
        self.file.flush()


class NumberTexts(dict[float, str]):
    """The texts of numbers, computed once for each number: rounded numbers repeat."""

    LARGEST = 2**15

    def __missing__(self, number: float) -> str:
        text = repr(number)
        if number and len(self) < self.LARGEST:  # 0.0 equals -0.0, whose text differs
            self[number] = text
        return text


class JsonWriter:
    """Writes a JSON object on each line."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def write(self, columns: Sequence[str], cells: Sequence[Sequence[Any]]) -> None:
        for row in zip(*cells, strict=True):
            known = {name: value for name, value in zip(columns, row, strict=True) if value is not ABSENT}
            self.file.write(json.dumps(known, ensure_ascii=False, default=str) + "\n")

    def close(self) -> None:
        self.file.flush()


class ParquetWriter:
    """Writes Parquet. The first batch decides the types of the columns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer: Any = None

    def write(self, columns: Sequence[str], cells: Sequence[Sequence[Any]]) -> None:
        import pyarrow  # noqa: PLC0415 (an extra)
        from pyarrow import parquet  # noqa: PLC0415 (an extra)

        problem = "later rows have other types than the first ones" if self.writer else "not possible as Parquet"
        try:
            table = pyarrow.table({name: _as_nulls(column) for name, column in zip(columns, cells, strict=True)})
            if self.writer is None:
                self.writer = parquet.ParquetWriter(self.path, table.schema)
            self.writer.write_table(table.select(self.writer.schema.names).cast(self.writer.schema))
        except (pyarrow.ArrowException, OverflowError, ValueError, KeyError) as error:  # e.g. values of several types
            raise DataError(f"{problem}: {error}", next_step="Use --out FILE.jsonl.") from error

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def _as_nulls(column: Sequence[Any]) -> list[Any]:
    return [None if value is ABSENT else value for value in column]


@contextmanager
def open_writer(path: Path | None, form: str) -> Iterator[RowWriter]:
    """Yield a writer to a file or to standard output.

    A file appears only at the end of the block. Each process writes its own temporary file, so two processes that write
    the same path do not mix their rows: the file of the last one remains.

    Parameters
    ----------
    path : Path or None
        The file; None for standard output.
    form : str
        "csv", "tsv", "jsonl", "parquet" or "lines". Rows for "lines" are written as CSV.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    if path is None:
        if getattr(sys.stdout, "is_closed", False):
            raise DataError("is closed", culprit="standard output", next_step="Write to a file with --out.")
        yield _text_writer(sys.stdout, form)
        sys.stdout.flush()
        return
    try:
        with staged_file(path) as temporary:
            if form == "parquet":
                writer: RowWriter = ParquetWriter(temporary)
                yield writer
                writer.close()
            else:
                with _open_text(temporary, packed=path.suffix.lower() == ".gz") as file:
                    writer = _text_writer(file, form)
                    yield writer
                    writer.close()
    except (OSError, ValueError) as error:
        problem = f"cannot be written: {reason_of(error)}"
        raise DataError(problem, culprit=str(path), next_step=next_step_after(error)) from error


def _open_text(path: Path, *, packed: bool) -> IO[str]:
    if packed:
        return gzip.open(path, "wt", encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


def _text_writer(file: IO[str], form: str) -> RowWriter:
    if form == "jsonl":
        return JsonWriter(file)
    return CsvWriter(file, "\t" if form == "tsv" else ",")


@dataclass(frozen=True, kw_only=True)
class PredictionRequest:
    """A file to predict for, how to read it, and where to write the output."""

    source: str
    """A file, or `-` for standard input."""
    text: str | None = None
    """Text column, or several as `title+body`; None for those of the training data."""
    top: int = 1
    """Number of classes to predict for each row; with `threshold` the largest number."""
    backoff: float | None = None
    """Answer with the deepest node of the taxonomy whose confidence is at least this."""
    threshold: float | None = None
    """Answer with all classes whose confidence is at least this, for a model of several labels a row."""
    out: Path | None = None
    """File for the output; None for standard output."""
    review: float | None = None
    """Rows with a lower confidence are written to `review_out`; None to review none."""
    review_out: Path | None = None
    """File for the rows to review."""
    form: Format | None = None
    """Format of the source. None: "lines" for .txt files and standard input, detected for other files."""
    encoding: str | None = None
    """Encoding of a source without a byte order mark; None for that of the training data, else UTF-8."""
    delimiter: str | None = None
    """Column delimiter; None to detect it."""
    header: bool | None = None
    """True if the first line has column names; None if it is as in the training data."""

    @property
    def answers(self) -> AnswerOptions:
        """The kind of answer."""
        return AnswerOptions(self.top, self.backoff, self.threshold)


@dataclass(frozen=True)
class Predicted:
    """Counts of the rows predicted so far."""

    rows: int = 0
    review: int = 0
    """Number of rows with a confidence below the limit for review."""
    unknown: int = 0
    """Number of rows without known features, which got no class."""
    confidence: float | None = 0.0
    """Sum of the confidence over all answers, which is the expected number of right ones; None without scores."""
    answered: int = 0
    """Number of rows with a class, of rows below the root for `backoff`, of labels for `threshold`."""
    read_as: str = ""
    """Format and text columns of the source, in words."""

    def adding(self, answers: Answers, for_review: int) -> Predicted:
        """Return the counts after a further batch, of which `for_review` rows are for review."""
        sure = None
        if self.confidence is not None and answers.confidence is not None:
            sure = self.confidence + float(answers.confidence.sum())
        return replace(
            self,
            rows=self.rows + len(answers.cells[0]),
            review=self.review + for_review,
            unknown=self.unknown + answers.unknown,
            confidence=sure,
            answered=self.answered + answers.answered,
        )


OnBatch = Callable[[Predicted, float | None], None]
"""Callback after each batch, with the counts so far and the share of the source that is read; None if unknown."""


def predict_rows(model: Model, request: PredictionRequest, on_batch: OnBatch) -> Predicted:
    """Predict classes for all rows of a file, with one batch in memory at a time.

    Parameters
    ----------
    model : Model
        A model that was trained on texts.
    request : PredictionRequest
        The file and the options.
    on_batch : OnBatch
        Called after each batch with the counts so far.

    Returns
    -------
    Predicted
        Counts of rows, and a description of how the file was read.

    Raises
    ------
    HarnessError
        If an option is invalid, if the file cannot be read, or if it lacks the text columns.
    """
    _check(model, request)
    request = replace(request, top=min(request.top, len(model.classes)))
    done = Predicted()
    with ExitStack() as files:
        table = files.enter_context(open_rows(model, request))
        sure = files.enter_context(_open_output(request.out, table))
        unsure = sure if request.review_out is None else files.enter_context(_open_output(request.review_out, table))
        columns: list[str] = []
        ranker = replace(  # the same model for rows that are represented already
            model, representation=None, manifest=replace(model.manifest, takes_text=False)
        )

        def represent(batch: RowBatch) -> Any:
            nonlocal columns
            columns = columns or choose_text_columns(model, request, table, batch.columns)
            return model.represent(texts_of(batch, columns))

        def answer(represented: Any) -> Answers:
            return answer_rows(ranker, represented, request.answers)

        for batch, answers in answer_ahead(read_batches(table), represent, answer):
            below = _below(answers, request.review)
            _write(batch, answers, below, sure, unsure, request)
            done = replace(done, read_as=describe_source(table, columns)).adding(answers, int(below.sum()))
            on_batch(done, table.progress())
    return done


def answer_ahead(
    batches: Iterator[RowBatch], represent: Callable[[RowBatch], Any], answer: Callable[[Any], Answers]
) -> Iterator[tuple[RowBatch, Answers]]:
    """Yield batches with their answers, while a thread represents and another one answers the next batches.

    Compiled kernels run without the interpreter lock, so this uses a second core. Each function is called for one batch
    at a time, in their order. The first batch is answered in the calling thread, in which a learner may start
    processes.

    Parameters
    ----------
    batches : iterator of RowBatch
        The batches. Those before an error come first.
    represent : callable
        Returns the texts of a batch in the form that the learner takes.
    answer : callable
        Returns the answers.

    Yields
    ------
    RowBatch, Answers
        Each batch with its answers, in the order of the batches. If the caller stops, or after an error, batches that
        no thread has begun are dropped.
    """
    first = next(batches)
    yield first, answer(represent(first))
    waiting: deque[tuple[RowBatch, Future[Answers]]] = deque()
    with ThreadPoolExecutor(1) as representing, ThreadPoolExecutor(1) as answering:
        try:
            while isinstance(following := _next_or_error(batches), RowBatch):
                represented = representing.submit(represent, following)
                waiting.append((following, answering.submit(_answer_when_ready, answer, represented)))
                if len(waiting) > BATCHES_AHEAD:
                    yield _when_ready(*waiting.popleft())
            while waiting:
                yield _when_ready(*waiting.popleft())
        finally:  # else Ctrl-C would wait for all batches ahead
            for threads in (representing, answering):
                threads.shutdown(wait=False, cancel_futures=True)
    if following is not None:
        raise following


def _next_or_error(batches: Iterator[RowBatch]) -> RowBatch | HarnessError | None:
    """Return the next batch, None after the last one, or the error that ends them."""
    try:
        return next(batches, None)
    except HarnessError as error:
        return error


def _answer_when_ready(answer: Callable[[Any], Answers], represented: Future[Any]) -> Answers:
    return answer(represented.result())


def _when_ready(batch: RowBatch, answers: Future[Answers]) -> tuple[RowBatch, Answers]:
    return batch, answers.result()


def describe_source(table: Table, columns: Sequence[str]) -> str:
    """Return a description of the format and the text columns of a table."""
    names = " and ".join(map(repr, columns))
    return f"{table.kind}, text from {names}" if table.layout.format != "lines" else "a text on each line"


def _check(model: Model, request: PredictionRequest) -> None:
    if not model.manifest.takes_text:
        raise ModelError(
            "this model was trained on rows of numbers, not on texts", next_step="Use it in Python: Model.predict(X)."
        )
    check_answers(model, request.answers)
    if request.review is not None:
        _check_review(model, request)
        check_share("--review", request.review)
    if (request.review is None) != (request.review_out is None):
        raise ModelError("--review and --review-out must be given together")
    if request.review_out is not None and request.review_out == request.out:
        raise ModelError("--out and --review-out are the same file", next_step="Name two files.")
    if request.source != STDIN and not os.path.isfile(request.source):
        raise DataError("no such file", culprit=request.source)


def _open_output(path: Path | None, table: Table) -> Any:
    """Open the output: a file in the format of its ending, or standard output in the format of the input."""
    if path is None:
        return open_writer(None, table.layout.format)
    form = format_of_name(path.name)
    if form is None:
        raise DataError(f"unknown ending, expected one of {', '.join(FORMATS)}", culprit=str(path))
    return open_writer(path, form)


def _check_review(model: Model, request: PredictionRequest) -> None:
    """Raise ModelError if the answers have no confidence that --review could read."""
    if not model.classifier.has_scores:
        raise ModelError(NO_CONFIDENCE, culprit="--review", next_step="Fit a learner with scores, such as pa.")
    if request.backoff is not None or request.threshold is not None:
        option = "--threshold" if request.backoff is None else "--backoff"
        raise ModelError(f"{option} leaves no uncertain answers to review", next_step=f"Remove --review or {option}.")


def _below(answers: Answers, limit: float | None) -> NDArray[np.bool_]:
    """Return the rows whose confidence is below the limit for review."""
    if limit is None or answers.confidence is None:
        return np.zeros(len(answers.cells[0]), bool)
    return answers.confidence < limit


def _write(
    batch: RowBatch, answers: Answers, below: Any, sure: RowWriter, unsure: RowWriter, request: PredictionRequest
) -> None:
    twice = [name for name in answers.columns if name in batch.columns]
    if twice:
        raise DataError(
            f"has a column {twice[0]!r}, which predictions add", culprit=request.source, next_step="Rename it."
        )
    columns, cells = [*batch.columns, *answers.columns], [*batch.cells, *answers.cells]
    if unsure is sure:
        sure.write(columns, cells)
        return
    sure.write(columns, [list(compress(column, ~below)) for column in cells])
    unsure.write(columns, [list(compress(column, below)) for column in cells])
