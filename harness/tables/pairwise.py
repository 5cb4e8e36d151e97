"""Lines -> who beats whom: the matrix of wins, ties and losses, and average ranks over data sets. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from harness.choices import choose
from harness.contract import MetricSpec
from harness.groups import Line, flat_first, held_out_ratio, rank_learners, rivals_by_data
from harness.stats import TESTS, AverageRanks, PairedValues, count_wins, mean_of, pair_trials
from harness.tables.grid import Grid
from harness.tables.render_data import Values
from harness.tables.words import heading_of

Learners = tuple[str, str]
"""Two learners by their titles, in an order that matters."""


@dataclass(frozen=True)
class Pairing:
    """Two learners on one data set: their values in the trials that both finished, larger being better."""

    learners: Learners
    values: PairedValues

    def turned(self) -> Pairing:
        """The same with the second learner first."""
        first, second = self.learners
        mine, others = self.values
        return Pairing((second, first), (others, mine))


@dataclass(frozen=True)
class Score:
    """Paired trials that a learner won, tied and lost against another."""

    won: int = 0
    tied: int = 0
    lost: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(self.won + other.won, self.tied + other.tied, self.lost + other.lost)

    def turned(self) -> Score:
        """The same for the other learner."""
        return Score(self.lost, self.tied, self.won)

    def __str__(self) -> str:
        return f"{self.won}/{self.tied}/{self.lost}"


def pair_up(rivals: Iterable[Line], metric: MetricSpec) -> list[Pairing]:
    """Every two of the learners of a data set, once."""
    higher = metric.direction == "higher"
    values = {line.title: line.values(metric.name) for line in rivals}
    pairings = []
    for one, other in combinations(values, 2):
        pairings.append(Pairing((one, other), pair_trials(values[one], values[other], higher=higher)))
    return pairings


def count_scores(pairings: Iterable[Pairing]) -> dict[Learners, Score]:
    """For each ordered pair of learners the paired trials won, tied and lost by the first, over all data sets."""
    scores: dict[Learners, Score] = {}
    for pairing in pairings:
        first, second = pairing.learners
        score = Score(*count_wins(*pairing.values))
        scores[first, second] = scores.get((first, second), Score()) + score
        scores[second, first] = scores.get((second, first), Score()) + score.turned()
    return scores


def beaten_pairs(pairings: Iterable[Pairing], test: str, ratio: float) -> set[Learners]:
    """The ordered pairs of learners of a data set of whom the test says that the first beats the second.

    The correction is over all these pairs. Pairs with too few trials are not tested.
    """
    chosen = choose(TESTS, test, "test")
    tested: list[Pairing] = []
    for pairing in pairings:
        mine, others = pairing.values
        if len(mine) >= chosen.fewest(1):
            ahead = mean_of(mine) >= mean_of(others)
            tested.append(pairing if ahead else pairing.turned())
    beats = chosen.beats([pairing.values for pairing in tested], ratio)
    return {pairing.learners for pairing, won in zip(tested, beats, strict=True) if won}


# -- the matrix ------------------------------------------------------------------------------------------------------


def matrix_grid(lines: Iterable[Line], metric: MetricSpec, test: str = "sign") -> Grid:
    """Each learner against each other one: trials won, tied and lost; marked where the test says that it wins."""
    lines = flat_first(lines)
    pairings: list[Pairing] = []
    beaten: Counter[Learners] = Counter()
    for rivals in rivals_by_data(lines).values():
        found = pair_up(rivals, metric)
        pairings += found
        beaten.update(beaten_pairs(found, test, held_out_ratio(rivals)))
    scores = count_scores(pairings)
    names = list(dict.fromkeys(line.title for line in lines))
    rows, values = [], []
    for name in names:
        rows.append((name, *(_matrix_cell((name, other), scores, beaten) for other in names)))
        for other in names:
            if (name, other) in scores:
                values.append(_matrix_values((name, other), metric, scores, beaten))
    foot = (
        "Paired trials won/tied/lost by the learner of the row against that of the column, over all data sets.",
        f"Starred: on at least one data set {TESTS[test].words}, over all its pairs, says that the row's learner wins.",
    )
    return Grid(heading_of(metric), ("learner", *names), tuple(rows), tuple(values), foot)


def _matrix_cell(pair: Learners, scores: dict[Learners, Score], beaten: Counter[Learners]) -> str:
    if pair not in scores:
        return ""
    return f"{scores[pair]} *" if beaten[pair] else str(scores[pair])


def _matrix_values(
    pair: Learners, metric: MetricSpec, scores: dict[Learners, Score], beaten: Counter[Learners]
) -> Values:
    learner, against = pair
    score = scores[pair]
    return {
        "metric": metric.name,
        "learner": learner,
        "against": against,
        "won": score.won,
        "tied": score.tied,
        "lost": score.lost,
        "data_sets_beaten": beaten[pair],
    }


# -- average ranks ---------------------------------------------------------------------------------------------------


def ranks_grid(lines: Iterable[Line], metric: MetricSpec) -> Grid:
    """Average ranks, best first, with the groups that cannot be told apart as letters."""
    found = rank_learners(lines, metric)
    rows, values = [], []
    for name, rank in found.ranks.items():
        letters = _letters_of(name, found)
        rows.append((name, f"{rank:.2f}", letters))
        values.append({"metric": metric.name, "learner": name, "average_rank": rank, "groups": letters})
    foot = (
        f"Average rank of the mean over {found.n_datasets} data sets, 1 the best; Friedman's p = {found.p_value:.3g}.",
        f"Learners with a common letter lie within Nemenyi's critical difference, {found.difference:.2f} at 5%.",
    )
    return Grid(heading_of(metric), ("learner", "average rank", "groups"), tuple(rows), tuple(values), foot)


def _letters_of(name: str, found: AverageRanks) -> str:
    """A letter for each group that the learner is in."""
    letters = ""
    for number, group in enumerate(found.groups):
        if name in group:
            letters += chr(ord("a") + number)
    return letters
