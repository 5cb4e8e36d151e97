"""Metrics against the libraries that papers use, on 400 random inputs each: napkinxc for rankings, hiclass for trees.

Both libraries are optional. `test_at_k.py` and `test_taxonomy.py` have the formulas by hand, and always run.
"""

import numpy as np
import pytest

from harness_metrics.ranking import micro_f1, ndcg, precision, recall
from harness_metrics.tail import psndcg, psp
from harness_metrics.taxonomy import hf, hp, hr
from random_rankings import path_of, random_rankings

OF_ROWS = {precision: "precision_at_k", recall: "recall_at_k", ndcg: "ndcg_at_k"}
BY_PROPENSITY = {psp: "psprecision_at_k", psndcg: "psndcg_at_k"}


@pytest.fixture
def napkinxc():
    return pytest.importorskip("napkinxc.metrics", reason="napkinxc is not installed: pip install napkinxc")


@pytest.fixture
def hiclass():
    return pytest.importorskip("hiclass.metrics", reason="hiclass is not installed: pip install hiclass")


@pytest.mark.parametrize(("metric", "name"), OF_ROWS.items(), ids=OF_ROWS.values())
def test_metrics_at_k_equal_those_of_napkinxc_on_rows_with_a_label(napkinxc, metric, name):
    for one in random_rankings():
        true_sets, ranked = one.labelled
        if true_sets:
            expected = getattr(napkinxc, name)(true_sets, ranked, k=one.k)[-1]
            assert metric(one.outcome, k=one.k) == pytest.approx(expected)


@pytest.mark.parametrize(("metric", "name"), BY_PROPENSITY.items(), ids=BY_PROPENSITY.values())
@pytest.mark.parametrize(("a", "b"), [(0.55, 1.5), (0.6, 2.6)])
def test_propensity_scored_metrics_equal_those_of_napkinxc(napkinxc, metric, name, a, b):
    for one in random_rankings():
        if any(one.true_sets):
            weights = napkinxc.Jain_et_al_inverse_propensity(one.y_train, a, b)
            expected = getattr(napkinxc, name)(one.true_sets, one.ranked, weights, k=one.k)[-1]
            assert metric(one.outcome, k=one.k, a=a, b=b) == pytest.approx(expected)


def test_micro_f1_equals_that_of_napkinxc_for_the_first_class(napkinxc):
    for one in random_rankings():
        true_sets, ranked = one.labelled
        if true_sets:
            expected = napkinxc.MicroF1Metric().calculate(true_sets, [order[:1] for order in ranked])
            assert micro_f1(one.outcome) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:F-score is ill-defined")
def test_hierarchical_metrics_equal_those_of_hiclass(hiclass):
    for one in random_rankings(largest_set=1):
        true_sets, ranked = one.labelled
        taxonomy = one.outcome.taxonomy
        paths = [path_of(taxonomy, true[0]) for true in true_sets]
        said = [path_of(taxonomy, order[0]) if order else [] for order in ranked]
        if any(said):
            truth, predicted = as_levels(paths), as_levels(said)
            assert hp(one.outcome) == pytest.approx(hiclass.precision(truth, predicted))
            assert hr(one.outcome) == pytest.approx(hiclass.recall(truth, predicted))
            assert hf(one.outcome) == pytest.approx(hiclass.f1(truth, predicted))


def as_levels(paths):
    """Return paths as hiclass takes them: a column for each level, empty below the class."""
    levels = np.full((len(paths), 8), "", dtype=object)
    for row, path in enumerate(paths):
        levels[row, : len(path)] = list(map(str, path))
    return levels
