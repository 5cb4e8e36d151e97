"""Means, spreads and paired tests: pure functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

SIGNIFICANCE = 0.05
FEWEST_PAIRS = 6
"""With fewer pairs an exact two-sided sign test cannot reach 0.05, whatever the values."""


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
    mean = _mean(values)
    if n == 1:
        return Summary(mean, None, 1)
    return Summary(mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)), n)


def _mean(values: Collection[float]) -> float:
    """The mean, corrected for rounding: equal values have that value for their mean, however many there are."""
    rough = math.fsum(values) / len(values)
    return rough + math.fsum(value - rough for value in values) / len(values)


def sign_test(first: Sequence[float], second: Sequence[float]) -> float:
    """Exact two-sided p-value that neither of two paired samples tends to be larger; ties are dropped."""
    wins = sum(a > b for a, b in zip(first, second, strict=True))
    losses = sum(a < b for a, b in zip(first, second, strict=True))
    n, extreme = wins + losses, max(wins, losses)
    if n == 0:
        return 1.0
    tail: float = sum(math.comb(n, i) for i in range(extreme, n + 1)) / 2**n
    return min(1.0, 2 * tail)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction for testing several hypotheses at once."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = highest
    return corrected


def indistinguishable_from_best(samples: Mapping[str, Mapping[int, float]], *, higher: bool) -> tuple[set[str], bool]:
    """The best by mean and all that a paired test cannot tell from it; and whether there were pairs enough to test.

    `samples` maps a name to its value in each trial; trials are paired by their number.
    """
    means = {name: _mean(values.values()) for name, values in samples.items() if values}
    if not means:
        return set(), False
    top = max(means.values()) if higher else min(means.values())
    ties = {name for name, mean in means.items() if mean == top}
    best = sorted(ties)[0]
    others = [name for name in means if name not in ties]
    pairs = [sorted(samples[best].keys() & samples[name].keys()) for name in others]
    if min(map(len, pairs), default=FEWEST_PAIRS) < FEWEST_PAIRS:
        return ties, False
    p_values = [
        sign_test([samples[best][t] for t in shared], [samples[name][t] for t in shared])
        for name, shared in zip(others, pairs, strict=True)
    ]
    close = {name for name, p in zip(others, holm(p_values), strict=True) if p > SIGNIFICANCE}
    return ties | close, True
