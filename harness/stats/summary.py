"""Mean, spread and confidence intervals of some values."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation of n values; sd is None for one value."""

    mean: float
    sd: float | None
    n: int


def summarise(values: Sequence[float]) -> Summary | None:
    """The summary of some values, or None when there are none."""
    n = len(values)
    if n == 0:
        return None
    mean = mean_of(values)
    if n == 1:
        return Summary(mean, None, 1)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return Summary(mean, math.sqrt(squares / (n - 1)), n)


def mean_of(values: Collection[float]) -> float:
    """The mean, corrected for rounding: equal values have that value for their mean, however many there are."""
    rough = math.fsum(values) / len(values)
    return rough + math.fsum(value - rough for value in values) / len(values)


def t_half_width(summary: Summary) -> float | None:
    """Half the width of Student's 95% interval of the mean; None for one value."""
    if summary.sd is None:
        return None
    from scipy.special import stdtrit  # noqa: PLC0415 (brings scipy, which few tables need)

    return float(stdtrit(summary.n - 1, (1 + CONFIDENCE) / 2)) * summary.sd / math.sqrt(summary.n)


def binomial_half_width(share: float, n: int) -> float:
    """Half the width of the papers' 95% interval of a share of n test rows: 1.96 sqrt(e (1 - e) / n)."""
    return 1.96 * math.sqrt(share * (1 - share) / n)
