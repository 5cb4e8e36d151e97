"""What is to be known of data before learners are compared on it: sizes of classes, repeated texts, lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.sparse import issparse

from harness.contract import Dataset, Labels
from harness.sdk.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

FEW = 5
"""A class with fewer rows than this, and more than one, is near-empty."""
SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""The quantiles of lengths that are told."""
BLANKS = tuple(b" \t\n\r\x0b\x0c")


@dataclass(frozen=True)
class ClassSize:
    """A class and how many rows have it."""

    name: str
    rows: int


@dataclass(frozen=True)
class Repeats:
    """Texts that stand in more than one row."""

    rows: int
    """Rows whose text an earlier row has."""
    conflicting: int
    """Rows whose text another row has with other labels."""
    highest_r1: float
    """The share of rows that can be right at once where equal texts get equal answers: no learner exceeds it on
    these rows."""


@dataclass(frozen=True)
class DataProfile:
    """What `harness data info` tells of the content of a data set."""

    rows: int
    classes: int
    singletons: int
    """Classes of one row, which can be learnt or tested, not both."""
    near_empty: int
    """Classes of two rows and more, but fewer than `FEW`."""
    smallest: ClassSize
    largest: ClassSize
    unlabelled: int
    """Rows without a label, where rows may have several."""
    empty: int
    """Rows whose text is empty or blank; of numbers, rows without any."""
    length_unit: Literal["characters", "features"]
    lengths: tuple[tuple[float, float], ...]
    """Share and quantile: this share of rows is at most so long."""
    repeats: Repeats | None
    """None where the rows are no texts."""
    taxonomy_nodes: int | None
    taxonomy_depth: int | None


def profile_of(data: Dataset) -> DataProfile:
    """Count all of it, in one go over labels and texts."""
    sizes = class_sizes(data)
    texts = None if data.texts is None else Texts.of(data.texts)
    lengths = _features_a_row(data) if texts is None else _characters(texts)
    empty = (lengths == 0) if texts is None else _blank(texts)
    small, large = int(sizes.argmin()), int(sizes.argmax())
    tree = data.taxonomy
    return DataProfile(
        rows=data.rows,
        classes=len(sizes),
        singletons=int((sizes == 1).sum()),
        near_empty=int(((sizes > 1) & (sizes < FEW)).sum()),
        smallest=ClassSize(data.class_names[small], int(sizes[small])),
        largest=ClassSize(data.class_names[large], int(sizes[large])),
        unlabelled=int((np.diff(data.y.indptr) == 0).sum()) if issparse(data.y) else 0,
        empty=int(empty.sum()),
        length_unit="features" if texts is None else "characters",
        lengths=tuple(zip(SHARES, np.quantile(lengths, SHARES).tolist(), strict=True)),
        repeats=None if texts is None else _repeats(texts.codes(), data.y),
        taxonomy_nodes=None if tree is None else len(tree.parent),
        taxonomy_depth=None if tree is None else tree.depth,
    )


def class_sizes(data: Dataset) -> Numbers:
    """How many rows each class has."""
    labels = data.y.indices if issparse(data.y) else data.y
    return np.bincount(labels, minlength=len(data.class_names))


def _characters(texts: Texts) -> Numbers:
    """The length of each text: in UTF-8 every byte begins a character but those that go on with one."""
    begins = (np.asarray(texts.content) & 0xC0) != 0x80
    return _counts_between(begins, texts.bounds)


def _blank(texts: Texts) -> NDArray[np.bool_]:
    """Which texts hold nothing but space."""
    is_ink = ~np.isin(texts.content, BLANKS)
    return np.asarray(_counts_between(is_ink, texts.bounds) == 0)


def _counts_between(marked: NDArray[np.bool_], bounds: Numbers) -> Numbers:
    """How many are marked between each bound and the next."""
    so_far = np.concatenate([[0], np.cumsum(marked)])
    return np.diff(so_far[bounds])


def _features_a_row(data: Dataset) -> Numbers:
    assert data.X is not None  # a data set has texts or numbers
    return np.asarray(np.diff(data.X.indptr))


def _repeats(text: Numbers, y: Labels) -> Repeats:
    """What equal texts do, given a number for each row that equal texts share."""
    n_texts = int(text.max()) + 1
    ways = _distinct_pairs(text, _label_sets(y))
    has_conflict = np.bincount(ways[:, 0], minlength=n_texts) > 1
    return Repeats(
        rows=len(text) - n_texts,
        conflicting=int(has_conflict[text].sum()),
        highest_r1=_most_right(text, y, n_texts) / len(text),
    )


def _label_sets(y: Labels) -> Numbers:
    """A number for each row; rows share it where all their labels are the same."""
    if not issparse(y):
        return np.asarray(y)
    numbers: dict[bytes, int] = {}
    codes = []
    for begin, end in zip(y.indptr[:-1], y.indptr[1:], strict=True):
        codes.append(numbers.setdefault(np.sort(y.indices[begin:end]).tobytes(), len(numbers)))
    return np.array(codes, dtype=np.int64)


def _most_right(text: Numbers, y: Labels, n_texts: int) -> int:
    """How many rows are right where each text gets the class that most of its rows have."""
    row, label = y.nonzero() if issparse(y) else (np.arange(len(text)), y)
    pairs, counts = np.unique(np.stack([text[row], label], axis=1), axis=0, return_counts=True)
    best = np.zeros(n_texts, dtype=np.int64)
    np.maximum.at(best, pairs[:, 0], counts)
    return int(best.sum())


def _distinct_pairs(first: Numbers, second: Numbers) -> Numbers:
    return np.unique(np.stack([first, second], axis=1), axis=0)
