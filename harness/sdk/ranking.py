"""Ranking by an index, by whichever kernel is fastest for it. All of them rank alike, to the last bit of each score."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from harness.sdk.kernels.dense import pays, rank_dense
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import Rows


def load_kernel(ranks_untouched: bool) -> None:
    """Compile what a learner ranks with, and not what it does not need."""
    names = ("ranking", "bounded_ranking") if ranks_untouched else ("touched",)
    for name in names:
        import_module(f"harness.sdk.kernels.{name}")


def rank_all_classes(rows: Rows, instances: Instances, base: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """The k best of all classes, by sum_f x_f W[f, c] + base_c."""
    if pays(rows, instances, base.size):
        return rank_dense(rows, instances, base, k)
    from harness.sdk.kernels import bounded_ranking, ranking  # noqa: PLC0415 (compiles what not every learner needs)

    features = bounded_ranking.worth_a_matrix(rows, instances, base.size, k)
    if features.size:
        return bounded_ranking.rank_bounded(rows, features, instances, base, k)
    return ranking.rank_by_index(rows, instances, base, k)


def rank_touched_classes(
    rows: Rows, instances: Instances, factors: NDArray[np.float64], k: int, *, n_classes: int, degree: int
) -> NDArray[np.int32]:
    """The k best of the classes that score above 0, by sum_f factor_f x_f W[f, c]."""
    if pays(rows, instances, n_classes):
        return rank_dense(rows, instances, np.zeros(n_classes), k, factors=factors, degree=degree, least=0.0)
    from harness.sdk.kernels import touched  # noqa: PLC0415 (compiles what not every learner needs)

    return touched.rank_touched(rows, instances, factors, k, n_classes=n_classes, degree=degree)
