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
    blocks: list[csr_array] = []
    tokens, ends = array("i"), array("i", [0])
    for text in texts:
        tokens.extend(map(number.__getitem__, token.findall(text.lower())))
        ends.append(len(tokens))
        if len(tokens) >= BLOCK_TOKENS:
            blocks.append(_count(tokens, ends, len(number)))
            tokens, ends = array("i"), array("i", [0])
    blocks.append(_count(tokens, ends, len(number)))
    vocabulary = np.array(sorted(number), dtype=object)
    column = np.empty(len(number), dtype=np.int32)
    column[[number[word] for word in vocabulary]] = np.arange(len(number), dtype=np.int32)
    counts = _stack(blocks, column)
    stopped = set(stop_words)
    kept = np.bincount(counts.indices, minlength=len(number)) >= min_df
    kept &= np.fromiter((word not in stopped for word in vocabulary), dtype=np.bool_, count=len(number))
    return (counts if kept.all() else counts[:, kept]), tuple(vocabulary[kept])


def _count(tokens: array[int], ends: array[int], words: int) -> csr_array:
    """Counts of some texts, whose tokens lie one after the other, by the numbers that words got as they were met."""
    columns = np.array(tokens, dtype=np.int32)
    ones = np.ones(len(columns), dtype=np.float32)
    counts = csr_array((ones, columns, np.array(ends, dtype=np.int32)), shape=(len(ends) - 1, words))
    counts.sum_duplicates()
    return csr_array((counts.data.copy(), counts.indices.copy(), counts.indptr), shape=counts.shape)  # no spare room


def _stack(blocks: list[csr_array], column: NDArray[np.int32]) -> csr_array:
    """The blocks one below the other, their columns renumbered. They are let go one by one: memory holds one copy."""
    rows, nonzeros = sum(block.shape[0] for block in blocks), sum(block.nnz for block in blocks)
    indptr = np.zeros(rows + 1, dtype=np.int32 if nonzeros < 2**31 else np.int64)
    indices, data = np.empty(nonzeros, dtype=np.int32), np.empty(nonzeros, dtype=np.float32)
    row = at = 0
    blocks.reverse()
    while blocks:
        block = blocks.pop()
        indptr[row + 1 : row + 1 + block.shape[0]] = block.indptr[1:] + at
        indices[at : at + block.nnz], data[at : at + block.nnz] = column[block.indices], block.data
        row, at = row + block.shape[0], at + block.nnz
    counts = csr_array((data, indices, indptr), shape=(rows, len(column)))
    counts.sort_indices()
    counts.has_canonical_format = True
    return counts


def english_stop_words() -> frozenset[str]:
    """scikit-learn's list of 318 words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)
