"""Synthetic texts for quick runs and tests: Zipf class sizes, Zipf words, classes in groups, one or several labels.

The same parameters give the same data on all machines; see `draws`.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from scipy.sparse import csr_array

from harness import Dataset
from harness_synthetic.draws import (
    LARGEST,
    Whole,
    below,
    check_integers,
    check_number,
    class_tree,
    not_allowed,
    pick,
    raw,
    share,
    tally,
    zipf_sums,
)

TOPIC_WORDS = 64
"""Number of words of a class, or of a group of classes; topics share words by chance."""


def make_topics(
    *,
    rows: int = 2000,
    classes: int = 50,
    features: int = 1000,
    words: int = 20,
    noise: float = 0.3,
    labels: int = 1,
    seed: int = 0,
) -> Dataset:
    """Make texts of classes in groups.

    Parameters
    ----------
    rows : int, default=2000
        Number of texts.
    classes : int, default=50
        Number of classes.
    features : int, default=1000
        Number of distinct words.
    words : int, default=20
        Number of words of a text.
    noise : float, default=0.3
        Share of words from a background that all texts share. Of the others, a quarter come from a class of the text
        and three quarters from the group of this class, so classes of a group are harder to distinguish than groups.
    labels : int, default=1
        Maximum number of classes of a text. Above 1, `y` is an indicator matrix.
    seed : int, default=0
        Seed of all random numbers.

    Returns
    -------
    Dataset
        The texts as word counts.

    Raises
    ------
    DataError
        If a parameter is out of its range.
    """
    _check(rows=rows, classes=classes, features=features, words=words, noise=noise, labels=labels, seed=seed)
    bits = np.random.PCG64(seed)
    groups = isqrt(classes)
    chosen, n_chosen = _draw_classes(bits, rows, classes, labels)
    topics = _draw_topics(bits, chosen, n_chosen, groups, words)
    tokens = _draw_words(bits, topics, groups + classes, features, noise)
    return Dataset(
        X=tally(tokens, np.full(rows, words), features).astype(np.float32),
        y=chosen[:, 0].astype(np.intp) if labels == 1 else _indicator(chosen, n_chosen, classes),
        class_names=tuple(f"class-{position}" for position in range(classes)),
        taxonomy=class_tree([groups, classes]),
        found=f"{rows:,} rows, {features:,} features, {classes:,} classes, {groups:,} groups; seed {seed}",
    )


def _check(**given: float) -> None:
    counts = dict.fromkeys(("classes", "features", "words"), (1, LARGEST))
    limits = {"rows": (4, LARGEST), **counts, "seed": (0, 2**32 - 1)}
    check_integers("topics", given, limits | {"classes": (2, LARGEST)})
    check_integers("topics", given, {"labels": (1, int(given["classes"]))})
    check_number("topics", given, {"noise": (0, 1)})
    if given["rows"] < 2 * given["classes"]:
        allowed = f"at least two for each of the {given['classes']} classes"
        raise not_allowed("topics", f"rows={given['rows']}", allowed)


# -- draws, in the order in which they use the random bits ------------------------------------------------------------


def _draw_classes(bits: np.random.PCG64, rows: int, classes: int, labels: int) -> tuple[Whole, Whole]:
    """Draw `labels` classes for each row, and how many of them, from the left, count. Each class comes first twice."""
    sizes = zipf_sums(classes)
    twice = np.repeat(np.arange(classes, dtype=np.uint64), 2)
    first = np.concatenate([twice, pick(raw(bits, rows - 2 * classes), sizes)])
    first = first[np.argsort(raw(bits, rows), kind="stable")]
    others = pick(raw(bits, rows, labels - 1), sizes)
    n_chosen = below(raw(bits, rows), labels) + np.uint64(1)
    return np.column_stack([first, others]), n_chosen


def _draw_topics(bits: np.random.PCG64, chosen: Whole, n_chosen: Whole, groups: int, words: int) -> Whole:
    """Draw the topic of each word: one of the row's classes, or the group of that class.

    The groups are the topics 0 to groups - 1; class c is topic groups + c and belongs to group c modulo groups.
    """
    shape = (len(chosen), words)
    which = below(raw(bits, *shape), n_chosen[:, np.newaxis])
    word_class = np.take_along_axis(chosen, which.astype(np.intp), axis=1)
    from_group = below(raw(bits, *shape), 4) > 0
    return np.where(from_group, word_class % np.uint64(groups), word_class + np.uint64(groups))


def _draw_words(bits: np.random.PCG64, topics: Whole, n_topics: int, features: int, noise: float) -> Whole:
    """Draw a word of each given topic or, for a share `noise` of them, a word of the background."""
    topic_words = below(raw(bits, n_topics, TOPIC_WORDS), features)
    own = topic_words[topics, pick(raw(bits, *topics.shape), zipf_sums(TOPIC_WORDS))]
    background = pick(raw(bits, *topics.shape), zipf_sums(features))
    return np.where(share(raw(bits, *topics.shape), noise), background, own)


# -- result -----------------------------------------------------------------------------------------------------------


def _indicator(chosen: Whole, n_chosen: Whole, classes: int) -> csr_array:
    """Return rows x classes, 1 if a class counts for a row; a class that is drawn twice counts once."""
    counts = np.arange(chosen.shape[1], dtype=np.uint64) < n_chosen[:, np.newaxis]
    return tally(chosen[counts], n_chosen.astype(np.int64), classes).astype(np.bool_).astype(np.int8)
