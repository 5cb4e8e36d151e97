"""What somebody may have meant: the known names nearest to a misspelt one, whatever its case."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names that are most like this one, the most like it first; `PA` is as near to `pa` as can be."""
    written: dict[str, list[str]] = {}
    for one in known:
        written.setdefault(one.casefold(), []).append(one)
    found: list[str] = []
    for folded in get_close_matches(name.casefold(), written, n=most):
        found += written[folded]
    return found[:most]
