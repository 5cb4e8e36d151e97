"""Texts to term counts: lower-cased runs of a-z and 0-9, one column a distinct token, columns in sorted order."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_array

_TOKEN = re.compile("[a-z0-9]+")


def count_terms(texts: Iterable[str]) -> tuple[csr_array, tuple[str, ...]]:
    """The counts, one row a text (empty when the text has no token), and the vocabulary that names the columns."""
    rows = [_TOKEN.findall(text.lower()) for text in texts]
    vocabulary = tuple(sorted({token for row in rows for token in row}))
    column = {token: position for position, token in enumerate(vocabulary)}
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    columns = np.fromiter((column[token] for row in rows for token in row), dtype=np.int32, count=int(ends[-1]))
    ones = np.ones(len(columns), dtype=np.float32)
    counts = csr_array((ones, columns, ends), shape=(len(rows), len(vocabulary)))
    counts.sum_duplicates()  # also sorts the columns of each row
    return counts, vocabulary
