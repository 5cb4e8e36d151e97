"""Texts by the character n-grams of their words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from harness_representations.kernels.spans import find_chars
from harness_representations.terms import Terms

_WORD = re.compile(r"\S+")


class Chars(Terms):
    """Character n-grams inside words, with a space before and after each word, like scikit-learn's `char_wb`.

    They match related and misspelt words without a list of word forms.

    Parameters
    ----------
    ngrams : str, int or tuple of int, default="2:5"
        Length of the n-grams, a number or a range such as 2:5, at least 1. A shorter word counts as one n-gram.
    weighting : {"raw", "binary", "tf", "tfidf", "logtfidf"}, default="tfidf"
        Weighting of the counts.
    min_df : int, default=1
        Minimum number of training texts with an n-gram, at least 1. Rarer n-grams get no column.
    max_features : int or None, default=None
        Maximum number of columns, at least 1, for the most frequent n-grams. None means no limit.
    lowercase : bool, default=True
        If True, upper case is converted to lower case.
    accents : {"keep", "strip"}, default="keep"
        "strip" removes accents from letters.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The n-grams in the order of the columns.
    idf_ : ndarray
        The idf of each n-gram; empty if the weighting has none.

    Examples
    --------
    >>> from harness_representations.chars import Chars
    >>> chars = Chars(ngrams=3, weighting="raw")
    >>> chars.fit_transform(["pear", "pears"]).toarray()
    array([[1., 1., 1., 1., 0., 0.],
           [1., 1., 1., 0., 1., 1.]], dtype=float32)
    >>> list(chars.get_feature_names_out())
    [' pe', 'pea', 'ear', 'ar ', 'ars', 'rs ']
    """

    find: ClassVar[Any] = find_chars

    def __init__(
        self,
        *,
        ngrams: str | int | tuple[int, int] = "2:5",
        weighting: str = "tfidf",
        min_df: int = 1,
        max_features: int | None = None,
        lowercase: bool = True,
        accents: str = "keep",
    ) -> None:
        super().__init__(
            ngrams=ngrams,
            weighting=weighting,
            min_df=min_df,
            max_features=max_features,
            lowercase=lowercase,
            accents=accents,
        )

    def _tidier(self) -> Callable[[str], str]:
        return _spaced

    def _pieces(self, text: str) -> Iterator[tuple[int, int]]:
        return (word.span() for word in _WORD.finditer(text))

    def _padding(self) -> str:
        return " "


def _spaced(text: str) -> str:
    words = " ".join(text.split())
    return f" {words} " if words else ""
