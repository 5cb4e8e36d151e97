"""C="auto": held-out rows, the path of costs, and its equality with training at the chosen cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from harness import Taxonomy
from harness.sdk import Labels, as_instances, frozen
from harness_shortlist import Shortlist
from harness_svm import HSVM, SVM, CrammerSinger, LabelTree, TopDownSVM
from harness_svm.flat.kernels.dual import pose
from harness_svm.flat.kernels.one_vs_rest import train_one_vs_rest
from internals import COSTS, hold_out, settle_cost, take_rows
from problems import as_indicator, parts_of_prototypes

SHARED = settings(max_examples=25, deadline=None)
TREE = Taxonomy(np.array([-1, 0, 0, 0, *(1 + np.arange(12) % 3)]), 4 + np.arange(12))
LEARNERS = {
    "svm": (SVM, {}, {}),
    "svm, hinge": (SVM, {"loss": "hinge"}, {}),
    "crammer-singer": (CrammerSinger, {}, {}),
    "hsvm": (HSVM, {}, {"taxonomy": TREE}),
    "topdown-svm": (TopDownSVM, {}, {"taxonomy": TREE}),
    "label-tree": (LabelTree, {"trees": 2, "leaf_classes": 3, "fanout": 2}, {}),
    "shortlist": (Shortlist, {"candidates": 4}, {}),
}
every = pytest.mark.parametrize("name", LEARNERS)


def as_labels(label_sets):
    starts = np.cumsum([0, *map(len, label_sets)])
    return Labels(frozen(starts, np.int64), frozen(np.array([c for each in label_sets for c in each], np.int32)))


def fitted_arrays(learner):
    found = {}
    for name, value in learner._fitted().items():
        for part, array in enumerate(value if isinstance(value, tuple) else [value]):
            found[name, part] = np.asarray(array)
    return found


@every
@pytest.mark.parametrize("dense", [False, True])
def test_auto_equals_training_at_the_cost_that_it_chose(name, dense):
    kind, params, given_ = LEARNERS[name]
    X, y = parts_of_prototypes(1, 400)
    X = X.toarray() if dense else X
    auto = kind(C="auto", random_state=3, **params).fit(X, y, **given_)
    assert auto.C_ in COSTS
    alone = kind(C=auto.C_, random_state=3, **params).fit(X, y, **given_)
    expected = fitted_arrays(alone)
    assert expected.keys() == fitted_arrays(auto).keys()
    for part, array in fitted_arrays(auto).items():
        assert_array_equal(array, expected[part], err_msg=str(part))


@every
def test_the_cost_is_the_one_of_the_best_model_on_the_held_out_rows(name, monkeypatch):
    """Each model of the path is judged: one that is spoilt on purpose is not chosen."""
    kind, params, given_ = LEARNERS[name]
    X, y = parts_of_prototypes(2, 400)
    original = kind._train_path

    def spoil(self, rows, labels, costs, seed, **more):
        for C, fitted in zip(costs, original(self, rows, labels, costs, seed, **more), strict=True):
            fitted._rank = (lambda X, k: np.full((X.shape[0], k), -1, np.int32)) if C != 3.0 else fitted.honest
            yield fitted

    monkeypatch.setattr(kind, "_train_path", spoil)
    monkeypatch.setattr(kind, "honest", kind._rank, raising=False)
    assert kind(C="auto", random_state=0, **params).fit(X, y, **given_).C_ == 3.0


class Scripted:
    """Predicts the given classes of held-out rows at each cost, and keeps what it was trained on."""

    def __init__(self, classes, right):
        self.classes_, self.right, self.seen = classes, right, []

    def _train_path(self, rows, labels, costs, seed, truth):
        self.seen.append((rows, labels, self.classes_))
        for share in self.right[: len(costs)]:
            self.share, self.truth = share, truth
            yield self

    def _get_ready(self):
        pass

    def _rank(self, X, k):
        own = np.searchsorted(self.classes_, self.truth[X[:, 0].astype(int)])
        wrong = np.arange(len(own)) >= self.share * len(own)
        return np.where(wrong, -1, own)[:, np.newaxis].astype(np.int32)


@pytest.mark.parametrize(
    ("right", "expected"),
    [([0.2, 0.9, 0.5, 0.1], 1.0), ([0.2, 0.3, 0.5, 0.9], 10.0), ([0.5, 0.7, 0.7, 0.7], 1.0), ([0.0] * 4, 0.3)],
)
def test_the_highest_share_of_held_out_rows_wins_and_the_smallest_cost_on_ties(right, expected):
    y = np.random.default_rng(0).integers(0, 5, 600)
    X = np.arange(600)[:, np.newaxis]
    learner = Scripted(np.arange(5), right)
    assert settle_cost(learner, "auto", X, as_labels(y[:, np.newaxis]), 0, truth=y) == expected
    ((rows, labels, classes),) = learner.seen
    assert_array_equal(classes[labels.indices], y[rows[:, 0]])
    assert len(rows) == round(0.12 * 540)
    assert settle_cost(learner, 7, X, as_labels(y[:, np.newaxis]), 0, truth=y) == 7.0
    assert len(learner.seen) == 1  # a number is taken without training


@SHARED
@given(
    st.lists(st.lists(st.integers(0, 7), max_size=3, unique=True), min_size=1, max_size=80), st.integers(0, 2**32 - 1)
)
def test_held_out_rows_are_a_share_and_leave_each_class_a_row(label_sets, seed):
    train, held = hold_out(as_labels(label_sets), 0.25, np.random.default_rng(seed))
    assert sorted([*train.tolist(), *held.tolist()]) == list(range(len(label_sets)))
    assert {c for row in train.tolist() for c in label_sets[row]} == {c for each in label_sets for c in each}
    assert all(label_sets[row] for row in held.tolist())
    assert len(held) <= round(0.25 * len(label_sets))


@SHARED
@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=1, max_size=20), st.data())
def test_the_labels_of_some_rows_are_taken_in_order(label_sets, drawn):
    rows = drawn.draw(st.lists(st.integers(0, len(label_sets) - 1), max_size=30))
    found = take_rows(as_labels(label_sets), np.array(rows, np.int64))
    lists = [found.indices[lo:hi].tolist() for lo, hi in zip(found.indptr[:-1], found.indptr[1:], strict=True)]
    assert lists == [label_sets[row] for row in rows]


@pytest.mark.parametrize("squared", [True, False])
def test_a_path_reaches_the_solution_of_each_cost(squared):
    X, y = parts_of_prototypes(4, 150)
    problems = [pose(C, squared=squared, bias=1.0, tolerance=1e-6, most_sweeps=10_000) for C in COSTS]
    labels = as_labels(y[:, np.newaxis])
    given_ = (as_instances(X), labels, X.shape[1], 12)
    for problem, machines in zip(problems, train_one_vs_rest(*given_, problems, 0, 0.0), strict=True):
        (cold,) = train_one_vs_rest(*given_, [problem], 0, 0.0)
        spread = [csr_array((m.edges.weights, m.edges.classes, m.edges.indptr)).toarray() for m in (machines, cold)]
        assert_allclose(*spread, atol=1e-4)
        assert_allclose(machines.bias, cold.bias, atol=1e-4)


@pytest.mark.parametrize("name", ["svm", "crammer-singer", "hsvm"])
@pytest.mark.parametrize("dense", [False, True])
def test_each_model_of_a_path_ranks_as_one_trained_alone(name, dense):
    kind, params, given_ = LEARNERS[name]
    X, y = parts_of_prototypes(5, 150)
    X = X.toarray() if dense else X
    learner = kind(tol=1e-6, max_sweeps=10_000, random_state=0, **params)
    rows, labels = learner._begin(X, y)
    for C, fitted in zip(COSTS, learner._train_path(rows, labels, COSTS, 0, **given_), strict=True):
        alone = kind(C=C, tol=1e-6, max_sweeps=10_000, random_state=0, **params).fit(X, y, **given_)
        every_class = np.tile(np.arange(12, dtype=np.int32), (150, 1))
        assert_allclose(fitted.scores(X, every_class), alone.scores(X, every_class), atol=2e-3)


@pytest.mark.parametrize("name", ["svm", "topdown-svm", "label-tree", "shortlist"])
def test_rows_with_several_labels_choose_a_cost(name):
    kind, params, given_ = LEARNERS[name]
    X, y = parts_of_prototypes(6, 300)
    Y = as_indicator(y) + as_indicator((y + 3) % 12)
    assert kind(C="auto", random_state=0, **params).fit(X, Y, **given_).C_ in COSTS


@every
def test_one_row_per_class_leaves_none_to_choose_by(name):
    kind, params, given_ = LEARNERS[name]
    X, _ = parts_of_prototypes(7, 12)
    assert kind(C="auto", random_state=0, **params).fit(X, np.arange(12), **given_).C_ == 1.0


@every
@pytest.mark.parametrize("C", [0, "automatic", None])
def test_a_bad_cost_raises_an_error(name, C):
    kind, params, given_ = LEARNERS[name]
    X, y = parts_of_prototypes(0, 60)
    with pytest.raises(ValueError, match=rf'^C={C!r}: must be a finite number above 0, or "auto"'):
        kind(C=C, **params).fit(X, y, **given_)


@pytest.mark.parametrize("name", ["crammer-singer", "hsvm"])
def test_a_row_without_features_does_not_hold_up_a_path(name):
    kind, params, given_ = LEARNERS[name]
    X, y = parts_of_prototypes(8, 120)
    X[:2] = 0
    learner = kind(random_state=0, **params)
    rows, labels = learner._begin(csr_array(X.toarray()), y)
    sweeps = [fitted.sweeps_ for fitted in learner._train_path(rows, labels, COSTS, 0, **given_)]
    assert max(sweeps) < 100
