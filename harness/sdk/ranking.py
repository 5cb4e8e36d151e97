"""Ranking by an index, by whichever kernel is fastest for it. All of them rank alike, to the last bit of each score."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.sdk.kernels.class_scores import score_classes
from harness.sdk.kernels.dense import pays, rank_dense
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import CACHED_CLASSES, Rows, known_to_most

KNOWN_SHARE = 0.3
"""A feature that knows so many of the classes is worth a place in a matrix (measured)."""
KNOWN_SHARE_OF_MANY = 0.5
"""The same where more than the best class is asked for: bounds leave more classes in doubt."""
LEAST_READS = 4
"""How often all of the matrix would have to be read to be worth making."""


def load_kernel(ranks_untouched: bool) -> None:
    """Compile what a learner ranks with, and not what it does not need."""
    import_module("harness.sdk.kernels.ranking" if ranks_untouched else "harness.sdk.kernels.touched")


def are_many(classes: NDArray[Any]) -> bool:
    """Whether classes are so many, or numbered as if they were, that kernels for many of them may be worth loading.

    By the numbers a few rows tell it too: what is compiled for them, before a clock runs, is what all rows need.
    """
    numbered = classes.dtype.kind in "iu" and classes.size > 0 and int(classes.max()) >= CACHED_CLASSES
    return classes.size > CACHED_CLASSES or numbered


def load_kernel_for_many() -> None:
    import_module("harness.sdk.kernels.bounded_ranking")


def rank_all_classes(rows: Rows, instances: Instances, base: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """The k best of all classes, by sum_f x_f W[f, c] + base_c."""
    if pays(rows, instances, base.size):
        return rank_dense(rows, instances, base, k)
    features = worth_a_matrix(rows, instances, base.size, k)
    if features.size:
        from harness.sdk.kernels.bounded_ranking import rank_bounded  # noqa: PLC0415 (as below)

        return rank_bounded(rows, features, instances, base, k)
    from harness.sdk.kernels.ranking import rank_by_index  # noqa: PLC0415 (compiles what not every learner needs)

    return rank_by_index(rows, instances, base, k)


def worth_a_matrix(rows: Rows, instances: Instances, n_classes: int, k: int) -> NDArray[np.int64]:
    """The features that are best in a matrix while these instances are ranked; none where it does not pay."""
    share = KNOWN_SHARE if k == 1 else KNOWN_SHARE_OF_MANY
    features = known_to_most(rows.length, share, n_classes)
    if features.size:
        met = np.bincount(instances.indices, minlength=rows.start.size)[features]
        if met.sum() < LEAST_READS * features.size:
            return features[:0]
    return features


def rank_and_score_all(
    rows: Rows, instances: Instances, base: NDArray[np.float64], k: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The same, and what these classes score; 0 beside pads."""
    if pays(rows, instances, base.size):
        ranks = rank_dense(rows, instances, base, k)
        return ranks, score_classes(rows, instances, base, ranks)
    from harness.sdk.kernels.ranking import rank_and_score  # noqa: PLC0415 (compiles what not every learner needs)

    return rank_and_score(rows, instances, base, k)


def rank_touched_classes(
    rows: Rows, instances: Instances, factors: NDArray[np.float64], k: int, *, n_classes: int, degree: int
) -> NDArray[np.int32]:
    """The k best of the classes that score above 0, by sum_f factor_f x_f W[f, c]."""
    if pays(rows, instances, n_classes):
        return rank_dense(rows, instances, np.zeros(n_classes), k, factors=factors, degree=degree, least=0.0)
    from harness.sdk.kernels import touched  # noqa: PLC0415 (compiles what not every learner needs)

    return touched.rank_touched(rows, instances, factors, k, n_classes=n_classes, degree=degree)
