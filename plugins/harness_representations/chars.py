"""Texts by the runs of characters in their words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from harness_representations.kernels.spans import find_chars
from harness_representations.terms import Terms


class Chars(Terms):
    """Runs of characters inside of words, with a space either side of each word, as scikit-learn's `char_wb` has them.

    They tell related words and misspelt ones alike, without a list of word forms.

    Parameters
    ----------
    ngrams : how long runs are, a length or a range such as 2:5; a word shorter than that is taken whole.
    weighting : raw, binary, tf, tfidf or logtfidf: what becomes of the counts.
    min_df : runs that fewer training texts have get no column.
    max_features : at most so many columns, of the runs that are most frequent in training.
    lowercase : whether upper and lower case are one.
    accents : keep, or strip: a letter with a mark above or below is that letter.
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
        self.ngrams = ngrams
        self.weighting = weighting
        self.min_df = min_df
        self.max_features = max_features
        self.lowercase = lowercase
        self.accents = accents

    def _tidier(self) -> Callable[[str], str]:
        return _spaced


def _spaced(text: str) -> str:
    words = " ".join(text.split())
    return f" {words} " if words else ""
