"""Ranking by an index, by whichever kernel is fastest for it. All of them rank alike, to the last bit of each score."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from harness.sdk.kernels.class_scores import score_classes
from harness.sdk.kernels.dense import pays, rank_dense
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import Rows


def load_kernel(ranks_untouched: bool) -> None:
    """Compile what a learner ranks with, and not what it does not need."""
    import_module("harness.sdk.kernels.ranking" if ranks_untouched else "harness.sdk.kernels.touched")


def rank_all_classes(rows: Rows, instances: Instances, base: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """The k best of all classes, by sum_f x_f W[f, c] + base_c."""
    if pays(rows, instances, base.size):
        return rank_dense(rows, instances, base, k)
    from harness.sdk.kernels.ranking import rank_by_index  # noqa: PLC0415 (compiles what not every learner needs)

    return rank_by_index(rows, instances, base, k)


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
