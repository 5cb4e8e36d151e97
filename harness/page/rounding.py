"""Numbers as a page carries them: with as many figures as a reader or a plot can use, and no more."""

from __future__ import annotations

from collections.abc import Iterable

FIGURES = 5


def rounded(value: float) -> float:
    """The number with its first significant figures."""
    return float(f"{value:.{FIGURES}g}")


def rounded_or_none(value: float | None) -> float | None:
    """The same of a number that may be missing."""
    if value is None:
        return None
    return rounded(value)


def rounded_all(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(rounded, values))
