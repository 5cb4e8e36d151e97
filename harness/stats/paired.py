"""Paired tests of two learners: the exact sign test, nine wins in ten, the corrected t-test, McNemar; and Holm.

Two samples that are equal are never told apart: all of these give p = 1, or no win, where nothing differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.stats.summary import summarise

SIGNIFICANCE = 0.05
FEWEST_PAIRS = 6
"""With fewer pairs an exact two-sided sign test cannot reach 0.05, whatever the values."""
WINS_NEEDED, WINS_OF = 9, 10
"""The papers' mark: at least nine wins in ten trials."""
USUAL_RATIO = 1 / 9
"""Test rows by training rows where nobody has said: a tenth held out."""

Pair = tuple[Sequence[float], Sequence[float]]


def count_wins(first: Sequence[float], second: Sequence[float]) -> tuple[int, int, int]:
    """In how many pairs the first is larger, both are equal, the second is larger."""
    wins = sum(a > b for a, b in zip(first, second, strict=True))
    losses = sum(a < b for a, b in zip(first, second, strict=True))
    return wins, len(first) - wins - losses, losses


def sign_test(first: Sequence[float], second: Sequence[float]) -> float:
    """Exact two-sided p-value that neither of two paired samples tends to be larger; ties are dropped."""
    wins, _, losses = count_wins(first, second)
    return _coin(wins, losses)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Exact two-sided p-value that two learners are right equally often, from hit or miss on each test row."""
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    return _coin(int(only_first), int(only_second))


def _coin(heads: int, tails: int) -> float:
    """Two-sided p-value that a fair coin falls as unevenly as this."""
    n, extreme = heads + tails, max(heads, tails)
    if n == 0:
        return 1.0
    # Whole numbers throughout: 2**n outgrows a float long before n reaches the size of a test set.
    return (
        min(1.0, 2 * sum(math.comb(n, i) for i in range(extreme, n + 1)) / 2**n)
        if n <= 1000
        else _large_coin(n, extreme)
    )


def _large_coin(n: int, extreme: int) -> float:
    from scipy.special import bdtrc

    return min(1.0, 2 * float(bdtrc(extreme - 1, n, 0.5)))


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
    from scipy.special import stdtr

    t = summary.mean / (summary.sd * math.sqrt(1 / summary.n + ratio))
    return min(1.0, 2 * float(stdtr(summary.n - 1, -abs(t))))


def clearly_wins(first: Sequence[float], second: Sequence[float]) -> bool:
    """The papers' mark: the first is larger in at least nine of ten trials, of at least ten; a tie is no win."""
    wins, _, _ = count_wins(first, second)
    return len(first) >= WINS_OF and wins * WINS_OF >= WINS_NEEDED * len(first)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction for testing several hypotheses at once."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = highest
    return corrected


def fewest_signs(rivals: int) -> int:
    """The fewest pairs with which a sign test of so many rivals, all pairs won, gets below 5% after Holm."""
    return math.ceil(math.log2(2 * max(rivals, 1) / SIGNIFICANCE))


@dataclass(frozen=True)
class PairedTest:
    """A way to tell the best from its rivals."""

    words: str
    """What the foot of a table says of it."""
    fewest: Callable[[int], int]
    """With fewer pairs than this for so many rivals nothing is tested: no outcome could tell any of them apart."""
    beats: Callable[[Sequence[Pair], float], list[bool]]
    """For pairs of (best, rival), larger being better, and the ratio of test to training rows: is the rival beaten?"""


def _beaten(pairs: Sequence[Pair], p_values: Sequence[float]) -> list[bool]:
    """Different after Holm's correction, and in the best one's favour."""
    wins = [count_wins(*pair) for pair in pairs]
    return [p <= SIGNIFICANCE and won > lost for p, (won, _, lost) in zip(holm(p_values), wins, strict=True)]


TESTS: dict[str, PairedTest] = {
    "sign": PairedTest(
        "a paired sign test (exact, ties dropped, Holm-corrected, 5%)",
        fewest_signs,
        lambda pairs, ratio: _beaten(pairs, [sign_test(*pair) for pair in pairs]),
    ),
    "ttest": PairedTest(
        "a corrected resampled t-test (Nadeau and Bengio, Holm-corrected, 5%)",
        lambda rivals: 3,
        lambda pairs, ratio: _beaten(pairs, [corrected_t_test(*pair, ratio) for pair in pairs]),
    ),
    "wins": PairedTest(
        "the rule of nine wins in ten trials (no correction)",
        lambda rivals: WINS_OF,
        lambda pairs, ratio: [clearly_wins(*pair) for pair in pairs],
    ),
}
