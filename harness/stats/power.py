"""Statistical power: the smallest difference between two learners that a comparison is likely to detect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from harness.stats.paired import (
    FEWEST_DIFFERENCES,
    SIGNIFICANCE,
    correction_ratio,
    count_wins,
    is_constant,
    summarise,
)

POWER = 0.8
DISAGREEMENT = 0.2
"""The share of test rows on which exactly one of two learners is right, assumed before a run."""


def detectable_difference(
    first: Sequence[float], second: Sequence[float], ratio: float, pairs: int = 1
) -> float | None:
    """Return the smallest true difference that the corrected resampled t-test detects with 80% power.

    Parameters
    ----------
    first, second : sequence of float
        The values of two learners in the same trials.
    ratio : float
        See `harness.stats.correction_ratio`.
    pairs : int, default=1
        Number of pairs that are tested together. Power is that of Holm's first, strictest step.

    Returns
    -------
    float or None
        In the unit of the values. None if there are too few trials, or if the differences do not vary.
    """
    summary = summarise([a - b for a, b in zip(first, second, strict=True)])
    if summary is None or summary.sd is None or summary.n < FEWEST_DIFFERENCES or is_constant(first, second):
        return None
    return _t_test_difference(summary.sd, summary.n, ratio, pairs)


def detectable_share(first: Sequence[float], second: Sequence[float], pairs: int = 1) -> float | None:
    """Return the smallest true difference of two shares that McNemar's test detects with 80% power.

    Parameters
    ----------
    first, second : sequence of float
        Hit (1) or miss (0) of two learners on each test row.
    pairs : int, default=1
        Number of pairs that are tested together.

    Returns
    -------
    float or None
        None if the learners agree on every row.
    """
    only_first, _, only_second = count_wins(first, second)
    if not only_first + only_second:
        return None
    return _mcnemar_difference(len(first), (only_first + only_second) / len(first), pairs)


def expected_detectable_difference(
    n_train: int,
    n_test: int,
    trials: int,
    pairs: int = 1,
    *,
    disagreement: float = DISAGREEMENT,
    fixed: bool = False,
    folds: bool = False,
) -> float | None:
    """Estimate before a run which difference of a share, such as R1, its trials can detect with 80% power.

    Parameters
    ----------
    n_train, n_test : int
        Number of training and of test rows of a trial.
    trials : int
        Number of trials of each learner.
    pairs : int, default=1
        Number of pairs that are tested together: k (k - 1) / 2 for k learners.
    disagreement : float, default=DISAGREEMENT
        The share of test rows on which exactly one of two learners is right.
    fixed : bool, default=False
        Whether every trial has the same test set. Then McNemar's test compares the rows of one trial.
    folds : bool, default=False
        Whether the test sets of different trials are disjoint.

    Returns
    -------
    float or None
        The difference as a share: 0.02 is 2 points. None if there are too few trials to test.
    """
    if fixed:
        return _mcnemar_difference(n_test, disagreement, pairs)
    if trials < FEWEST_DIFFERENCES:
        return None
    ratio = correction_ratio(n_train, n_test, folds=folds)
    return _t_test_difference(math.sqrt(disagreement / n_test), trials, ratio, pairs)


def _t_test_difference(sd: float, trials: int, ratio: float, pairs: int) -> float:
    return _detectable_shift(trials - 1, pairs) * sd * math.sqrt(1 / trials + ratio)


@lru_cache
def _detectable_shift(degrees: int, pairs: int) -> float:
    """Return the true difference, in standard errors, that a t-test detects with 80% power."""
    from scipy.special import nctdtr, stdtrit  # noqa: PLC0415 (importing scipy is slow, and few tables need it)

    critical = float(stdtrit(degrees, 1 - SIGNIFICANCE / pairs / 2))

    def is_enough(shift: float) -> bool:
        # Only one tail: at 80% power the probability of the other one is negligible.
        return float(1 - nctdtr(degrees, shift, critical)) >= POWER

    low, high = 0.0, 2.0
    while not is_enough(high):  # no fixed upper bound: nctdtr has no value far in the tail
        low, high = high, 1.5 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _mcnemar_difference(n: int, disagreement: float, pairs: int) -> float:
    """Return the difference d that solves sqrt(n) d = z_alpha sqrt(q) + z_power sqrt(q - d^2), q the disagreement."""
    from scipy.special import ndtri  # noqa: PLC0415 (importing scipy is slow, and few tables need it)

    critical, power = float(ndtri(1 - SIGNIFICANCE / pairs / 2)), float(ndtri(POWER))
    difference = 0.0
    for _ in range(50):  # converges in a few steps; the difference cannot exceed the disagreement
        rest = math.sqrt(max(disagreement - difference**2, 0.0))
        difference = min((critical * math.sqrt(disagreement) + power * rest) / math.sqrt(n), disagreement)
    return difference
