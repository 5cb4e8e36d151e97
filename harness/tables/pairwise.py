"""Lines -> who beats whom: the matrix of wins, ties and losses, and average ranks over data sets. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.stats import TESTS, USUAL_RATIO, AverageRanks, average_ranks, count_wins
from harness.stats.paired import Pair
from harness.stats.summary import mean_of
from harness.tables.grid import Grid
from harness.tables.groups import Line, rivals_of, test_share, values_of

Score = tuple[int, int, int]


@dataclass(frozen=True)
class Contest:
    """Two learners on one data set: their values in the trials that both finished, larger being better."""

    first: str
    second: str
    values: Pair


def contests_of(rivals: Iterable[Line], metric: MetricSpec) -> list[Contest]:
    """Every pair of the learners of a data set."""
    sign = 1 if metric.direction == "higher" else -1
    known = [(line.learner, values_of(line, metric.name)) for line in rivals]
    contests = []
    for (first, mine), (second, other) in combinations(known, 2):
        shared = sorted(mine.keys() & other.keys())
        contests.append(Contest(first, second, ([sign * mine[t] for t in shared], [sign * other[t] for t in shared])))
    return contests


def count_contests(contests: Iterable[Contest]) -> dict[tuple[str, str], Score]:
    """For each ordered pair of learners the paired trials won, tied and lost by the first."""
    scores: dict[tuple[str, str], Score] = {}
    for contest in contests:
        won, tied, lost = count_wins(*contest.values)
        for pair, more in (
            ((contest.first, contest.second), (won, tied, lost)),
            ((contest.second, contest.first), (lost, tied, won)),
        ):
            before = scores.get(pair, (0, 0, 0))
            scores[pair] = (before[0] + more[0], before[1] + more[1], before[2] + more[2])
    return scores


def beaten_pairs(contests: Iterable[Contest], test: str, ratio: float) -> set[tuple[str, str]]:
    """The ordered pairs of learners of a data set of whom the test says that the first beats the second.

    The correction is over all these pairs. Pairs with too few trials are not tested.
    """
    chosen = TESTS[test]
    names, pairs = [], []
    for contest in contests:
        a, b = contest.values
        if len(a) >= chosen.fewest(1):
            ahead = mean_of(a) >= mean_of(b)
            names.append((contest.first, contest.second) if ahead else (contest.second, contest.first))
            pairs.append((a, b) if ahead else (b, a))
    return {pair for pair, won in zip(names, chosen.beats(pairs, ratio), strict=True) if won}


def matrix_grid(lines: Sequence[Line], metric: MetricSpec, test: str) -> Grid:
    """Each learner against each other one: trials won, tied and lost; marked where the test says that it wins."""
    names = list(dict.fromkeys(line.learner for line in lines))
    contests, beaten = [], Counter[tuple[str, str]]()
    for rivals in rivals_of(lines).values():
        found = contests_of(rivals.values(), metric)
        contests += found
        beaten.update(beaten_pairs(found, test, test_share(rivals.values()) or USUAL_RATIO))
    scores = count_contests(contests)
    rows, values = [], []
    for name in names:
        row = [name]
        for other in names:
            won, tied, lost = scores.get((name, other), (0, 0, 0))
            datasets = beaten[name, other]
            mark = " *" * bool(datasets)
            row.append("" if (name, other) not in scores else f"{won}/{tied}/{lost}{mark}")
            if (name, other) in scores:
                counts = {"won": won, "tied": tied, "lost": lost, "data_sets_beaten": datasets}
                values.append({"metric": metric.name, "learner": name, "against": other, **counts})
        rows.append(tuple(row))
    foot = (
        "Paired trials won/tied/lost by the learner of the row against that of the column, over all data sets.",
        f"Starred: on at least one data set {TESTS[test].words}, over all its pairs, says that the row's learner wins.",
    )
    return Grid(metric.title or metric.name, ("learner", *names), tuple(rows), tuple(values), foot)


def rank_learners(lines: Sequence[Line], metric: MetricSpec) -> AverageRanks:
    """The average ranks of learners by their mean on each data set, over the data sets that all of them finished."""
    values: dict[str, dict[str, float]] = {}
    for line in lines:
        found = values_of(line, metric.name)
        by_dataset = values.setdefault(line.learner, {})
        if found:
            by_dataset[f"{line.dataset} ({line.detail})"] = mean_of(found.values())
    try:
        return average_ranks(values, higher=metric.direction == "higher")
    except ValueError as error:
        raise HarnessError(f"{metric.name}: no average ranks: {error}") from None


def ranks_grid(lines: Sequence[Line], metric: MetricSpec) -> Grid:
    """Average ranks, best first, with the groups that cannot be told apart as letters."""
    found = rank_learners(lines, metric)
    rows, values = [], []
    for name, rank in found.ranks.items():
        letters = "".join(chr(ord("a") + i) for i, group in enumerate(found.groups) if name in group)
        rows.append((name, f"{rank:.2f}", letters))
        values.append({"metric": metric.name, "learner": name, "average_rank": rank, "groups": letters})
    foot = (
        f"Average rank of the mean over {found.n_datasets} data sets, 1 the best; Friedman's p = {found.p_value:.3g}.",
        f"Learners with a common letter lie within Nemenyi's critical difference, {found.difference:.2f} at 5%.",
    )
    return Grid(metric.title or metric.name, ("learner", "average rank", "groups"), tuple(rows), tuple(values), foot)
