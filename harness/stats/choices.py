"""What a user may choose by name: the test that tells learners apart, and what stands behind the ±."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.stats.paired import (
    SIGNIFICANCE,
    WINS_OF,
    PairedValues,
    clearly_wins,
    corrected_t_test,
    count_wins,
    holm,
    sign_test,
)
from harness.stats.summary import Summary, binomial_half_width, t_half_width

# -- tests -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairedTest:
    """A way to tell the best from its rivals."""

    words: str
    """What the foot of a table says of it."""
    fewest: Callable[[int], int]
    """With fewer pairs than this for so many rivals nothing is tested: no outcome could tell any of them apart."""
    beats: Callable[[Sequence[PairedValues], float], list[bool]]
    """For pairs of (best, rival), larger being better, and the ratio of test to training rows: is the rival beaten?"""


def _fewest_signs(rivals: int) -> int:
    """So that a sign test of so many rivals, all pairs won, gets below 5% after Holm."""
    return math.ceil(math.log2(2 * max(rivals, 1) / SIGNIFICANCE))


def _fewest_differences(_: int) -> int:
    return 3


def _fewest_wins(_: int) -> int:
    return WINS_OF


def _beats_by_signs(pairs: Sequence[PairedValues], _: float) -> list[bool]:
    p_values = [sign_test(best, rival) for best, rival in pairs]
    return _significantly(pairs, p_values)


def _beats_by_t_test(pairs: Sequence[PairedValues], ratio: float) -> list[bool]:
    p_values = [corrected_t_test(best, rival, ratio) for best, rival in pairs]
    return _significantly(pairs, p_values)


def _beats_by_wins(pairs: Sequence[PairedValues], _: float) -> list[bool]:
    return [clearly_wins(best, rival) for best, rival in pairs]


def _significantly(pairs: Sequence[PairedValues], p_values: Sequence[float]) -> list[bool]:
    """Different after Holm's correction, and in the best one's favour."""
    beaten = []
    for (best, rival), p_value in zip(pairs, holm(p_values), strict=True):
        won, _, lost = count_wins(best, rival)
        beaten.append(p_value <= SIGNIFICANCE and won > lost)
    return beaten


TESTS: dict[str, PairedTest] = {
    "sign": PairedTest("a paired sign test (exact, ties dropped, Holm-corrected, 5%)", _fewest_signs, _beats_by_signs),
    "ttest": PairedTest(
        "a corrected resampled t-test (Nadeau and Bengio, Holm-corrected, 5%)", _fewest_differences, _beats_by_t_test
    ),
    "wins": PairedTest("the rule of nine wins in ten trials (no correction)", _fewest_wins, _beats_by_wins),
}


# -- spreads ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """A way to say how far a mean may be off."""

    words: str
    """What the foot of a table says of it."""
    half_width: Callable[[Summary, str, int | None], float | None]
    """The number behind the ± of a mean, by its unit and the number of test rows; None where there is none."""


def _standard_deviation(summary: Summary, unit: str, n_test: int | None) -> float | None:
    return summary.sd


def _student(summary: Summary, unit: str, n_test: int | None) -> float | None:
    return t_half_width(summary)


def _binomial(summary: Summary, unit: str, n_test: int | None) -> float | None:
    if unit != "share":
        return summary.sd
    if not n_test or not 0 <= summary.mean <= 1:
        return None
    return binomial_half_width(summary.mean, n_test)


SPREADS: dict[str, Spread] = {
    "sd": Spread("Mean ± sample standard deviation over trials", _standard_deviation),
    "t": Spread("Mean ± half of Student's 95% interval over trials", _student),
    "binomial": Spread(
        "Mean ± half of the binomial 95% interval, 1.96 sqrt(e (1 - e) / n) with n test rows, for shares; "
        "± sample standard deviation over trials for the rest",
        _binomial,
    ),
}
