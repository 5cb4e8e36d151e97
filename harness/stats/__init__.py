"""Means, intervals, paired tests and average ranks: pure functions of numbers. See docs/statistics.md."""

from harness.stats.best import indistinguishable_from_best
from harness.stats.paired import (
    FEWEST_PAIRS,
    SIGNIFICANCE,
    TESTS,
    USUAL_RATIO,
    PairedTest,
    clearly_wins,
    corrected_t_test,
    count_wins,
    holm,
    mcnemar,
    sign_test,
)
from harness.stats.ranks import AverageRanks, average_ranks, critical_difference, friedman
from harness.stats.summary import Summary, binomial_half_width, summarise, t_half_width

__all__ = [
    "FEWEST_PAIRS",
    "SIGNIFICANCE",
    "TESTS",
    "USUAL_RATIO",
    "AverageRanks",
    "PairedTest",
    "Summary",
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
    "sign_test",
    "summarise",
    "t_half_width",
]
