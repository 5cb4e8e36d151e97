"""Runs of words or characters as the user asks for them, and texts as the kernels take them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator


def read_ngrams(value: object) -> tuple[int, int]:
    """The least and the greatest length of runs: from 2, "2:5" or (2, 5)."""
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
    """The texts in lower case, where that is wanted, without accents, where these are not, and then finished."""
    for text in texts:
        lowered = text.lower() if lowercase else text
        yield finish(strip_accents(lowered) if accents == "strip" else lowered)


def strip_accents(text: str) -> str:
    """The text with each character replaced by what it is made of, less the marks above and below."""
    if text.isascii():
        return text
    made_of = unicodedata.normalize("NFKD", text)
    return "".join(filter(lambda character: not unicodedata.combining(character), made_of))
