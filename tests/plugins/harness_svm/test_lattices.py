"""Learners on a taxonomy whose nodes have several parents: `hsvm` uses all, the top-down learners the first ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from harness import Taxonomy
from harness_svm import HSVM, TopDownPerceptron, TopDownSVM
from harness_svm.structured import solver
from internals import class_ancestors
from messages import naming


@pytest.fixture(scope="module")
def lattice(tree) -> Taxonomy:
    """The tree of the other tests, with further parents: class 2 also below b, class 5 also below a and class 4."""
    return replace(tree, more_parents=np.array([[5, 2], [9, 1], [9, 7]]))


def nodes_of_leaves(taxonomy):
    """Return classes x nodes; the classes at inner nodes have a node more."""
    nodes = class_ancestors(taxonomy).toarray()
    inner = [c for c, node in enumerate(taxonomy.class_node) if nodes[:, node].sum() > 1]
    return np.hstack([nodes, np.eye(len(nodes))[:, inner]])


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
def test_the_hierarchical_machine_reaches_the_optimum_of_its_definition(data, lattice, weights, rescaling):
    X, y = data(n=90)
    learner = HSVM(C=1.0, tol=1e-3, rescaling=rescaling, trace=True, random_state=0).fit(X, y, taxonomy=lattice)
    nodes = nodes_of_leaves(lattice)
    assert nodes.sum() > nodes_of_leaves(replace(lattice, more_parents=None)).sum()
    L = nodes / np.sqrt(nodes.sum(axis=1, keepdims=True))
    u = weights(learner) * np.sqrt(nodes.sum(axis=1))  # the sum of coefficients times rows, by class
    w = L.T @ u.T
    scores = X.toarray().astype(np.float64) @ (L @ w).T
    costs = np.abs(nodes[:, np.newaxis] - nodes[np.newaxis]).sum(axis=2)[y] / 2
    lead = scores[np.arange(len(y)), y][:, np.newaxis] - scores
    losses = (costs * (1 - lead) if rescaling == "slack" else costs - lead).max(axis=1)
    primal = (w**2).sum() / 2 + np.maximum(0, losses).sum()
    assert primal == pytest.approx(learner.dual_[-1], rel=1e-2)
    assert primal >= learner.dual_[-1] - 1e-3
    ranks = learner.rank(X, 6)
    known = np.diff(X.indptr) > 0
    found = learner.scores(X, ranks)
    assert_allclose(found[known], np.take_along_axis(scores, ranks, axis=1)[known], atol=1e-4)
    assert np.all(np.diff(found[known], axis=1) <= 1e-9)


def test_a_further_parent_that_is_an_ancestor_anyway_changes_nothing(data, tree):
    X, y = data()
    given = {"tol": 1e-4, "random_state": 0}
    plain = HSVM(**given).fit(X, y, taxonomy=tree)
    more = HSVM(**given).fit(X, y, taxonomy=replace(tree, more_parents=np.array([[5, 1], [8, 2], [3, 0]])))
    assert_array_equal(more.rank(X, 1), plain.rank(X, 1))
    assert_allclose(more.decision_function(X), plain.decision_function(X), atol=1e-2)
    assert hasattr(more, "lattice_")
    assert not hasattr(plain, "lattice_")


def test_other_parents_give_another_machine(data, tree, lattice):
    X, y = data()
    plain, other = (HSVM(random_state=0).fit(X, y, taxonomy=taxonomy) for taxonomy in (tree, lattice))
    assert np.abs(plain.decision_function(X) - other.decision_function(X)).max() > 0.1


@pytest.mark.parametrize("is_tree", [True, False])
def test_weights_and_costs_of_the_taxonomy_equal_those_given_as_parameters(data, tree, lattice, is_tree):
    X, y = data()
    taxonomy = tree if is_tree else lattice
    rng = np.random.default_rng(0)
    attributes, costs = 1 + rng.random(10), 0.2 + rng.random((10, 2))
    within = replace(taxonomy, weights=attributes, costs=costs)
    given = HSVM(attributes=tuple(attributes), costs=tuple(map(tuple, costs.tolist())), random_state=0)
    scores = HSVM(random_state=0).fit(X, y, taxonomy=within).decision_function(X)
    assert_array_equal(scores, given.fit(X, y, taxonomy=taxonomy).decision_function(X))
    assert np.abs(scores - HSVM(random_state=0).fit(X, y, taxonomy=taxonomy).decision_function(X)).max() > 0.01


def test_leaf_attributes_with_unit_costs_ignore_the_lattice(data, tree, lattice):
    X, y = data()
    flat = {"attributes": "leaf", "costs": "zero-one", "tol": 1e-4, "random_state": 0}
    one, other = (HSVM(**flat).fit(X, y, taxonomy=taxonomy) for taxonomy in (tree, lattice))
    assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-2)


def test_weights_in_an_index_give_the_same_machine(data, lattice, monkeypatch):
    X, y = data()
    dense = HSVM(tol=1e-3, random_state=0).fit(X, y, taxonomy=lattice)
    monkeypatch.setattr(solver, "is_large", lambda *_: True)
    sparse = HSVM(tol=1e-3, random_state=0).fit(X, y, taxonomy=lattice)
    assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=2e-2)


def test_classes_without_a_row_are_ranked_by_the_nodes_above_them(data, lattice):
    X, y = data()
    seen = y != 2
    learner = HSVM(unseen=True, random_state=0).fit(X[seen], y[seen], taxonomy=lattice)
    assert learner.classes_.tolist() == [0, 1, 2, 3, 4, 5]
    scores = learner.decision_function(X)
    assert np.ptp(scores[:, 2]) > 0.01
    seen_only = HSVM(random_state=0).fit(X[seen], y[seen], taxonomy=lattice)
    assert seen_only.classes_.tolist() == [0, 1, 3, 4, 5]


def test_a_saved_machine_has_the_same_scores_and_contributions(data, lattice, tmp_path):
    X, y = data()
    learner = HSVM(random_state=0).fit(X, y, taxonomy=lattice)
    learner.save(tmp_path / "model")
    loaded = HSVM.load(tmp_path / "model", mapped=True)
    ranks = loaded.rank(X, 6)
    assert_array_equal(ranks, learner.rank(X, 6))
    assert_array_equal(loaded.scores(X, ranks), learner.scores(X, ranks))
    assert loaded.index_bytes_ == learner.index_bytes_
    parts = loaded.contributions(X[:1], ranks[:1])
    assert_allclose(parts.parts.sum(axis=1).ravel()[:6], loaded.scores(X[:1], ranks[:1])[0], atol=1e-5)


@pytest.mark.parametrize(("name", "change"), [("nodes", 100), ("classes", 100), ("start", 1)])
def test_a_file_with_an_unsound_lattice_is_rejected(data, lattice, tmp_path, name, change):
    X, y = data()
    learner = HSVM(random_state=0).fit(X, y, taxonomy=lattice)
    array = getattr(learner.lattice_, name).copy()
    array[0] += change
    learner.lattice_ = learner.lattice_._replace(**{name: array})
    learner.save(tmp_path / "model")
    with pytest.raises(ValueError, match=naming("lattice_")):
        HSVM.load(tmp_path / "model")


@pytest.mark.parametrize("learner", [TopDownSVM(random_state=0), TopDownPerceptron(bias=1.0, random_state=0)], ids=repr)
def test_top_down_learners_follow_the_first_parents(data, tree, lattice, learner):
    X, y = data()
    along_first = learner.fit(X, y, taxonomy=tree).decision_function(X)
    assert_array_equal(learner.fit(X, y, taxonomy=lattice).decision_function(X), along_first)


def test_training_again_on_a_tree_forgets_the_lattice(data, tree, lattice):
    X, y = data()
    learner = HSVM(random_state=0).fit(X, y, taxonomy=lattice).fit(X, y, taxonomy=tree)
    assert_array_equal(learner.decision_function(X), HSVM(random_state=0).fit(X, y, taxonomy=tree).decision_function(X))
