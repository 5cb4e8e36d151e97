"""Numbers as a page carries them: with as many figures as a reader or a plot can use, and no more."""

from __future__ import annotations

from collections.abc import Iterable

from harness.contract import MetricSpec
from harness.stats import Summary
from harness.tables.numbers import format_value

FIGURES = 4
"""Significant figures of what is drawn or seen trial by trial: one more than is ever read."""
MEAN_FIGURES = (5, 8)
"""Those of a mean, tried in this order."""


def rounded(value: float, figures: int = FIGURES) -> float:
    """The number with its first significant figures."""
    return float(f"{value:.{figures}g}")


def rounded_or_none(value: float | None, figures: int = FIGURES) -> float | None:
    """The same of a number that may be missing."""
    if value is None:
        return None
    return rounded(value, figures)


def rounded_all(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(rounded, values))


def shortened(summary: Summary, metric: MetricSpec) -> Summary:
    """Mean and spread with few figures, but such that they read as in the text tables, to the last digit."""
    words = format_value(summary, metric)
    for figures in MEAN_FIGURES:
        short = Summary(rounded(summary.mean, figures), rounded_or_none(summary.sd, figures), summary.n)
        if format_value(short, metric) == words:
            return short
    return summary
