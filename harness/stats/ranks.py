"""Learners over several data sets: average ranks, Friedman's test, Nemenyi's critical difference (Demsar, 2006)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.stats.paired import SIGNIFICANCE
from harness.wording import counted


@dataclass(frozen=True)
class AverageRanks:
    """All that a critical-difference diagram shows."""

    ranks: dict[str, float]
    """The average rank of each learner, 1 the best, in that order."""
    n_datasets: int
    p_value: float
    """Of Friedman's test: that all learners are equal."""
    difference: float
    """Nemenyi's critical difference: average ranks that lie less far apart cannot be told apart."""
    groups: tuple[tuple[str, ...], ...]
    """The longest runs of learners that cannot be told apart, best first; a learner alone is in none."""


def average_ranks(values: Mapping[str, Mapping[str, float]], *, higher: bool) -> AverageRanks:
    """The average ranks of learners over the data sets that all of them have a value for.

    `values` maps a learner to its value on each data set. ValueError with fewer than two of either.
    """
    common = sorted(set.intersection(*(set(by_dataset) for by_dataset in values.values()))) if values else []
    if len(values) < 2 or len(common) < 2:
        found = f"{counted(len(values), 'learner')} on {counted(len(common), 'common data set')}"
        raise ValueError(f"{found}: two of each are needed to rank")
    names = list(values)
    table = [ranks_of([values[name][dataset] for name in names], higher=higher) for dataset in common]
    means = [math.fsum(column) / len(common) for column in zip(*table, strict=True)]
    order = sorted(range(len(names)), key=lambda i: means[i])
    ranks = {names[i]: means[i] for i in order}
    difference = critical_difference(len(names), len(common))
    return AverageRanks(ranks, len(common), friedman(table)[1], difference, _groups(ranks, difference))


def ranks_of(values: Sequence[float], *, higher: bool) -> list[float]:
    """Ranks from 1, the best; equal values share the mean of their ranks."""
    better = [sum((a > b) if higher else (a < b) for a in values) for b in values]
    equal = [sum(a == b for a in values) for b in values]
    return [before + (same + 1) / 2 for before, same in zip(better, equal, strict=True)]


def friedman(table: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Friedman's statistic, corrected for ties, and its p-value, from a row of ranks for each data set."""
    n, k = len(table), len(table[0])
    sums = [math.fsum(column) for column in zip(*table, strict=True)]
    tied = sum(count**3 - count for row in table for count in (row.count(rank) for rank in set(row)))
    spread = 1 - tied / (n * k * (k * k - 1))
    if spread == 0:  # every learner has the same value everywhere
        return 0.0, 1.0
    from scipy.special import chdtrc

    statistic = (12 / (n * k * (k + 1)) * math.fsum(s * s for s in sums) - 3 * n * (k + 1)) / spread
    return statistic, float(chdtrc(k - 1, max(statistic, 0.0)))


def critical_difference(n_learners: int, n_datasets: int) -> float:
    """Nemenyi's: average ranks must differ by more than this at 5%."""
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - SIGNIFICANCE, n_learners, math.inf)) / math.sqrt(2)
    return q * math.sqrt(n_learners * (n_learners + 1) / (6 * n_datasets))


def _groups(ranks: Mapping[str, float], difference: float) -> tuple[tuple[str, ...], ...]:
    names = list(ranks)
    groups: list[tuple[str, ...]] = []
    reached = 0
    for start, name in enumerate(names):
        end = max(i for i, other in enumerate(names) if ranks[other] - ranks[name] <= difference) + 1
        if end - start > 1 and end > reached:
            groups.append(tuple(names[start:end]))
            reached = end
    return tuple(groups)
