"""Texts by their words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from harness.sdk import rules
from harness_representations.kernels.spans import find_words
from harness_representations.terms import Terms

_BETWEEN = (
    r"\s\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7"  # ASCII and Latin-1
    r"\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u2000-\u200b\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"  # full-width forms
)
TOKENS = {
    "any": re.compile(f"[^{_BETWEEN}]+"),
    "alphanumeric": re.compile("[a-z0-9]+"),
    "letters": re.compile("[a-z]{2,}"),
}
"""Kinds of words. "any" is text between spaces and punctuation, in any script. It does not use Python's word
characters, which exclude the vowel signs of many scripts and would split words there."""


class Words(Terms):
    """Words, or runs of words.

    Parameters
    ----------
    ngrams : str, int or tuple of int, default=1
        Number of words in a run, at least 1, or a range such as 1:2.
    tokens : str, default="any"
        Definition of a word: "any" (text between spaces and punctuation, in any script), "alphanumeric" (a to z and
        digits), "letters" (at least two of a to z), or a regular expression.
    stop_words : str, list of str or None, default=None
        Words excluded before runs are made: None, "english" (scikit-learn's list), or a list.
    weighting : {"raw", "binary", "tf", "tfidf", "logtfidf"}, default="tfidf"
        Weighting of the counts.
    min_df : int, default=1
        Minimum number of training texts with a term, at least 1. Rarer terms get no column.
    max_features : int or None, default=None
        Maximum number of columns, at least 1, for the most frequent terms. None means no limit.
    lowercase : bool, default=True
        If True, upper case is converted to lower case.
    accents : {"keep", "strip"}, default="keep"
        "strip" removes accents from letters.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The terms in the order of the columns.
    idf_ : ndarray
        The idf of each term; empty if the weighting has none.

    Examples
    --------
    >>> from harness_representations.words import Words
    >>> words = Words(ngrams="1:2", weighting="raw")
    >>> words.fit_transform(["head nurse", "night nurse"]).toarray()
    array([[1., 1., 1., 0., 0.],
           [0., 0., 1., 1., 1.]], dtype=float32)
    >>> list(words.get_feature_names_out())
    ['head', 'head nurse', 'nurse', 'night', 'night nurse']
    """

    find: ClassVar[Any] = find_words

    def __init__(
        self,
        *,
        ngrams: str | int | tuple[int, int] = 1,
        tokens: str = "any",
        stop_words: str | Sequence[str] | None = None,
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
        self.tokens = tokens
        self.stop_words = stop_words

    def _rules(self) -> dict[str, rules.Rule]:
        return super()._rules() | {
            "tokens": (_pattern(self.tokens) is not None, f"{', '.join(TOKENS)} or a regular expression"),
            "stop_words": (_are_words(self.stop_words), "None, english or a list of words"),
        }

    def _left_out(self) -> frozenset[str]:
        return _english_stop_words() if self.stop_words == "english" else frozenset(self.stop_words or ())

    def _pieces(self, text: str) -> Iterator[tuple[int, int]]:
        pattern, left_out = _pattern(self.tokens), self._left_out()
        assert pattern is not None  # checked when it was fitted
        group = min(pattern.groups, 1)  # as `findall` has it
        return (word.span(group) for word in pattern.finditer(text) if word[group] not in left_out)

    def _padding(self) -> str:
        return ""

    def _tidier(self) -> Callable[[str], str]:
        pattern, left_out = _pattern(self.tokens), self._left_out()
        assert pattern is not None  # checked when it was fitted
        find = pattern.findall
        if not left_out:
            return lambda text: " ".join(find(text))
        return lambda text: " ".join([word for word in find(text) if word not in left_out])


def _pattern(tokens: object) -> re.Pattern[str] | None:
    if not isinstance(tokens, str):
        return None
    try:
        return TOKENS.get(tokens) or re.compile(tokens)
    except re.error:
        return None


def _are_words(value: object) -> bool:
    if value is None or value == "english":
        return True
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


def _english_stop_words() -> frozenset[str]:
    """scikit-learn's list of 318 words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: PLC0415 (brings scikit-learn for a list of words)

    return frozenset(ENGLISH_STOP_WORDS)
