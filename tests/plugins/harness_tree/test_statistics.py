"""Tree statistics: the paper's measures, their bounds on any split, and the tree as text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness_tree import FilterTree, LOMtree, RandomTree
from harness_tree.kernels.nodes import NODE
from harness_tree.kernels.static_tree import build_tree
from harness_tree.statistics import TreeStatistics, draw_tree, entropy_bound, measure
from messages import naming


def one_split(left: np.ndarray, right: np.ndarray) -> TreeStatistics:
    """Return a root whose two leaves have these counts of each class."""
    nodes = np.zeros(3, NODE)
    nodes["parent"], nodes["left"], nodes["right"] = [-1, 0, 0], [1, -1, -1], [2, -1, -1]
    return measure(nodes, 0, csr_array(np.stack([0 * left, left, right]).astype(np.float64)))


def assert_within_bounds(found: TreeStatistics) -> None:
    """Check 0 <= J <= 4 beta (1 - beta) <= 1, and the purity lemma with beta* = min(beta, 1 - beta)."""
    evenness = 4 * found.beta * (1 - found.beta)
    assert np.all((found.J >= -1e-12) & (evenness + 1e-12 >= found.J) & (evenness <= 1 + 1e-12))
    assert np.all((found.alpha >= -1e-12) & (found.alpha <= 0.5 + 1e-12))
    pure = found.alpha < 1e-12
    np.testing.assert_allclose(found.J[pure], evenness[pure], atol=1e-9)
    least = np.minimum(found.beta, 1 - found.beta)
    some = least > 0
    assert np.all(found.alpha[some] <= (2 - found.J[some]) / (4 * least[some]) - least[some] + 1e-9)
    assert np.all(found.J[~some] < 1e-12)
    assert np.all(found.alpha[~some] < 1e-12)


counts = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=8).filter(
    lambda pairs: sum(map(sum, pairs)) > 0
)


@settings(max_examples=200, deadline=None)
@given(pairs=counts)
def test_any_split_satisfies_the_bounds_of_the_paper(pairs):
    left, right = np.array(pairs).T
    found = one_split(left, right)
    assert_within_bounds(found)
    n, n_right = left + right, right
    pi, beta = n / n.sum(), n_right.sum() / n.sum()
    p = np.divide(n_right, n, out=np.zeros(n.size), where=n > 0)
    assert found.beta[0] == pytest.approx(beta)
    assert found.balance == pytest.approx(min(beta, 1 - beta))
    assert found.J[0] == pytest.approx(2 * (pi * abs(beta - p)).sum())
    assert found.alpha[0] == pytest.approx((pi * np.minimum(p, 1 - p)).sum())


@settings(max_examples=50, deadline=None)
@given(pairs=counts)
def test_swapping_sides_does_not_change_the_measures(pairs):
    left, right = np.array(pairs).T
    one, other = one_split(left, right), one_split(right, left)
    assert (one.J[0], one.alpha[0]) == pytest.approx((other.J[0], other.alpha[0]))
    assert one.beta[0] == pytest.approx(1 - other.beta[0])


@settings(max_examples=50, deadline=None)
@given(pairs=counts)
def test_a_split_never_increases_the_entropy_and_pure_leaves_have_none(pairs):
    left, right = np.array(pairs).T
    leaf = np.zeros(1, NODE)
    leaf["parent"] = leaf["left"] = leaf["right"] = -1
    full = measure(leaf, 0, csr_array((left + right)[np.newaxis].astype(np.float64)))
    found = one_split(left, right)
    assert -1e-12 <= found.quality <= full.quality + 1e-12
    pure = max(np.count_nonzero(left), np.count_nonzero(right)) <= 1
    assert (found.quality < 1e-12) == pure


def test_the_purity_lemma_fails_as_printed_and_holds_as_corrected_for_beta_above_half():
    found = one_split(np.array([471, 0]), np.array([0, 529]))
    assert found.alpha[0] == 0.0
    assert (2 - found.J[0]) / (4 * found.beta[0]) - found.beta[0] < 0  # the bound as printed
    assert_within_bounds(found)


def test_a_balanced_pure_split_has_the_highest_objective():
    found = one_split(np.array([5, 0, 3, 0]), np.array([0, 6, 0, 2]))
    assert (found.J[0], found.balance, found.quality > 0) == (1.0, 0.5, True)


leaf_counts = st.lists(st.integers(1, 30), min_size=2, max_size=12)


def one_leaf_each(sizes: list[int], seed: int) -> TreeStatistics:
    """Return a complete tree with each class in its own leaf, in random order, with equal counts."""
    nodes, leaf_of = build_tree(np.random.default_rng(seed).permutation(len(sizes)))
    placed = csr_array((np.array(sizes, float), (leaf_of, np.arange(len(sizes)))), shape=(len(nodes), len(sizes)))
    return measure(nodes, 0, placed)


@settings(max_examples=50, deadline=None)
@given(pairs=counts)
def test_the_gain_of_a_split_is_its_entropy_reduction(pairs):
    left, right = np.array(pairs).T
    leaf = np.zeros(1, NODE)
    leaf["parent"] = leaf["left"] = leaf["right"] = -1
    full = measure(leaf, 0, csr_array((left + right)[np.newaxis].astype(np.float64)))
    found = one_split(left, right)
    assert found.gain[0] == pytest.approx(full.quality - found.quality, abs=1e-12)
    np.testing.assert_allclose(found.quality_by_nodes(), [full.quality, found.quality], atol=1e-12)
    np.testing.assert_allclose(full.quality_by_nodes(), [full.quality])
    assert found.gain[0] >= 2 * found.edge**2 - 1e-12  # Pinsker's inequality: a split with an edge lowers G


@settings(max_examples=60, deadline=None)
@given(sizes=leaf_counts, seed=st.integers(0, 2**32 - 1))
def test_the_quality_by_nodes_is_that_of_the_tree_after_its_heaviest_splits(sizes, seed):
    nodes, leaf_of = build_tree(np.random.default_rng(seed).permutation(len(sizes)))
    found = one_leaf_each(sizes, seed)
    curve = found.quality_by_nodes()
    assert curve.size == found.nodes.size + 1 == len(sizes)
    kept: set[int] = set()
    for t, quality in enumerate(curve):
        ends: dict[int, list[int]] = {}
        for c, size in enumerate(sizes):
            path = [int(leaf_of[c])]
            while path[-1] != 0:
                path.append(int(nodes["parent"][path[-1]]))
            ends.setdefault(next(v for v in reversed(path) if v not in kept), []).append(size)
        shares = [np.array(held) / sum(held) for held in ends.values()]
        entropies = [sum(held) * -(p * np.log(p)).sum() for held, p in zip(ends.values(), shares, strict=True)]
        assert quality == pytest.approx(sum(entropies) / sum(sizes), abs=1e-9)
        if t < found.nodes.size:
            reachable = [n for n, v in enumerate(found.nodes.tolist()) if v not in kept]
            heaviest = max(reachable, key=lambda n: (found.reached[n], -n))
            kept.add(int(found.nodes[heaviest]))


@settings(max_examples=60, deadline=None)
@given(sizes=leaf_counts, seed=st.integers(0, 2**32 - 1))
def test_the_entropy_is_below_its_bound_where_every_split_has_an_edge(sizes, seed):
    found = one_leaf_each(sizes, seed)
    curve = found.quality_by_nodes()
    bound = entropy_bound(np.arange(curve.size), found.edge, len(sizes), start=curve[0])
    assert np.all(curve <= bound + 1e-12)
    assert np.all(np.diff(bound) <= 0)
    assert bound[0] == curve[0]


def test_the_entropy_bound_is_that_of_the_theorem():
    splits = (np.log(8) / 0.5) ** (4 * 0.75**2 * np.log(8) / 0.25**2)
    assert entropy_bound(splits, 0.25, 8) == pytest.approx(0.5)
    assert entropy_bound(1, 0.25, 8) == pytest.approx(np.log(8))
    for edge, n_classes, trouble in ((0.0, 8, "edge=0.0"), (0.6, 8, "edge=0.6"), (0.1, 1, "n_classes=1")):
        with pytest.raises(ValueError, match=f"^{trouble}: must be"):
            entropy_bound(1, edge, n_classes)


def test_means_over_nodes_are_weighted_by_the_rows_that_reach_them():
    found = one_leaf_each([3, 1, 4], 0)
    assert found.objective == pytest.approx((found.J * found.reached).sum() / found.reached.sum())
    assert found.impurity == 0.0
    leaf = np.zeros(1, NODE)
    leaf["parent"] = leaf["left"] = leaf["right"] = -1
    alone = measure(leaf, 0, csr_array(np.array([[2.0, 2.0]])))
    assert (alone.objective, alone.impurity, alone.edge) == (0.0, 0.0, 0.5)


def problem(n: int = 1500, n_classes: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    return (rng.normal(size=(n_classes, 20))[y] + 0.7 * rng.normal(size=(n, 20))).astype(np.float32), y


@pytest.mark.parametrize("learner", [LOMtree(passes=3), RandomTree(passes=3), FilterTree(passes=3)], ids=repr)
def test_every_node_of_a_trained_tree_satisfies_the_bounds(learner):
    X, y = problem()
    fitted = learner.set_params(random_state=0).fit(X, y)
    found = fitted.statistics(X, y)
    assert_within_bounds(found)
    assert found.depth == fitted.depth_
    assert found.mean_depth == pytest.approx(fitted.edges_touched(X))  # every row has all features
    assert found.reached[found.nodes == fitted.root_] == 1.0
    assert found.n_leaves == found.nodes.size + 1 or found.reached.size < found.n_leaves
    leaves = np.array([fitted.classes_[c] for c in fitted.rank(X, 1)[:, 0]])
    assert found.quality < np.log(12) * (leaves != y).mean() * 3 + 0.5


def test_a_lomtree_splits_more_purely_than_a_random_tree():
    X, y = problem()
    lom = LOMtree(T=11, random_state=0).fit(X, y).statistics(X, y)
    drawn = RandomTree(passes=20, random_state=0).fit(X, y).statistics(X, y)
    assert (lom.J * lom.reached).sum() / lom.reached.sum() > (drawn.J * drawn.reached).sum() / drawn.reached.sum()
    assert lom.quality < drawn.quality


def test_after_refit_a_lomtree_has_statistics_of_the_training_data():
    X, y = problem()
    fitted = LOMtree(passes=2, random_state=0).fit(X, y)
    own, of_rows = fitted.statistics(), fitted.statistics(X, y)
    assert own.quality == pytest.approx(of_rows.quality)
    np.testing.assert_allclose(own.J, of_rows.J)
    np.testing.assert_array_equal(own.nodes, of_rows.nodes)


def test_a_tree_without_counts_raises_an_error_that_asks_for_data():
    X, y = problem(100)
    with pytest.raises(ValueError, match="give X and y"):
        RandomTree(passes=1).fit(X, y).statistics()


def test_the_text_shows_the_counts_at_each_node():
    nodes, leaf_of = build_tree(np.array([0, 1, 2]))
    counts = csr_array((np.array([3.0, 1.0, 4.0]), (leaf_of, np.array([0, 1, 2]))), shape=(5, 3))
    assert draw_tree(nodes, 0, counts, ["ant", "bee", "cat"], 3).splitlines() == [
        "8 of cat 50%, ant 38%, bee 12%; 50% to the right, J 1.00",
        "├ left: 4 of ant 75%, bee 25%; 25% to the right, J 0.75",
        "│ ├ left: 3 of ant 100%",
        "│ └ right: 1 of bee 100%",
        "└ right: 4 of cat 100%",
    ]
    assert draw_tree(nodes, 0, counts, ["ant", "bee", "cat"], 1).splitlines()[1:] == [
        "├ left: 4 of ant 75%, bee 25%; 25% to the right, J 0.75",
        "│ └ …",
        "└ right: 4 of cat 100%",
    ]


def test_the_text_of_a_learner_has_class_names_and_stops_at_the_given_depth():
    X, y = problem()
    fitted = LOMtree(passes=2, random_state=0).fit(X, np.array([f"class {c}" for c in y]))
    picture = fitted.picture(depth=2)
    assert picture.startswith("1,500 of class ")
    assert 5 <= len(picture.splitlines()) <= 11
    assert fitted.picture(depth=0).count("\n") == 1
    with pytest.raises(ValueError, match=naming("depth=-1", "0")):
        fitted.picture(depth=-1)
