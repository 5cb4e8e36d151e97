"""Texts to term counts: one column a distinct token, columns in sorted order. Texts are counted as they come."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHANUMERIC = re.compile("[a-z0-9]+")
WORDS = re.compile("[a-z]{2,}")
BLOCK_TOKENS = 2**20
"""Tokens that are held before they are counted: what bounds the memory beyond that of the counts themselves."""


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
    counted = _Counted()
    tokens, ends = array("i"), array("i", [0])
    for text in texts:
        tokens.extend(map(number.__getitem__, token.findall(text.lower())))
        ends.append(len(tokens))
        if len(tokens) >= BLOCK_TOKENS:
            counted.add(tokens, ends, len(number))
            tokens, ends = array("i"), array("i", [0])
    counted.add(tokens, ends, len(number))
    vocabulary = np.array(sorted(number), dtype=object)
    column = np.empty(len(number), dtype=np.int32)
    column[[number[word] for word in vocabulary]] = np.arange(len(number), dtype=np.int32)
    counts = counted.matrix(column)
    stopped = set(stop_words)
    kept = np.bincount(counts.indices, minlength=len(number)) >= min_df
    kept &= np.fromiter((word not in stopped for word in vocabulary), dtype=np.bool_, count=len(number))
    if not kept.all():  # else a copy would only double the memory
        counts = counts[:, kept]
    return counts, tuple(vocabulary[kept])


class _Counted:
    """Counts of the texts so far, in arrays that grow in place: memory never holds them twice."""

    def __init__(self) -> None:
        self.words, self.counts, self.ends = array("i"), array("f"), array("q", [0])

    def add(self, tokens: array[int], ends: array[int], words: int) -> None:
        """Some more texts, whose tokens lie one after the other, by the numbers that words got as they were met."""
        columns = np.array(tokens, dtype=np.int32)
        ones = np.ones(len(columns), dtype=np.float32)
        block = csr_array((ones, columns, np.array(ends, dtype=np.int32)), shape=(len(ends) - 1, words))
        block.sum_duplicates()
        self.ends.extend((block.indptr[1:] + self.ends[-1]).tolist())
        self.words.frombytes(block.indices.astype(np.int32).tobytes())
        self.counts.frombytes(block.data.tobytes())

    def matrix(self, column: NDArray[np.int32]) -> csr_array:
        """All counts, their columns renumbered, sorted in each row."""
        indices, counts = np.asarray(self.words), np.asarray(self.counts)  # views, no copies
        for start in range(0, len(indices), BLOCK_TOKENS):
            indices[start : start + BLOCK_TOKENS] = column[indices[start : start + BLOCK_TOKENS]]
        ends = np.array(self.ends, dtype=np.int32 if len(indices) < 2**31 else np.int64)
        matrix = csr_array((counts, indices, ends), shape=(len(ends) - 1, len(column)))
        matrix.sort_indices()
        matrix.has_canonical_format = True
        return matrix


def english_stop_words() -> frozenset[str]:
    """scikit-learn's list of 318 words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: PLC0415 (brings scikit-learn for a list of words)

    return frozenset(ENGLISH_STOP_WORDS)
