"""Comparison over several datasets: average ranks, Friedman's test, Nemenyi's critical difference (Demsar, 2006)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.stats.paired import SIGNIFICANCE
from harness.text import counted


@dataclass(frozen=True)
class AverageRanks:
    """The content of a critical-difference diagram."""

    ranks: dict[str, float]
    """The average rank of each learner, best first; 1 is the best rank."""
    n_datasets: int
    p_value: float
    """The p-value of Friedman's test, whose null hypothesis is that all learners are equal."""
    difference: float
    """Nemenyi's critical difference: average ranks that are closer do not differ significantly."""
    groups: tuple[tuple[str, ...], ...]
    """Maximal groups of two or more learners, adjacent in rank, that do not differ significantly; best first."""


def average_ranks(
    values: Mapping[str, Mapping[str, float]], *, higher: bool, families: Mapping[str, str] | None = None
) -> AverageRanks:
    """Return the average ranks of learners over the datasets on which all of them have a value.

    Parameters
    ----------
    values : mapping of str to mapping of str to float
        For each learner, its value on each dataset.
    higher : bool
        Whether larger values are better.
    families : mapping of str to str, optional
        The family of each dataset, such as the dataset that subsamples were drawn from. Datasets of one family are not
        independent, so they count as one. By default every dataset is its own family.

    Returns
    -------
    AverageRanks
        Mean ranks, best first, with Friedman's p-value and the critical difference.

    Raises
    ------
    ValueError
        With fewer than two learners or fewer than two families.
    """
    together: dict[str, list[list[float]]] = {}
    for dataset in _common_datasets(values):
        on_dataset = [by_dataset[dataset] for by_dataset in values.values()]
        family = (families or {}).get(dataset, dataset)
        together.setdefault(family, []).append(rank_values(on_dataset, higher=higher))
    n_datasets = len(together)
    if len(values) < 2 or n_datasets < 2:
        found = f"{counted(len(values), 'learner')} on {counted(n_datasets, 'common dataset')}"
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
    """Return one row of ranks for a family: learners ranked by their mean rank on its datasets."""
    means = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    return rank_values(means, higher=False)


def _common_datasets(values: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the datasets on which every learner has a value."""
    if not values:
        return []
    first, *others = values.values()
    return sorted(set(first).intersection(*others))


def rank_values(values: Sequence[float], *, higher: bool) -> list[float]:
    """Return the rank of each value; 1 is the best, and equal values share the mean of their ranks.

    Parameters
    ----------
    values : sequence of float
        A value of each learner on one dataset.
    higher : bool
        Whether larger values are better.

    Returns
    -------
    list of float
        Ranks from 1, in the order of the values.

    Examples
    --------
    >>> rank_values([0.9, 0.7, 0.9], higher=True)
    [1.5, 3.0, 1.5]
    """
    in_order = sorted(values, reverse=higher)
    ranks = []
    for value in values:
        better, equal = in_order.index(value), in_order.count(value)
        ranks.append(better + (equal + 1) / 2)
    return ranks


def friedman(table: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return Friedman's statistic, corrected for ties, and its p-value.

    Parameters
    ----------
    table : sequence of sequence of float
        A row for each dataset, with the rank of each learner.

    Returns
    -------
    statistic, p_value : float
        Friedman's chi-squared, and its p-value.
    """
    n, k = len(table), len(table[0])
    tied = 0
    for row in table:
        for count in Counter(row).values():
            tied += count**3 - count
    spread = 1 - tied / (n * k * (k * k - 1))
    if spread == 0:  # all learners tie on every dataset
        return 0.0, 1.0
    from scipy.special import chdtrc  # noqa: PLC0415 (importing scipy is slow, and few tables need it)

    sums = [math.fsum(column) for column in zip(*table, strict=True)]
    squares = math.fsum(one * one for one in sums)
    statistic = (12 / (n * k * (k + 1)) * squares - 3 * n * (k + 1)) / spread
    return statistic, float(chdtrc(k - 1, max(statistic, 0.0)))


def critical_difference(n_learners: int, n_datasets: int) -> float:
    """Return Nemenyi's critical difference: average ranks further apart differ significantly at 5%.

    Parameters
    ----------
    n_learners, n_datasets : int
        Numbers of learners and of independent datasets that were compared.

    Returns
    -------
    float
        Mean ranks that differ by more are significantly different.

    Examples
    --------
    >>> round(critical_difference(3, 10), 2)
    1.05
    """
    from scipy.stats import studentized_range  # noqa: PLC0415 (importing scipy is slow, and few tables need it)

    q = float(studentized_range.ppf(1 - SIGNIFICANCE, n_learners, math.inf)) / math.sqrt(2)
    return q * math.sqrt(n_learners * (n_learners + 1) / (6 * n_datasets))


def _runs_within(ranks: Mapping[str, float], difference: float) -> tuple[tuple[str, ...], ...]:
    """Return the maximal runs of two or more learners, in order of rank, whose ranks lie within the difference."""
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
