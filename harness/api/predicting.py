"""A file of any size, coded by a model in bounded memory; what it is not sure of goes to a second file for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.api.answering import Answers
from harness.api.model import Model
from harness.api.row_reading import ABSENT, LINE_COLUMN, STDIN, RowBatch, format_of, read_batches
from harness.api.row_writing import RowWriter, open_writer
from harness.errors import DataError, ModelError

DIGITS = 4
"""Behind the point, of scores and confidence in files."""


@dataclass(frozen=True, kw_only=True)
class PredictionRequest:
    """What is to be coded, and where to."""

    source: str
    """A file, or `-` for standard input."""
    text: str | None = None
    """The column with the texts; found by itself where there is no doubt."""
    top: int = 1
    out: Path | None = None
    """Standard output where there is none."""
    review: float | None = None
    """The confidence below which a row is for a person."""
    review_out: Path | None = None
    form: str | None = None
    """What the source holds, where its name does not say."""
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Predicted:
    """What became of the rows."""

    rows: int = 0
    review: int = 0
    """Rows that a person is to look at."""
    unknown: int = 0
    """Rows that have nothing that the model knows: they got no class."""
    confidence: float = 0.0
    """The sum over all rows: as many are expected to be right."""

    def adding(self, answers: Answers, for_review: int) -> Predicted:
        """The same with some rows more."""
        return Predicted(
            self.rows + len(answers.positions),
            self.review + for_review,
            self.unknown + int((answers.positions[:, 0] < 0).sum()),
            self.confidence + float(answers.confidence.sum()),
        )


OnBatch = Callable[[Predicted, float | None], None]
"""Told after each batch: what became of the rows so far, and the share of the source that they are, where known."""


def predict_rows(model: Model, asked: PredictionRequest, on_batch: OnBatch) -> Predicted:
    """Code all rows of a file, some at a time. A file that is written is there when all rows are, or not at all."""
    _check(model, asked)
    form = format_of(asked.source, asked.form)
    done = Predicted()
    with ExitStack() as files:
        sure = files.enter_context(_open_output(asked.out, form))
        unsure = sure if asked.review_out is None else files.enter_context(_open_output(asked.review_out, form))
        for batch in read_batches(asked.source, form, asked.encoding):
            texts = list(_texts_of(batch, _text_column(model, asked, batch.columns), asked.source))
            answers = model.answer(texts, asked.top)
            below = answers.confidence < (asked.review or 0.0)
            _write(batch, answers, below, sure, unsure, asked)
            done = done.adding(answers, int(below.sum()))
            on_batch(done, batch.share)
    return done


def _check(model: Model, asked: PredictionRequest) -> None:
    if not model.manifest.takes_text:
        raise ModelError(
            "this model was fitted on rows of numbers, not on texts", next_step="ask it in Python: Model.predict(X)"
        )
    if asked.top < 1:
        raise ModelError(f"--top {asked.top}: expected a whole number from 1")
    if asked.review is not None and not 0 < asked.review <= 1:
        raise ModelError(f"--review {asked.review}: expected a confidence above 0 and up to 1, such as 0.9")
    if (asked.review is None) != (asked.review_out is None):
        raise ModelError("--review and --review-out belong together: how sure, and where rows below that go")
    if asked.review_out is not None and asked.review_out == asked.out:
        raise ModelError("--out and --review-out name one file: give them two")
    if asked.source != STDIN and not Path(asked.source).is_file():
        raise DataError("there is no such file", culprit=asked.source)


def _open_output(path: Path | None, form: str) -> Any:
    return open_writer(path, form if path is None else format_of(str(path)))


def _text_column(model: Model, asked: PredictionRequest, columns: Sequence[str]) -> int:
    """Where the texts are: the column that was named, that of the training data, or the only one."""
    names = list(columns)
    if asked.text is not None:
        if asked.text not in names:
            raise DataError(f"has no column {asked.text!r}: it has {', '.join(names)}", culprit=asked.source)
        return names.index(asked.text)
    for wanted in (model.manifest.data.params.get("text"), LINE_COLUMN):
        if wanted in names:
            return names.index(wanted)
    if len(names) == 1:
        return 0
    raise DataError(
        f"which column holds the texts? It has {', '.join(columns)}", culprit=asked.source, next_step="--text COLUMN"
    )


def _texts_of(batch: RowBatch, column: int, source: str) -> Iterator[str]:
    """The texts of a batch; a missing one is empty."""
    for number, row in enumerate(batch.rows, start=batch.first):
        text = row[column]
        if text is None or text is ABSENT:
            text = ""
        if not isinstance(text, str):
            raise DataError(f"row {number}: {batch.columns[column]!r} is {text!r}, expected a text", culprit=source)
        yield text


def answer_columns(top: int) -> list[str]:
    """What the columns of an answer are called."""
    columns = []
    for place in range(1, top + 1):
        columns += [f"class_{place}", f"score_{place}"]
    return [*columns, "confidence"]


def _write(
    batch: RowBatch, answers: Answers, below: Any, sure: RowWriter, unsure: RowWriter, asked: PredictionRequest
) -> None:
    added = answer_columns(asked.top)
    twice = [name for name in added if name in batch.columns]
    if twice:
        raise DataError(f"has a column {twice[0]!r} already", culprit=asked.source, next_step="rename it there")
    columns = [*batch.columns, *added]
    coded = [[*row, *values] for row, values in zip(batch.rows, _values(answers), strict=True)]
    if unsure is sure:
        sure.write(columns, coded)
        return
    sure.write(columns, [coded[row] for row in np.flatnonzero(~below)])
    unsure.write(columns, [coded[row] for row in np.flatnonzero(below)])


def _values(answers: Answers) -> Iterator[tuple[Any, ...]]:
    """For each row its classes, each with its score, and the confidence, as files hold them."""
    columns: list[list[Any]] = []
    for place, names in enumerate(answers.names.T):
        columns.append(names.tolist())
        if answers.scores is None:
            columns.append([None] * len(names))
        else:
            columns.append(np.round(answers.scores[:, place], DIGITS).tolist())
    columns.append(np.round(answers.confidence, DIGITS).tolist())
    return zip(*columns, strict=True)
