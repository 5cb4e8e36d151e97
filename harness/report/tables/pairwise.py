"""Pairwise comparison of learners: trials won, differences with their intervals, and average ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.host.contract import MetricSpec
from harness.report.lines import Line, Prepared, flat_first, lines_by_dataset, pair_values, rank_learners
from harness.report.tables.layout import format_difference, format_interval, format_p
from harness.report.tables.render import Grid, Values, heading_of
from harness.report.verdicts import MetricVerdict, RowHits, judge_metric, missing_notes
from harness.stats import AUTO, TESTS, AverageRanks, Interval, count_wins

Learners = tuple[str, str]
"""Two learners by title; differences are those of the first minus the second."""


@dataclass(frozen=True)
class Wins:
    """Paired trials that a learner won, tied and lost against another."""

    won: int = 0
    tied: int = 0
    lost: int = 0

    def __add__(self, other: Wins) -> Wins:
        return Wins(self.won + other.won, self.tied + other.tied, self.lost + other.lost)

    def reversed(self) -> Wins:
        """Return the counts from the point of view of the other learner."""
        return Wins(self.lost, self.tied, self.won)

    def __str__(self) -> str:
        return f"{self.won}/{self.tied}/{self.lost}"


@dataclass(frozen=True)
class PairResult:
    """Two learners on one dataset, by one metric."""

    prepared: Prepared
    learners: Learners
    wins: Wins
    difference: Interval | None
    """The first learner's mean minus the second's, with its 95% interval; None if there is no interval."""
    p_value: float | None
    """The corrected p-value; None if the pair was not tested."""
    winner: str
    """The learner that is significantly better; empty if there is none."""
    detectable: float | None
    """The smallest difference that would be detected with 80% power."""
    judged: MetricVerdict
    """The verdict on all learners of the dataset."""

    def reversed(self) -> PairResult:
        """Return the result with the second learner first."""
        first, second = self.learners
        difference = None if self.difference is None else self.difference.negated()
        return PairResult(
            self.prepared,
            (second, first),
            self.wins.reversed(),
            difference,
            self.p_value,
            self.winner,
            self.detectable,
            self.judged,
        )


def compare_pairs(
    lines: Iterable[Line], metric: MetricSpec, test: str = AUTO, hits: RowHits | None = None
) -> list[PairResult]:
    """Compare every two learners on each dataset.

    Returns
    -------
    list of PairResult
        One for each pair of learners on each dataset. Holm's correction covers all pairs of a dataset.
    """
    results = []
    for prepared, competitors in lines_by_dataset(flat_first(lines)).items():
        judged = judge_metric(competitors, metric, test, hits, all_pairs=True)
        for one, other in combinations(competitors, 2):
            pair = one.title, other.title
            in_order = pair if pair in judged.verdict.p_values else pair[::-1]
            known = all(title in judged.samples for title in pair)
            results.append(
                PairResult(
                    prepared,
                    pair,
                    Wins(*count_wins(*pair_values(one, other, metric))),
                    judged.difference(*pair) if known else None,
                    judged.verdict.p_values.get(in_order) if TESTS[judged.test].corrected else None,
                    in_order[0] if in_order in judged.verdict.wins else "",
                    judged.detectable(*pair) if known else None,
                    judged,
                )
            )
    return results


# -- the matrix ------------------------------------------------------------------------------------------------------


def matrix_grid(results: Sequence[PairResult], metric: MetricSpec, test: str = AUTO, *, folder: str = "") -> Grid:
    """Return the matrix of trials that the learner of the row won, tied and lost against that of the column.

    Footnotes explain missing verdicts; `folder` is the results folder for the command that adds trials.
    """
    wins: dict[Learners, Wins] = {}
    beaten: Counter[Learners] = Counter()
    for result in [*results, *(result.reversed() for result in results)]:
        pair = result.learners
        wins[pair] = wins.get(pair, Wins()) + result.wins
        beaten[pair] += result.winner == pair[0]
    names = list(dict.fromkeys(name for result in results for name in result.learners))
    rows = []
    for name in names:
        cells = []
        for other in names:
            score = str(wins[name, other]) if (name, other) in wins else ""
            cells.append(f"{score} *" if beaten[name, other] else score)
        rows.append((name, *cells))
    footnotes = (
        "Paired trials won/tied/lost by the learner of the row against that of the column, over all datasets.",
        f"Starred: significantly better on at least one dataset, by {_describe_test(test)}.",
        *_missing_notes(results, folder),
    )
    values = []
    for result in results:
        values += [_values_of(result, metric), _values_of(result.reversed(), metric)]
    return Grid(heading_of(metric), ("learner", *names), tuple(rows), tuple(values), footnotes)


def differences_grid(results: Sequence[PairResult], metric: MetricSpec, test: str = AUTO, *, folder: str = "") -> Grid:
    """Return the differences with their 95% intervals, with a row for each pair of learners on each dataset.

    Footnotes explain missing verdicts; `folder` is the results folder for the command that adds trials.
    """
    rows, values = [], []
    for result in results:
        first, second = result.learners
        rows.append(
            (
                result.prepared.dataset,
                f"{first} - {second}",
                format_interval(result.difference, metric),
                format_p(result.p_value),
                result.winner or "-",
                "-" if result.detectable is None else format_difference(result.detectable, metric)[1:],
            )
        )
        values.append(_values_of(result, metric))
    footnotes = (
        "Difference: mean of the first less mean of the second, with its 95% interval, not corrected; a point is 0.01.",
        f"p, better: {_describe_test(test)}; - where there is no verdict.",
        "Detectable: the smallest difference that these trials would detect with 80% power.",
        *_missing_notes(results, folder),
    )
    columns = ("dataset", "learners", "difference", "p", "better", "detectable")
    return Grid(f"{heading_of(metric)}: differences", columns, tuple(rows), tuple(values), footnotes)


def _missing_notes(results: Iterable[PairResult], folder: str) -> list[str]:
    """Return the footnotes on datasets without a verdict."""
    return missing_notes({result.prepared: result.judged for result in results}.items(), folder)


def _describe_test(test: str) -> str:
    if test != AUTO:
        return TESTS[test].description
    return f"{TESTS['ttest'].description}; on fixed splits by {TESTS['mcnemar'].description}"


def _values_of(result: PairResult, metric: MetricSpec) -> Values:
    learner, against = result.learners
    difference = result.difference
    return {
        "metric": metric.name,
        "dataset": result.prepared.dataset,
        "split": str(result.prepared.split),
        "learner": learner,
        "against": against,
        "won": result.wins.won,
        "tied": result.wins.tied,
        "lost": result.wins.lost,
        "difference": None if difference is None else difference.estimate,
        "difference_low": None if difference is None else difference.low,
        "difference_high": None if difference is None else difference.high,
        "p": result.p_value,
        "better": result.winner or None,
        "detectable": result.detectable,
    }


# -- average ranks ---------------------------------------------------------------------------------------------------


def ranks_grid(lines: Iterable[Line], metric: MetricSpec) -> Grid:
    """Return the average ranks, best first; learners that share a letter do not differ significantly."""
    found = rank_learners(lines, metric)
    rows, values = [], []
    for name, rank in found.ranks.items():
        letters = _letters_of(name, found)
        rows.append((name, f"{rank:.2f}", letters))
        values.append({"metric": metric.name, "learner": name, "average_rank": rank, "groups": letters})
    footnotes = (
        f"Average rank of the mean over {found.n_datasets} datasets, 1 the best; Friedman's p = {found.p_value:.3g}.",
        f"Learners with a common letter lie within Nemenyi's critical difference, {found.difference:.2f} at 5%.",
    )
    return Grid(heading_of(metric), ("learner", "average rank", "groups"), tuple(rows), tuple(values), footnotes)


def _letters_of(name: str, found: AverageRanks) -> str:
    """Return a letter for each group that contains the learner."""
    letters = ""
    for number, group in enumerate(found.groups):
        if name in group:
            letters += chr(ord("a") + number)
    return letters
