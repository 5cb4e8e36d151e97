"""The outcome passed to metrics is the same for trials, tuning and saved ranks."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Outcome, Taxonomy
from internals import Costs, Ranking, class_counts, make_outcome

RANKS = np.array([[2, 0], [1, -1]], np.int32)
PLACES = np.array([[2, 2], [1, 0]], np.int32)
TREE = Taxonomy(np.array([-1, 0, 0, 0]), np.array([1, 2, 3]))
COSTS = Costs(
    fit_seconds=1.0,
    fit_cpu_seconds=2.0,
    rank_seconds=3.0,
    index_size=4,
    index_bytes=5,
    edges_per_feature=6.0,
    peak_bytes=7,
)


def test_an_outcome_has_all_its_inputs():
    truth, trained = np.array([2, 1]), np.array([0, 0, 2, 2, 2])
    outcome = make_outcome(Ranking(RANKS, PLACES), truth, trained, 4, TREE, COSTS, np.array([8.0]))
    assert outcome.truth is truth
    assert (outcome.ranks is RANKS, outcome.places is PLACES, outcome.taxonomy is TREE) == (True, True, True)
    assert (outcome.n_classes, outcome.n_train) == (4, 5)
    assert outcome.train_class_counts.tolist() == [2, 0, 3, 0]
    assert (outcome.fit_seconds, outcome.fit_cpu_seconds, outcome.rank_seconds) == (1.0, 2.0, 3.0)
    assert (outcome.index_size, outcome.index_bytes, outcome.edges_per_feature, outcome.peak_bytes) == (4, 5, 6.0, 7)
    assert outcome.single_seconds.tolist() == [8.0]


def test_unknown_values_are_none():
    costs = Costs(fit_seconds=0.0, fit_cpu_seconds=0.0, rank_seconds=0.0)
    outcome = make_outcome(Ranking(RANKS), np.array([2, 1]), np.array([0, 1]), 3, None, costs)
    unknown = {name for name, value in vars(outcome).items() if value is None}
    assert unknown == {
        "index_size",
        "index_bytes",
        "edges_per_feature",
        "rank_edges_per_feature",
        "predict_seconds",
        "known_depth",
        "peak_bytes",
        "taxonomy",
        "single_seconds",
        "places",
        "scores",
        "confidence",
    }


def test_each_of_several_labels_is_counted():
    trained = csr_array(np.array([[1, 1, 0], [0, 1, 0]], np.int8))
    outcome = make_outcome(Ranking(RANKS), trained, trained, 3, None, COSTS)
    assert (outcome.n_train, outcome.train_class_counts.tolist()) == (2, [1, 2, 0])


@pytest.mark.parametrize("classes", [3, 7])
def test_classes_without_rows_have_a_count_of_zero(classes):
    assert class_counts(np.array([2, 2]), classes).tolist() == [0, 0, 2, *[0] * (classes - 3)]


def test_cost_names_match_the_fields_of_an_outcome():
    assert Costs.__dataclass_fields__.keys() <= Outcome.__dataclass_fields__.keys()
