"""Texts by runs of characters or words without a vocabulary: each run has the column that its hash says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin

from harness.sdk import archive, rules
from harness.sdk.saving import Saved
from harness_representations.chars import Chars
from harness_representations.kernels.table import Spans, hash_terms
from harness_representations.ngrams import read_ngrams
from harness_representations.terms import count_terms
from harness_representations.weights import WEIGHTINGS, fit_idf, weigh
from harness_representations.words import Words

MOST_BITS = 30
COUNTED = {"words": Words, "chars": Chars}


class Hashed(Saved, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Words or runs of characters by their hashes: for vocabularies without end, in a width that is known before.

    Two terms may share a column; with many more columns than terms that is rare.

    Parameters
    ----------
    of : words or chars: what is counted, with the parameters that these have by themselves.
    bits : there are 2 ** bits columns.
    ngrams : how long runs are; unless told, those of words or chars.
    weighting : raw, binary, tf, tfidf or logtfidf: what becomes of the counts.
    lowercase : whether upper and lower case are one.
    accents : keep, or strip: a letter with a mark above or below is that letter.
    """

    idf_: NDArray[np.float64]

    def __init__(
        self,
        *,
        of: str = "chars",
        bits: int = 22,
        ngrams: str | int | tuple[int, int] | None = None,
        weighting: str = "tfidf",
        lowercase: bool = True,
        accents: str = "keep",
    ) -> None:
        self.of = of
        self.bits = bits
        self.ngrams = ngrams
        self.weighting = weighting
        self.lowercase = lowercase
        self.accents = accents

    def _check_parameters(self) -> None:
        known = {
            "of": rules.one_of(self.of, tuple(COUNTED)),
            "bits": (rules.count(self.bits)[0] and self.bits <= MOST_BITS, f"an integer from 1 to {MOST_BITS}"),
            "weighting": rules.one_of(self.weighting, WEIGHTINGS),
            "lowercase": rules.flag(self.lowercase),
            "accents": rules.one_of(self.accents, ("keep", "strip")),
        }
        rules.enforce(known, vars(self))
        if self.ngrams is not None:
            read_ngrams(self.ngrams)

    def fit(self, texts: Iterable[str], y: Any = None) -> Self:
        """Learn the idf of each column, where the weighting has one."""
        self.fit_transform(texts)
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> csr_array:
        """The same, and what it makes of these texts."""
        self._check_parameters()
        counts = self._count(texts)
        self.idf_ = fit_idf(self.weighting, counts)
        return weigh(self.weighting, counts, self.idf_)

    def transform(self, texts: Iterable[str]) -> csr_array:
        """The weighed counts of these texts."""
        return weigh(self.weighting, self._count(texts), self.idf_)

    def _count(self, texts: Iterable[str]) -> csr_array:
        terms = COUNTED[self.of](lowercase=self.lowercase, accents=self.accents)
        if self.ngrams is not None:
            terms.set_params(ngrams=self.ngrams)
        return count_terms(terms, texts, self._number, lambda: 2**self.bits)

    def _number(self, spans: Spans) -> NDArray[np.int32]:
        terms = np.empty(spans.begins.size, np.int32)
        hash_terms(spans, self.bits, terms)
        return terms

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        expected = 2**self.bits if self.weighting.endswith("idf") else 0
        archive.expect_array(self.idf_, (expected,), np.float64, "idf_")
