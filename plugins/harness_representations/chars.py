"""Texts by the runs of characters in their words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from harness_representations.kernels.spans import find_chars
from harness_representations.terms import Terms

_WORD = re.compile(r"\S+")


class Chars(Terms):
    """Runs of characters inside of words, with a space either side of each word, as scikit-learn's `char_wb` has them.

    They match related and misspelt words without a list of word forms.

    Parameters
    ----------
    ngrams : str, int or tuple of int, default="2:5"
        Length of the runs, a number or a range such as 2:5. A shorter word is taken whole.
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
