"""Vocabularies: terms and their numbers, learned in training and looked up in other texts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from harness.sdk import Array, frozen
from harness_representations.kernels.table import Spans, Table, add_terms, find_terms, place_terms

LEAST_TERMS, LEAST_CODES = 1024, 8192


class Vocabulary:
    """A growing table of terms."""

    def __init__(self) -> None:
        self._table = Table(
            slots=np.full(2 * LEAST_TERMS, -1, np.int32),
            hashes=np.empty(LEAST_TERMS, np.uint64),
            bounds=np.zeros(LEAST_TERMS + 1, np.int64),
            arena=np.empty(LEAST_CODES, np.uint32),
            size=np.zeros(1, np.int64),
        )

    @classmethod
    def of(cls, codes: NDArray[np.uint32], bounds: NDArray[np.int64]) -> Vocabulary:
        """Return a vocabulary from terms that follow each other in `codes`.

        Parameters
        ----------
        codes : ndarray of uint32
            Code points of all terms.
        bounds : ndarray of int64
            Start of each term in `codes`, and the end of the last one.

        Raises
        ------
        ValueError
            If the bounds do not divide the code points, or if a term occurs twice.
        """
        if [codes.dtype, bounds.dtype] != [np.uint32, np.int64] or not codes.ndim == bounds.ndim == 1:
            raise ValueError("the vocabulary is of another type")
        if not bounds.size or bounds[0] != 0 or bounds[-1] != codes.size or np.any(bounds[1:] < bounds[:-1]):
            raise ValueError("the terms of the vocabulary do not follow each other")
        vocabulary = cls()
        spans = Spans(frozen(codes, np.uint32), frozen(bounds[:-1], np.int64), frozen(np.diff(bounds), np.int32))
        vocabulary.add(spans)
        if len(vocabulary) != len(bounds) - 1:
            raise ValueError("a term stands twice in the vocabulary")
        return vocabulary

    def __len__(self) -> int:
        return int(self._table.size[0])

    def __iter__(self) -> Iterator[str]:
        codes, bounds = self.codes, self.bounds
        for first, last in pairwise(bounds):
            yield codes[first:last].tobytes().decode("utf-32-le")

    @property
    def codes(self) -> NDArray[np.uint32]:
        """The code points of all terms, one after the other."""
        return self._table.arena[: self._table.bounds[len(self)]]

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Start of each term in `codes`, and the end of the last one."""
        return self._table.bounds[: len(self) + 1]

    def add(self, spans: Spans) -> NDArray[np.int32]:
        """Return the numbers of the terms in these spans; new terms get the next numbers."""
        terms = np.empty(spans.begins.size, np.int32)
        done = add_terms(self._table, spans, 0, terms)
        while done < terms.size:
            self._grow(int(spans.lengths[done]))
            done = add_terms(self._table, spans, done, terms)
        return terms

    def find(self, spans: Spans) -> NDArray[np.int32]:
        """Return the numbers of the terms in these spans; -1 for unknown terms."""
        terms = np.empty(spans.begins.size, np.int32)
        find_terms(self._table, spans, terms)
        return terms

    def kept(self, terms: NDArray[np.int64]) -> Vocabulary:
        """Return a vocabulary of only these terms, numbered in their order."""
        lengths = np.diff(self.bounds)[terms]
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.arange(bounds[-1]) + np.repeat(self.bounds[terms] - bounds[:-1], lengths)
        return Vocabulary.of(self.codes[places], bounds)

    def _grow(self, codes: int) -> None:
        """Double the room, with at least enough for one more term of this number of code points."""
        old = self._table
        self._table = Table(
            slots=np.full(2 * old.slots.size, -1, np.int32),
            hashes=_longer(old.hashes, old.slots.size),
            bounds=_longer(old.bounds, old.slots.size + 1),
            arena=_longer(old.arena, 2 * old.arena.size + codes),
            size=old.size,
        )
        place_terms(self._table)


def _longer(array: Array, size: int) -> Array:
    grown = np.empty(size, array.dtype)
    grown[: array.size] = array
    return grown
