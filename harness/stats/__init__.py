"""Means, intervals, paired tests and average ranks: pure functions of numbers. See docs/statistics.md.

scipy is imported where a number is computed with it, so that asking for the names of tests costs nothing.
"""

from harness.stats.best import indistinguishable_from_best
from harness.stats.choices import SPREADS, TESTS, PairedTest, Spread
from harness.stats.paired import (
    FEWEST_PAIRS,
    SIGNIFICANCE,
    USUAL_RATIO,
    PairedValues,
    TrialValues,
    clearly_wins,
    corrected_t_test,
    count_wins,
    holm,
    mcnemar,
    pair_trials,
    sign_test,
)
from harness.stats.ranks import AverageRanks, average_ranks, critical_difference, friedman
from harness.stats.summary import Summary, binomial_half_width, mean_of, summarise, t_half_width

__all__ = [
    "FEWEST_PAIRS",
    "SIGNIFICANCE",
    "SPREADS",
    "TESTS",
    "USUAL_RATIO",
    "AverageRanks",
    "PairedTest",
    "PairedValues",
    "Spread",
    "Summary",
    "TrialValues",
    "average_ranks",
    "binomial_half_width",
    "clearly_wins",
    "corrected_t_test",
    "count_wins",
    "critical_difference",
    "friedman",
    "holm",
    "indistinguishable_from_best",
    "mcnemar",
    "mean_of",
    "pair_trials",
    "sign_test",
    "summarise",
    "t_half_width",
]
