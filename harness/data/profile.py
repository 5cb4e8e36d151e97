"""Profile of a dataset for `harness data info`: class sizes, repeated texts, and lengths of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.sparse import issparse

from harness.host.contract import Dataset, Labels
from harness.sdk.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

FEW = 5
"""A class with at least 2 rows but fewer than this is near-empty."""
SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""Quantiles of the lengths in a profile."""
BLANKS = tuple(b" \t\n\r\x0b\x0c")


@dataclass(frozen=True)
class ClassSize:
    """A class and its number of rows."""

    name: str
    rows: int


@dataclass(frozen=True)
class Repeats:
    """Texts that occur in more than one row."""

    rows: int
    """Rows with the same text as an earlier row."""
    conflicting: int
    """Rows with the same text as another row, but other labels."""
    highest_r1: float
    """Highest possible R1 on these rows: equal texts get equal predictions, so conflicting rows cannot all be right."""


@dataclass(frozen=True)
class DataProfile:
    """Facts about the rows and classes of a dataset."""

    rows: int
    classes: int
    singletons: int
    """Number of classes with one row, which can be used for training or for testing, but not for both."""
    near_empty: int
    """Number of classes with at least 2 rows but fewer than `FEW`."""
    smallest: ClassSize
    largest: ClassSize
    unlabelled: int
    """Number of rows without a label, in multi-label data."""
    empty: int
    """Number of rows with an empty or blank text; for rows of numbers, rows without a value."""
    length_unit: Literal["characters", "features"]
    lengths: tuple[tuple[float, float], ...]
    """Pairs (share, length): this share of the rows has at most this length."""
    repeats: Repeats | None
    """Facts about repeated texts; None if the rows are numbers."""
    taxonomy_nodes: int | None
    taxonomy_depth: int | None


def profile_of(data: Dataset) -> DataProfile:
    """Return the profile of a dataset."""
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
    """Return the number of rows of each class."""
    labels = data.y.indices if issparse(data.y) else data.y
    return np.bincount(labels, minlength=len(data.class_names))


def _characters(texts: Texts) -> Numbers:
    """Return the number of characters of each text: its bytes without the continuation bytes of UTF-8."""
    begins = (np.asarray(texts.content) & 0xC0) != 0x80
    return _counts_between(begins, texts.bounds)


def _blank(texts: Texts) -> NDArray[np.bool_]:
    """Return a mask of the texts that are empty or blank."""
    is_ink = ~np.isin(texts.content, BLANKS)
    return np.asarray(_counts_between(is_ink, texts.bounds) == 0)


def _counts_between(marked: NDArray[np.bool_], bounds: Numbers) -> Numbers:
    """Return the number of marked positions between each two consecutive bounds."""
    so_far = np.concatenate([[0], np.cumsum(marked)])
    return np.diff(so_far[bounds])


def _features_a_row(data: Dataset) -> Numbers:
    assert data.X is not None  # a dataset has texts or numbers
    return np.asarray(np.diff(data.X.indptr))


def _repeats(text: Numbers, y: Labels) -> Repeats:
    """Return facts about repeated texts. `text` has a number for each row, equal for equal texts."""
    n_texts = int(text.max()) + 1
    ways = _distinct_pairs(text, _label_sets(y))
    has_conflict = np.bincount(ways[:, 0], minlength=n_texts) > 1
    return Repeats(
        rows=len(text) - n_texts,
        conflicting=int(has_conflict[text].sum()),
        highest_r1=_most_right(text, y, n_texts) / len(text),
    )


def _label_sets(y: Labels) -> Numbers:
    """Return a number for each row, equal for equal sets of labels."""
    if not issparse(y):
        return np.asarray(y)
    numbers: dict[bytes, int] = {}
    codes = []
    for begin, end in zip(y.indptr[:-1], y.indptr[1:], strict=True):
        codes.append(numbers.setdefault(np.sort(y.indices[begin:end]).tobytes(), len(numbers)))
    return np.array(codes, dtype=np.int64)


def _most_right(text: Numbers, y: Labels, n_texts: int) -> int:
    """Return the number of correct rows if each text gets the most frequent class of its rows."""
    row, label = y.nonzero() if issparse(y) else (np.arange(len(text)), y)
    pairs, counts = np.unique(np.stack([text[row], label], axis=1), axis=0, return_counts=True)
    best = np.zeros(n_texts, dtype=np.int64)
    np.maximum.at(best, pairs[:, 0], counts)
    return int(best.sum())


def _distinct_pairs(first: Numbers, second: Numbers) -> Numbers:
    return np.unique(np.stack([first, second], axis=1), axis=0)
