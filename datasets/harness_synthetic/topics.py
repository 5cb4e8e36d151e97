"""Made-up texts for quick runs and tests: Zipf class sizes, Zipf words, classes in groups, one label a row or several.

The same parameters give the same data on any machine, because no decision here rests on a rounded number. All chance
is the raw 64-bit output of PCG64, whose stream numpy promises to keep (it does not promise that for the methods of a
`Generator`); all weights are integers, and picking by weight is a search in integer sums. The one float, `noise`, is
multiplied by a power of two, which is exact. No logarithm, power or matrix product is asked.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Dataset, Taxonomy
from harness.errors import DataError

Whole = NDArray[np.uint64]  # one type throughout: numpy makes float64 of uint64 beside int64

TOPIC_WORDS = 64
"""How many words a class, or a group of classes, calls its own; topics share words by chance."""
LARGEST = 2**26
"""The largest count allowed: the Zipf weights LARGEST // rank are then positive, and their sum is below 2**32."""


def load(
    *,
    rows: int = 2000,
    classes: int = 50,
    features: int = 1000,
    words: int = 20,
    noise: float = 0.3,
    labels: int = 1,
    seed: int = 0,
) -> Dataset:
    """Rows of `words` words each: a share `noise` from a background that all share, of the rest a quarter from a
    class of the row and three quarters from that class's group, so that telling a class from its siblings is harder
    than telling groups apart. With `labels` above 1 a row has 1 to `labels` classes and `y` is an indicator.
    """
    _check(rows=rows, classes=classes, features=features, words=words, noise=noise, labels=labels, seed=seed)
    bits = np.random.PCG64(seed)
    groups = isqrt(classes)
    chosen, n_chosen = _draw_classes(bits, rows, classes, labels)
    topics = _draw_topics(bits, chosen, n_chosen, groups, words)
    tokens = _draw_words(bits, topics, groups + classes, features, noise)
    return Dataset(
        X=_tally(tokens, np.full(rows, words), features).astype(np.float32),
        y=chosen[:, 0].astype(np.intp) if labels == 1 else _indicator(chosen, n_chosen, classes),
        class_names=tuple(f"class-{position}" for position in range(classes)),
        taxonomy=_taxonomy(groups, classes),
        found=f"{rows:,} rows, {features:,} features, {classes:,} classes, {groups:,} groups; seed {seed}",
    )


def _check(**given: float) -> None:
    """Names the first parameter that cannot be used, its value and what is allowed."""
    lowest = {"rows": 4, "classes": 2, "features": 1, "words": 1, "labels": 1, "seed": 0}
    highest = {"labels": given["classes"], "seed": 2**32 - 1}
    for name, low in lowest.items():
        value, high = given[name], highest.get(name, LARGEST)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise DataError(f"data set 'topics': {name}={value!r}; allowed: a whole number from {low} to {high}")
    noise, rows, classes = given["noise"], given["rows"], given["classes"]
    if not isinstance(noise, int | float) or isinstance(noise, bool) or not 0 <= noise <= 1:
        raise DataError(f"data set 'topics': noise={noise!r}; allowed: a number from 0 to 1")
    if rows < 2 * classes:
        raise DataError(f"data set 'topics': rows={rows}; allowed: at least two for each of the {classes} classes")


# -- the draws, in the order in which they use up the random bits ----------------------------------------------------


def _draw_classes(bits: np.random.PCG64, rows: int, classes: int, labels: int) -> tuple[Whole, Whole]:
    """For each row `labels` classes, and how many of them, from the left, count. Each class comes first twice."""
    sizes = _zipf(classes)
    twice = np.repeat(np.arange(classes, dtype=np.uint64), 2)
    first = np.concatenate([twice, _pick(_raw(bits, rows - 2 * classes), sizes)])
    first = first[np.argsort(_raw(bits, rows), kind="stable")]
    others = _pick(_raw(bits, rows, labels - 1), sizes)
    n_chosen = _below(_raw(bits, rows), labels) + np.uint64(1)
    return np.column_stack([first, others]), n_chosen


def _draw_topics(bits: np.random.PCG64, chosen: Whole, n_chosen: Whole, groups: int, words: int) -> Whole:
    """For each word to come the topic it is from: one of the row's classes, or the group of that class.

    The groups are the topics 0 to groups - 1; class c is topic groups + c and belongs to group c modulo groups.
    """
    shape = (len(chosen), words)
    which = _below(_raw(bits, *shape), n_chosen[:, np.newaxis])
    word_class = np.take_along_axis(chosen, which.astype(np.intp), axis=1)
    from_group = _below(_raw(bits, *shape), 4) > 0
    return np.where(from_group, word_class % np.uint64(groups), word_class + np.uint64(groups))


def _draw_words(bits: np.random.PCG64, topics: Whole, n_topics: int, features: int, noise: float) -> Whole:
    """For each topic given one of its words, or, for a share `noise` of them, a word of the background."""
    topic_words = _below(_raw(bits, n_topics, TOPIC_WORDS), features)
    own = topic_words[topics, _pick(_raw(bits, *topics.shape), _zipf(TOPIC_WORDS))]
    background = _pick(_raw(bits, *topics.shape), _zipf(features))
    is_noise = _raw(bits, *topics.shape) >> np.uint64(11) < np.uint64(noise * 2**53)
    return np.where(is_noise, background, own)


# -- integer arithmetic ----------------------------------------------------------------------------------------------


def _raw(bits: np.random.PCG64, *shape: int) -> Whole:
    return bits.random_raw(shape)


def _below(raw: Whole, bound: int | Whole | np.uint64) -> Whole:
    """Whole numbers from 0 up to but not including `bound` (at most 2**32): the upper half of a 32-bit product."""
    return (raw >> np.uint64(32)) * np.asarray(bound, dtype=np.uint64) >> np.uint64(32)


def _zipf(n: int) -> Whole:
    """Running sums of the weights LARGEST // 1, LARGEST // 2, ... LARGEST // n."""
    return np.cumsum(np.uint64(LARGEST) // np.arange(1, n + 1, dtype=np.uint64), dtype=np.uint64)


def _pick(raw: Whole, sums: Whole) -> Whole:
    """Positions, each as likely as its share of the weights whose running sums are given."""
    return np.searchsorted(sums, _below(raw, sums[-1]), side="right").astype(np.uint64)


# -- what is handed over ---------------------------------------------------------------------------------------------


def _tally(items: Whole, lengths: NDArray[np.int64], width: int) -> csr_array:
    """How often each item occurs in each row, where `items` holds the rows' items one after the other."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    ones = np.ones(items.size, dtype=np.int32)
    counts = csr_array((ones, items.ravel().astype(np.int32), ends), shape=(len(lengths), width))
    counts.sum_duplicates()  # also sorts the columns of each row
    return counts


def _indicator(chosen: Whole, n_chosen: Whole, classes: int) -> csr_array:
    """Rows x classes, 1 where a class counts for a row; drawn twice, it still counts once."""
    counts = np.arange(chosen.shape[1], dtype=np.uint64) < n_chosen[:, np.newaxis]
    return _tally(chosen[counts], n_chosen.astype(np.int64), classes).astype(np.bool_).astype(np.int8)


def _taxonomy(groups: int, classes: int) -> Taxonomy:
    """The root, the groups, the classes; a group has large and small classes, as they take turns."""
    names = [f"group-{position}" for position in range(groups)] + [f"class-{position}" for position in range(classes)]
    group, class_ = np.arange(groups, dtype=np.int64), np.arange(classes, dtype=np.int64)
    return Taxonomy(
        parent=np.concatenate([[-1], 0 * group, 1 + class_ % groups]),
        class_node=1 + groups + class_,
        node_names=("all", *names),
    )
