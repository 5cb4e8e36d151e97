"""The columns that predictions add to the rows of a file: classes, a node of the taxonomy, or a set of labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import ModelError
from harness.models.held_out import read_back_off, read_label_calibrator
from harness.models.model import Model, check_share

DIGITS = 4
"""Number of decimals of scores and confidence in the output."""


@dataclass(frozen=True)
class AnswerOptions:
    """The kind of answer that a request asks for: the best classes, unless a limit is set."""

    top: int = 1
    """Number of classes for each row; with `threshold` the largest number."""
    backoff: float | None = None
    """Answer with the deepest node whose confidence is at least this."""
    threshold: float | None = None
    """Answer with all classes whose confidence is at least this."""


@dataclass(frozen=True)
class Answers:
    """The answers for a batch of rows, as columns."""

    columns: tuple[str, ...]
    cells: list[list[Any]]
    """The values of each column."""
    confidence: NDArray[np.float64] | None
    """Confidence of each row; None if the learner has no scores. For sets of labels the sum over the labels."""
    answered: int
    """Number of rows with a class, of rows below the root, or of labels."""
    unknown: int = 0
    """Number of rows without known features, which got no class."""


def check_answers(model: Model, options: AnswerOptions) -> None:
    """Raise ModelError if the model cannot give the kind of answer."""
    if options.top < 1:
        raise ModelError("expected 1 or more", culprit=f"--top {options.top}")
    if options.backoff is not None and options.threshold is not None:
        raise ModelError("--backoff and --threshold are two kinds of answers", next_step="Remove one of them.")
    if options.backoff is not None:
        check_share("--backoff", options.backoff)
        if options.top > 1:
            raise ModelError("--backoff answers with one node a row", next_step="Remove --top.")
        _raise_about(f"--backoff {options.backoff}", lambda: read_back_off(model.manifest.held_out, model.taxonomy))
    if options.threshold is not None:
        check_share("--threshold", options.threshold)
        _raise_about(f"--threshold {options.threshold}", lambda: read_label_calibrator(model.manifest.held_out))


def _raise_about(option: str, read: Callable[[], Any]) -> None:
    """Call a function, and raise its error with the option as culprit."""
    try:
        read()
    except ModelError as error:
        raise error.about(option) from None


def answer_rows(model: Model, rows: Any, options: AnswerOptions) -> Answers:
    """Return the answers for texts, or for rows of numbers if the model takes these."""
    if options.backoff is not None:
        return _nodes(model, rows, options.backoff)
    if options.threshold is not None:
        return _labels(model, rows, options.threshold, options.top)
    return _classes(model, rows, options.top)


def class_columns(top: int, *, has_scores: bool = True) -> list[str]:
    """Return the names of the columns for the best classes. Without scores, there is no confidence.

    Examples
    --------
    >>> class_columns(1)
    ['class_1', 'score_1', 'confidence']
    >>> class_columns(2, has_scores=False)
    ['class_1', 'class_2']
    """
    if not has_scores:
        return [f"class_{place}" for place in range(1, top + 1)]
    columns = []
    for place in range(1, top + 1):
        columns += [f"class_{place}", f"score_{place}"]
    return [*columns, "confidence"]


def _classes(model: Model, rows: Any, top: int) -> Answers:
    found = model.answer(rows, top)
    cells: list[list[Any]] = []
    for place, names in enumerate(found.names.T):
        cells.append(names.tolist())
        if found.scores is not None:
            cells.append(_rounded(found.scores[:, place]))
    if found.confidence is not None:
        cells.append(_rounded(found.confidence))
    columns = class_columns(top, has_scores=found.scores is not None)
    unknown = int((found.positions[:, 0] < 0).sum())
    return Answers(tuple(columns), cells, found.confidence, len(found.positions) - unknown, unknown)


def _nodes(model: Model, rows: Any, least: float) -> Answers:
    found = model.back_off(rows, least)
    cells = [found.names.tolist(), found.depth.tolist(), _rounded(found.confidence)]
    below = int((found.depth > 0).sum())
    return Answers(("node", "depth", "confidence"), cells, found.confidence, below)


def _labels(model: Model, rows: Any, threshold: float, top: int) -> Answers:
    found = model.label_sets(rows, threshold, top)
    columns: list[str] = []
    cells: list[list[Any]] = []
    for place in range(top):
        is_label = found.positions[:, place] >= 0
        columns += [f"class_{place + 1}", f"score_{place + 1}", f"confidence_{place + 1}"]
        cells.append(found.names[:, place].tolist())
        for numbers in (found.scores[:, place], found.confidence[:, place]):
            rounded = zip(_rounded(numbers), is_label.tolist(), strict=True)
            cells.append([number if known else None for number, known in rounded])
    count = int((found.positions >= 0).sum())
    return Answers(tuple(columns), cells, found.confidence.sum(axis=1), count)


def _rounded(numbers: NDArray[np.float64]) -> list[Any]:
    rounded: list[Any] = (np.round(numbers, DIGITS) + 0.0).tolist()  # -0.0 becomes 0.0
    return rounded
