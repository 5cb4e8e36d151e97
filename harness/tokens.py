"""Texts to term counts: one column a distinct token, columns in sorted order."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_array

ALPHANUMERIC = re.compile("[a-z0-9]+")
WORDS = re.compile("[a-z]{2,}")


def count_terms(
    texts: Iterable[str],
    token: re.Pattern[str] = ALPHANUMERIC,
    *,
    stop_words: Iterable[str] = (),
    min_df: int = 1,
) -> tuple[csr_array, tuple[str, ...]]:
    """The counts, one row a text (empty when the text has no token), and the vocabulary that names the columns.

    Texts are lower-cased. Stop words, and tokens that occur in fewer than `min_df` texts, get no column.
    """
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    tokens, ends = array("i"), [0]
    for text in texts:
        tokens.extend(map(number.__getitem__, token.findall(text.lower())))
        ends.append(len(tokens))
    vocabulary = np.array(sorted(number), dtype=object)
    column = np.empty(len(number), dtype=np.int32)
    column[[number[word] for word in vocabulary]] = np.arange(len(number), dtype=np.int32)
    columns = column[np.frombuffer(tokens, dtype=np.intc)] if tokens else np.empty(0, dtype=np.int32)
    ones = np.ones(len(columns), dtype=np.float32)
    counts = csr_array((ones, columns, np.array(ends, dtype=np.int32)), shape=(len(ends) - 1, len(number)))
    counts.sum_duplicates()  # also sorts the columns of each row
    stopped = set(stop_words)
    kept = np.bincount(counts.indices, minlength=len(number)) >= min_df
    kept &= np.fromiter((word not in stopped for word in vocabulary), dtype=np.bool_, count=len(number))
    return (counts if kept.all() else counts[:, kept]), tuple(vocabulary[kept])


def english_stop_words() -> frozenset[str]:
    """scikit-learn's list of 318 words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)
