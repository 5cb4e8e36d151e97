"""Paired tests of two learners: the exact sign test, nine wins in ten, the corrected t-test, McNemar; and Holm.

Two samples that are equal are never told apart: all of these give p = 1, or no win, where nothing differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.stats.summary import summarise

SIGNIFICANCE = 0.05
FEWEST_PAIRS = 6
"""With fewer pairs an exact two-sided sign test cannot reach 0.05, whatever the values."""
WINS_NEEDED, WINS_OF = 9, 10
"""The papers' mark: at least nine wins in ten trials."""
USUAL_RATIO = 1 / 9
"""Test rows by training rows where nobody has said: a tenth held out."""
MOST_SUMMED = 1000
"""Up to so many tosses a coin's probabilities are summed in whole numbers."""

TrialValues = Mapping[int, float]
"""A learner's value in each trial, by the trial's number or seed."""
PairedValues = tuple[Sequence[float], Sequence[float]]
"""Two samples of one length: values at one place belong to one trial."""


def pair_trials(first: TrialValues, second: TrialValues, *, higher: bool) -> PairedValues:
    """Both in the trials that both have, turned so that larger is better."""
    sign = 1 if higher else -1
    shared = sorted(first.keys() & second.keys())
    return [sign * first[trial] for trial in shared], [sign * second[trial] for trial in shared]


def count_wins(first: Sequence[float], second: Sequence[float]) -> tuple[int, int, int]:
    """In how many pairs the first is larger, both are equal, the second is larger."""
    wins = ties = losses = 0
    for a, b in zip(first, second, strict=True):
        if a > b:
            wins += 1
        elif a < b:
            losses += 1
        else:
            ties += 1
    return wins, ties, losses


def sign_test(first: Sequence[float], second: Sequence[float]) -> float:
    """Exact two-sided p-value that neither of two paired samples tends to be larger; ties are dropped."""
    wins, _, losses = count_wins(first, second)
    return _coin(wins, losses)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Exact two-sided p-value that two learners are right equally often, from hit or miss on each test row."""
    only_first, _, only_second = count_wins(first, second)
    return _coin(only_first, only_second)


def _coin(heads: int, tails: int) -> float:
    """Two-sided p-value that a fair coin falls as unevenly as this."""
    tosses, extreme = heads + tails, max(heads, tails)
    if tosses == 0:
        return 1.0
    if tosses > MOST_SUMMED:
        return _many_tosses(tosses, extreme)
    # Whole numbers throughout: 2**n outgrows a float long before n reaches the size of a test set.
    ways = sum(math.comb(tosses, more) for more in range(extreme, tosses + 1))
    all_ways: int = 2**tosses
    return min(1.0, 2 * ways / all_ways)


def _many_tosses(tosses: int, extreme: int) -> float:
    from scipy.special import bdtrc  # noqa: PLC0415 (brings scipy, which few tables need)

    return min(1.0, 2 * float(bdtrc(extreme - 1, tosses, 0.5)))


def corrected_t_test(first: Sequence[float], second: Sequence[float], ratio: float) -> float:
    """Two-sided p-value of Nadeau and Bengio's corrected resampled t-test; `ratio` is test rows by training rows.

    Training parts of different trials overlap, so the plain variance of the mean is too small: 1/n becomes
    1/n + ratio.
    """
    differences = [a - b for a, b in zip(first, second, strict=True)]
    summary = summarise(differences)
    if summary is None or summary.sd is None or summary.mean == 0:
        return 1.0
    if summary.sd == 0:
        return 0.0
    from scipy.special import stdtr  # noqa: PLC0415 (brings scipy, which few tables need)

    t = summary.mean / (summary.sd * math.sqrt(1 / summary.n + ratio))
    return min(1.0, 2 * float(stdtr(summary.n - 1, -abs(t))))


def clearly_wins(first: Sequence[float], second: Sequence[float]) -> bool:
    """The papers' mark: the first is larger in at least nine of ten trials, of at least ten; a tie is no win."""
    wins, _, _ = count_wins(first, second)
    return len(first) >= WINS_OF and wins * WINS_OF >= WINS_NEEDED * len(first)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction for testing several hypotheses at once."""
    corrected = [0.0] * len(p_values)
    highest = 0.0
    smallest_first = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, place in enumerate(smallest_first):
        left = len(p_values) - rank
        highest = max(highest, min(1.0, left * p_values[place]))
        corrected[place] = highest
    return corrected
