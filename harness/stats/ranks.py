"""Learners over several data sets: average ranks, Friedman's test, Nemenyi's critical difference (Demsar, 2006)."""

from __future__ import annotations

import math
from collections import Counter
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


def average_ranks(
    values: Mapping[str, Mapping[str, float]], *, higher: bool, families: Mapping[str, str] | None = None
) -> AverageRanks:
    """The average ranks of learners over the data sets that all of them have a value for.

    `values` maps a learner to its value on each data set. `families` maps a data set to what it was drawn from: those
    of one family are no independent witnesses, and count as one. ValueError with fewer than two learners or families.
    """
    together: dict[str, list[list[float]]] = {}
    for dataset in _common_datasets(values):
        on_dataset = [by_dataset[dataset] for by_dataset in values.values()]
        family = (families or {}).get(dataset, dataset)
        together.setdefault(family, []).append(rank_values(on_dataset, higher=higher))
    n_datasets = len(together)
    if len(values) < 2 or n_datasets < 2:
        found = f"{counted(len(values), 'learner')} on {counted(n_datasets, 'common data set')}"
        raise ValueError(f"{found}: two of each are needed to rank")
    table = [_one_voice(rows) for rows in together.values()]
    means = {}
    for name, column in zip(values, zip(*table, strict=True), strict=True):
        means[name] = math.fsum(column) / n_datasets
    ranks = {name: means[name] for name in sorted(means, key=means.__getitem__)}
    _, p_value = friedman(table)
    difference = critical_difference(len(ranks), n_datasets)
    return AverageRanks(ranks, n_datasets, p_value, difference, _runs_within(ranks, difference))


def _one_voice(rows: Sequence[Sequence[float]]) -> list[float]:
    """The ranks of learners by their mean rank on the data sets of one family."""
    means = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    return rank_values(means, higher=False)


def _common_datasets(values: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The data sets that every learner has a value for."""
    if not values:
        return []
    first, *others = values.values()
    return sorted(set(first).intersection(*others))


def rank_values(values: Sequence[float], *, higher: bool) -> list[float]:
    """Ranks from 1, the best; equal values share the mean of their ranks."""
    in_order = sorted(values, reverse=higher)
    ranks = []
    for value in values:
        better, equal = in_order.index(value), in_order.count(value)
        ranks.append(better + (equal + 1) / 2)
    return ranks


def friedman(table: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Friedman's statistic, corrected for ties, and its p-value, from a row of ranks for each data set."""
    n, k = len(table), len(table[0])
    tied = 0
    for row in table:
        for count in Counter(row).values():
            tied += count**3 - count
    spread = 1 - tied / (n * k * (k * k - 1))
    if spread == 0:  # every learner has the same value everywhere
        return 0.0, 1.0
    from scipy.special import chdtrc  # noqa: PLC0415 (brings scipy, which few tables need)

    sums = [math.fsum(column) for column in zip(*table, strict=True)]
    squares = math.fsum(one * one for one in sums)
    statistic = (12 / (n * k * (k + 1)) * squares - 3 * n * (k + 1)) / spread
    return statistic, float(chdtrc(k - 1, max(statistic, 0.0)))


def critical_difference(n_learners: int, n_datasets: int) -> float:
    """Nemenyi's: average ranks must differ by more than this at 5%."""
    from scipy.stats import studentized_range  # noqa: PLC0415 (brings scipy, which few tables need)

    q = float(studentized_range.ppf(1 - SIGNIFICANCE, n_learners, math.inf)) / math.sqrt(2)
    return q * math.sqrt(n_learners * (n_learners + 1) / (6 * n_datasets))


def _runs_within(ranks: Mapping[str, float], difference: float) -> tuple[tuple[str, ...], ...]:
    """The longest runs of two or more, in the order of ranks, none of which lies inside another."""
    names = list(ranks)
    runs: list[tuple[str, ...]] = []
    reached = 0
    for start, name in enumerate(names):
        end = start
        while end < len(names) and ranks[names[end]] - ranks[name] <= difference:
            end += 1
        if end - start > 1 and end > reached:
            runs.append(tuple(names[start:end]))
            reached = end
    return tuple(runs)
