"""LOMtree as a classifier: budget, swaps, refit, three rankings, two weight tables, and edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from harness_tree import OAA, FilterTree, LOMtree, RandomTree


def problem(seed: int = 0, n: int = 1200, n_classes: int = 15, noise: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n_classes, 20))[y] + noise * rng.normal(size=(n, 20))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


@pytest.mark.parametrize("T", [0, 1, 3, 14, 200])
def test_the_budget_holds_and_leaves_are_one_more_than_inner_nodes(T):
    X, y = problem()
    fitted = LOMtree(T=T, passes=2, random_state=0).fit(X, y)
    inner = np.count_nonzero(fitted.nodes_["left"] >= 0)
    assert inner == fitted.tally_["t"][0] <= T
    assert fitted.nodes_.size == 2 * inner + 1
    assert fitted.rank(X, 15).max() < 15


def test_the_default_budget_is_four_inner_nodes_per_class():
    X, y = problem(n=3000, noise=2.0)
    assert LOMtree(passes=3, random_state=0).fit(X, y).tally_["t"][0] == 60


@pytest.mark.parametrize(("passes", "eta"), [(1, 0.5), (4, 0.5), (8, 0.25), (20, 0.1), (40, 0.1)])
def test_the_default_rate_is_two_by_passes_within_its_bounds(passes, eta):
    X, y = problem(n=200)
    default, same, other = (
        LOMtree(passes=passes, random_state=0, **rate).fit(X, y) for rate in ({}, {"eta": eta}, {"eta": 1.1 * eta})
    )
    assert_array_equal(default.table_, same.table_)
    assert not np.array_equal(default.table_, other.table_)


def test_a_tree_without_inner_nodes_predicts_the_majority_class():
    X, y = problem()
    y[:500] = 3
    fitted = LOMtree(T=0, passes=1).fit(X, y)
    assert set(fitted.predict(X)) == {3}
    assert_array_equal(fitted.rank(X[:1], 15)[0], np.lexsort((np.arange(15), -np.bincount(y))))


def test_higher_swap_resistance_gives_fewer_swaps():
    X, y = problem(noise=1.0)
    learners = [LOMtree(T=14, resistance=r, passes=5, random_state=0).fit(X, y) for r in (0.5, 4.0, 64.0)]
    few, some, many = sorted(int(learner.tally_["swaps"][0]) for learner in learners)
    assert few < some < many
    assert learners[0].tally_["swaps"][0] == many
    assert learners[2].tally_["swaps"][0] == few


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), T=st.sampled_from([3, 14, 60]), resistance=st.sampled_from([0.5, 4.0]))
def test_permuted_classes_give_permuted_predictions(seed, T, resistance):
    X, y = problem(seed, n=300)
    permutation = np.random.default_rng(seed).permutation(15)
    setting = {"T": T, "resistance": resistance, "passes": 2, "refit": False, "random_state": 0}
    one, other = LOMtree(**setting).fit(X, y), LOMtree(**setting).fit(X, permutation[y])
    assert_array_equal(permutation[one.predict(X)], other.predict(X))
    assert_array_equal(one.table_, other.table_)


def test_refit_counts_training_rows_at_the_leaves_they_reach_now():
    X, y = problem(noise=1.2)
    refitted, online = (LOMtree(passes=1, refit=refit, random_state=0).fit(X, y) for refit in (True, False))
    assert refitted.list_counts_[_of_leaves(refitted)].sum() == 1200
    assert online.list_counts_[_of_leaves(online)].sum() != 1200  # some rows came before the leaf was split off
    assert_array_equal(refitted.table_, online.table_)
    assert refitted.score(X, y) >= online.score(X, y)


def _of_leaves(fitted: LOMtree) -> np.ndarray:
    at = np.repeat(np.arange(fitted.nodes_.size), np.diff(fitted.list_starts_))
    return fitted.nodes_["left"][at] < 0


def test_both_rankings_have_the_same_first_class_and_likely_leaves_rank_the_rest_better():
    X, y = problem(n=3000, noise=1.0)
    nodes, leaves = (LOMtree(passes=5, ranking=r, random_state=0).fit(X[:2000], y[:2000]) for r in ("nodes", "leaves"))
    one, other = nodes.rank(X[2000:], 5), leaves.rank(X[2000:], 5)
    assert_array_equal(one[:, 0], other[:, 0])
    hits = [(ranked == y[2000:, np.newaxis]).any(axis=1).mean() for ranked in (one, other)]
    assert hits[1] > hits[0]


def test_a_large_hashed_table_learns_as_a_dense_one():
    X, y = problem()
    dense, hashed = (LOMtree(passes=2, store=s, bits=20, random_state=0).fit(X, y) for s in ("dense", "hashed"))
    assert (dense.hashed_, hashed.hashed_) == (False, True)
    assert_array_equal(dense.predict(X), hashed.predict(X))
    assert dense.index_size_ <= hashed.index_size_  # a swap keeps the weights of the moved nodes


def test_weights_are_hashed_when_a_dense_table_would_be_too_large():
    X, y = problem(n=30)
    wide = csr_array((X.ravel(), np.tile(np.arange(20), 30), np.arange(0, 601, 20)), shape=(30, 3_000_000))
    fitted = LOMtree(passes=1, bits=10, random_state=0).fit(wide, y)
    assert fitted.hashed_
    assert fitted.table_.shape == (1024, 2)
    assert not LOMtree(passes=1, bits=10).fit(X, y).hashed_


@pytest.mark.parametrize("loss", ["hinge", "absolute", "squared", "logistic"])
@pytest.mark.parametrize("step", ["adagrad", "plain"])
def test_every_loss_and_step_learns(loss, step):
    X, y = problem(noise=0.3)
    fitted = LOMtree(loss=loss, step=step, eta=0.5, passes=10, random_state=0).fit(X, y)
    assert fitted.score(X, y) > 0.75


@pytest.mark.parametrize("learner", [RandomTree(passes=3), FilterTree(passes=3), LOMtree(passes=3)], ids=repr)
def test_edges_touched_counts_the_decisions_of_a_row_times_its_features(learner):
    X, y = problem()
    X = X * (np.random.default_rng(1).random(X.shape) < 0.5)
    fitted = learner.set_params(random_state=0).fit(X, y)
    active = np.count_nonzero(X, axis=1)
    steps = np.array([fitted.statistics(X[[i]], y[[i]]).mean_depth for i in range(60)])
    assert fitted.edges_touched(X[:60]) == pytest.approx((steps * active[:60]).sum() / active[:60].sum())
    assert OAA(passes=1).fit(X, y).edges_touched(X) == 15


def test_static_trees_have_logarithmic_depth():
    X, y = problem()
    for learner in (RandomTree(passes=1), FilterTree(passes=1)):
        assert learner.fit(X, y).depth_ == 4


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("T", -1, "None or an integer of at least 0"),
        ("T", 1.5, "None or an integer of at least 0"),
        ("resistance", -1.0, "at least 0"),
        ("step", "adam", "one of adagrad, plain"),
        ("refit", 1, "True or False"),
        ("ranking", "soft", "one of paths, nodes, leaves"),
        ("leaves", 0, "at least 1"),
        ("store", "disk", "one of auto, dense, hashed"),
        ("bits", 40, "from 1 to 32"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        LOMtree(**{name: value}).fit(*problem(n=50))
