"""Texts to weighted counts of their terms: the common part of `words` and `chars`.

Texts are read in blocks, so memory beyond the counts stays small for any number of texts.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from harness.sdk import rules, saving
from harness.sdk.saving import Saved
from harness_representations.kernels.counts import count_rows
from harness_representations.kernels.table import Spans
from harness_representations.vocabulary import Vocabulary
from harness_representations.weights import WEIGHTINGS, fit_idf, weigh

BLOCK_TEXTS, BLOCK_CODES = 4096, 2**18
"""Number of texts, and approximate number of code points, in a block."""
Number = Callable[[Spans], NDArray[np.int32]]
"""Maps the terms of spans to numbers."""


class Learned(NamedTuple):
    """A vocabulary as a file stores it."""

    codes: NDArray[np.uint32]
    bounds: NDArray[np.int64]


class TextTransformer(Saved, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of transformers from texts to weighted counts.

    Parameters
    ----------
    weighting : {"raw", "binary", "tf", "tfidf", "logtfidf"}
        Weighting of the counts.
    lowercase : bool
        If True, upper case is converted to lower case.
    accents : {"keep", "strip"}
        "strip" removes accents from letters.
    """

    weighting: str
    lowercase: bool
    accents: str

    @abstractmethod
    def fit_transform(self, texts: Iterable[str], y: Any = None) -> csr_array:
        """Learn from these texts, and return their weighted counts.

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

    def fit(self, texts: Iterable[str], y: Any = None) -> Self:
        """Learn from these texts.

        Parameters
        ----------
        texts : iterable of str
            Texts.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.fit_transform(texts)
        return self

    def _text_rules(self) -> dict[str, rules.Rule]:
        return {
            "weighting": rules.one_of(self.weighting, WEIGHTINGS),
            "lowercase": rules.flag(self.lowercase),
            "accents": rules.one_of(self.accents, ("keep", "strip")),
        }


class Terms(TextTransformer):
    """A representation of texts by terms; a subclass defines a term.

    Parameters
    ----------
    ngrams : str, int or tuple of int
        Length of the terms.
    weighting : {"raw", "binary", "tf", "tfidf", "logtfidf"}
        Weighting of the counts.
    min_df : int
        Minimum number of training texts with a term, at least 1. Rarer terms get no column.
    max_features : int or None
        Maximum number of columns, at least 1, for the most frequent terms of the training texts. None means no limit.
    lowercase : bool
        If True, upper case is converted to lower case.
    accents : {"keep", "strip"}
        "strip" removes accents from letters.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The terms of the training texts that have a column, in the order of the columns.
    idf_ : ndarray
        The idf of each term; empty if the weighting has none.
    """

    records: ClassVar = {"vocabulary_": Learned}
    find: ClassVar[Callable[..., int]]
    """The kernel that finds the spans of terms."""

    ngrams: str | int | tuple[int, int]
    min_df: int
    max_features: int | None
    vocabulary_: Vocabulary
    idf_: NDArray[np.float64]

    def __init__(
        self,
        *,
        ngrams: str | int | tuple[int, int],
        weighting: str,
        min_df: int,
        max_features: int | None,
        lowercase: bool,
        accents: str,
    ) -> None:
        self.ngrams = ngrams
        self.weighting = weighting
        self.min_df = min_df
        self.max_features = max_features
        self.lowercase = lowercase
        self.accents = accents

    @abstractmethod
    def _tidier(self) -> Callable[[str], str]:
        """Return the function that prepares a text for the kernel: words with single spaces between them."""

    @abstractmethod
    def _pieces(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each word that `_tidier` keeps of a text."""

    @abstractmethod
    def _padding(self) -> str:
        """Return the text that `_tidier` adds at either end."""

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "min_df": rules.count(self.min_df),
            "max_features": rules.optional(self.max_features, rules.count(self.max_features)),
            **self._text_rules(),
        }

    def _check_parameters(self) -> None:
        rules.enforce(self._rules(), vars(self))
        read_ngrams(self.ngrams)

    # -- fitting

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> csr_array:
        """Learn the terms of these texts, and their idf if the weighting has one; return the weighted counts.

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
        vocabulary = Vocabulary()
        counts = count_terms(self, texts, vocabulary.add, vocabulary.__len__)
        kept = self._kept(counts)
        if kept.size < len(vocabulary):
            counts, vocabulary = counts[:, kept], vocabulary.kept(kept)
        self.vocabulary_, self.idf_ = vocabulary, fit_idf(self.weighting, counts)
        return weigh(self.weighting, counts, self.idf_)

    def transform(self, texts: Iterable[str]) -> csr_array:
        """Return the weighted counts of the known terms of these texts.

        Parameters
        ----------
        texts : iterable of str
            Texts.

        Returns
        -------
        csr_array of shape (n_rows, n_columns)
            The transformed rows.
        """
        check_is_fitted(self)
        counts = count_terms(self, texts, self.vocabulary_.find, self.vocabulary_.__len__)
        return weigh(self.weighting, counts, self.idf_)

    def feature_spans(self, text: str) -> NDArray[np.int64]:
        """Return the known terms in a text: for each occurrence its column, its start and its end.

        Parameters
        ----------
        text : str
            A text.

        Returns
        -------
        ndarray of int64, shape (n_terms, 3)
            Column, start and end of each term.
        """
        check_is_fitted(self)
        return locate_terms(self, text, self.vocabulary_.find)

    def _kept(self, counts: csr_array) -> NDArray[np.int64]:
        """Return the terms of enough texts, at most the `max_features` most frequent ones, in their order."""
        df = np.bincount(counts.indices, minlength=counts.shape[1])
        kept = np.flatnonzero(df >= self.min_df)
        if self.max_features is None or kept.size <= self.max_features:
            return kept
        total = np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1])
        most = np.argsort(-total[kept], kind="stable")[: self.max_features]
        return np.sort(kept[most])

    # -- counting

    def _spans(self, texts: list[str]) -> tuple[Spans, NDArray[np.int64]]:
        """Return the terms of some texts, and the place of the first term of each text."""
        low, high = read_ngrams(self.ngrams)
        buffer = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32)
        bounds = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        most = 2 * (high - low + 1) * buffer.size  # the space between two words belongs to n-grams of both
        begins, lengths = np.empty(most, np.int64), np.empty(most, np.int32)
        row_bounds = np.zeros(len(texts) + 1, np.int64)
        n = type(self).find(buffer, bounds, low, high, begins, lengths, row_bounds)
        return Spans(buffer, _read_only(begins[:n]), _read_only(lengths[:n])), row_bounds

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the terms, in the order of the columns."""
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "vocabulary_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    # -- files

    def _fitted(self) -> dict[str, Any]:
        learned = Learned(self.vocabulary_.codes, self.vocabulary_.bounds)
        return {**super()._fitted(), "vocabulary_": learned}

    def _take_up(self, fitted: dict[str, Any]) -> None:
        learned: Learned = fitted.pop("vocabulary_")
        super()._take_up(fitted)
        self.vocabulary_ = Vocabulary.of(learned.codes, learned.bounds)
        expected = len(self.vocabulary_) if self.weighting.endswith("idf") else 0
        saving.expect_array(self.idf_, (expected,), np.float64, "idf_")


def count_terms(terms: Terms, texts: Iterable[str], number: Number, width: Callable[[], int]) -> csr_array:
    """Return the counts of each term in each text.

    Parameters
    ----------
    terms : Terms
        The representation, which defines a term.
    texts : iterable of str
        The texts, but not a single text.
    number : callable
        Maps spans to columns.
    width : callable
        Returns the current number of columns.
    """
    if isinstance(texts, str):
        raise ValueError("expected a sequence of texts, got one text")
    counted = _Counted()
    tidied = tidy(texts, terms._tidier(), lowercase=terms.lowercase, accents=terms.accents)
    for block in _blocks(tidied):
        spans, bounds = terms._spans(block)
        counted.add(number(spans), bounds, width())
    return counted.matrix(width())


def locate_terms(terms: Terms, text: str, number: Number) -> NDArray[np.int64]:
    """Return the terms of a text: for each occurrence its column by `number`, its start and its end in the text."""
    finished, origins = _trace(terms, text)
    spans, _ = terms._spans([finished])
    found = []
    for column, begin, length in zip(number(spans).tolist(), spans.begins, spans.lengths, strict=True):
        own = origins[begin : begin + length]
        own = own[own >= 0]
        if column >= 0 and own.size:
            found.append((column, own[0], own[-1] + 1))
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def _trace(terms: Terms, text: str) -> tuple[str, NDArray[np.int64]]:
    """Return a text as the kernel takes it, and for each character its position in the text; -1 for added spaces."""
    single = [_simplify(character, terms.lowercase, terms.accents) for character in text]
    simple = _simplify(text, terms.lowercase, terms.accents)
    origins = np.repeat(np.arange(len(text)), [len(characters) for characters in single])
    parts, places = [], []
    for start, end in terms._pieces(simple):
        parts.append(simple[start:end])
        places += [origins[start:end], [-1]]
    ends = terms._padding() if parts else ""
    padding = [np.full(len(ends), -1)]
    return ends + " ".join(parts) + ends, np.concatenate([*padding, *places[:-1], *padding]).astype(np.int64)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _blocks(texts: Iterator[str]) -> Iterator[list[str]]:
    """Yield the texts in blocks: a fixed number of texts, or fewer if they are long."""
    while block := list(islice(texts, BLOCK_TEXTS)):
        total = sum(map(len, block))
        step = max(1, len(block) * BLOCK_CODES // max(total, BLOCK_CODES))
        for start in range(0, len(block), step):
            yield block[start : start + step]


class _Counted:
    """Counts of the texts read so far."""

    def __init__(self) -> None:
        self.rows = 0
        self.pieces: list[tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]] = []
        self.met, self.place = np.empty(0, np.int64), np.empty(0, np.int64)

    def add(self, terms: NDArray[np.int32], bounds: NDArray[np.int64], width: int) -> None:
        """Add texts, whose terms follow each other."""
        if width > self.met.size:
            more = np.full(2 * width - self.met.size, -1, np.int64)
            self.met, self.place = np.concatenate([self.met, more]), np.concatenate([self.place, more])
        indices, counts = np.empty(terms.size, np.int32), np.empty(terms.size, np.float32)
        ends = np.zeros(bounds.size, np.int64)
        n = count_rows(terms, bounds, self.rows, self.met, self.place, indices, counts, ends)
        self.rows += bounds.size - 1
        self.pieces.append((indices[:n].copy(), counts[:n].copy(), np.diff(ends)))

    def matrix(self, width: int) -> csr_array:
        """Return all counts, with the columns of each row in order."""
        if not self.pieces:
            return csr_array((0, width), dtype=np.float32)
        indices, counts, lengths = (np.concatenate(kind) for kind in zip(*self.pieces, strict=True))
        self.pieces.clear()
        index = np.int32 if indices.size < 2**31 else np.int64
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
        matrix = csr_array((counts, indices.astype(index, copy=False), bounds), shape=(self.rows, width))
        return csr_array(matrix.tocsc().tocsr())  # sorted in linear time


def read_ngrams(value: object) -> tuple[int, int]:
    """Return the minimum and the maximum length of n-grams.

    Examples
    --------
    >>> read_ngrams(2), read_ngrams("2:5"), read_ngrams((2, 5))
    ((2, 2), (2, 5), (2, 5))
    """
    parts = value.split(":") if isinstance(value, str) else value
    if isinstance(parts, int) and not isinstance(parts, bool):
        parts = (parts, parts)
    try:
        low, high = map(int, parts)  # type: ignore[call-overload]  # what it cannot take, it refuses
    except (TypeError, ValueError):
        low, high = 0, 0
    if not 1 <= low <= high:
        raise ValueError(f"ngrams={value!r}: must be a length or a range of lengths from 1 on, such as 2 or 2:5")
    return low, high


def tidy(texts: Iterable[str], finish: Callable[[str], str], *, lowercase: bool, accents: str) -> Iterator[str]:
    """Yield the texts, optionally in lower case or without accents, each passed to `finish`."""
    for text in texts:
        yield finish(_simplify(text, lowercase, accents))


def _simplify(text: str, lowercase: bool, accents: str) -> str:
    lowered = text.lower() if lowercase else text
    return strip_accents(lowered) if accents == "strip" else lowered


def strip_accents(text: str) -> str:
    """Return the text without the accents of its letters.

    Examples
    --------
    >>> strip_accents("élève")
    'eleve'
    """
    if text.isascii():
        return text
    made_of = unicodedata.normalize("NFKD", text)
    return "".join(filter(lambda character: not unicodedata.combining(character), made_of))
