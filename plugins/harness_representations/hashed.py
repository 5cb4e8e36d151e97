"""Texts by character n-grams or words without a vocabulary: the hash of a term is its column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk import rules, saving
from harness_representations.chars import Chars
from harness_representations.kernels.table import Spans, hash_terms
from harness_representations.terms import TextTransformer, count_terms, locate_terms, read_ngrams
from harness_representations.weights import fit_idf, weigh
from harness_representations.words import Words

MOST_BITS = 30
COUNTED: dict[str, type[Words | Chars]] = {"words": Words, "chars": Chars}


class Hashed(TextTransformer):
    """Words or character n-grams by their hashes: for unlimited vocabularies, with a fixed number of columns.

    Two terms may share a column. This is rare if there are many more columns than terms.

    Parameters
    ----------
    of : {"chars", "words"}, default="chars"
        Terms to count, with the defaults of that representation.
    bits : int, default=22
        The matrix has 2 ** bits columns.
    ngrams : str, int, tuple of int or None, default=None
        Length of the n-grams. None means the default of words or chars.
    weighting : {"raw", "binary", "tf", "tfidf", "logtfidf"}, default="tfidf"
        Weighting of the counts.
    lowercase : bool, default=True
        If True, upper case is converted to lower case.
    accents : {"keep", "strip"}, default="keep"
        "strip" removes accents from letters.

    Attributes
    ----------
    idf_ : ndarray
        The idf of each column; empty if the weighting has none.

    Examples
    --------
    >>> from harness_representations.hashed import Hashed
    >>> hashed = Hashed(of="words", bits=10, weighting="raw")
    >>> hashed.fit_transform(["a red apple", "a green pear"]).shape
    (2, 1024)
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
            **self._text_rules(),
        }
        rules.enforce(known, vars(self))
        if self.ngrams is not None:
            read_ngrams(self.ngrams)

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> csr_array:
        """Learn the idf of each column if the weighting has one; return the weighted counts of these texts.

        Parameters
        ----------
        texts : iterable of str
            Texts.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        csr_array of shape (n_texts, n_columns)
            The transformed texts.
        """
        self._check_parameters()
        counts = self._count(texts)
        self.idf_ = fit_idf(self.weighting, counts)
        return weigh(self.weighting, counts, self.idf_)

    def transform(self, texts: Iterable[str]) -> csr_array:
        """Return the weighted counts of these texts.

        Parameters
        ----------
        texts : iterable of str
            Texts.

        Returns
        -------
        csr_array of shape (n_rows, n_columns)
            The transformed rows.
        """
        return weigh(self.weighting, self._count(texts), self.idf_)

    def feature_spans(self, text: str) -> NDArray[np.int64]:
        """Return the terms of a text: for each occurrence its column, its start and its end.

        Parameters
        ----------
        text : str
            A text.

        Returns
        -------
        ndarray of int64, shape (n_terms, 3)
            Column, start and end of each term.
        """
        return locate_terms(self._terms(), text, self._number)

    def _count(self, texts: Iterable[str]) -> csr_array:
        return count_terms(self._terms(), texts, self._number, lambda: 2**self.bits)

    def _terms(self) -> Words | Chars:
        terms = COUNTED[self.of](lowercase=self.lowercase, accents=self.accents)
        if self.ngrams is not None:
            terms.set_params(ngrams=self.ngrams)
        return terms

    def _number(self, spans: Spans) -> NDArray[np.int32]:
        terms = np.empty(spans.begins.size, np.int32)
        hash_terms(spans, self.bits, terms)
        return terms

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        expected = 2**self.bits if self.weighting.endswith("idf") else 0
        saving.expect_array(self.idf_, (expected,), np.float64, "idf_")
