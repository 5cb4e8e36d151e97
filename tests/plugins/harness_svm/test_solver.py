"""Joint training of all classes, compared with the problem's definition node by node in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from harness import Taxonomy
from harness.sdk import as_instances, frozen
from harness_svm import crammer_singer, hierarchical
from harness_svm.hierarchical import grow
from harness_svm.hierarchy import from_taxonomy
from harness_svm.structured import solver
from harness_svm.structured.kernels.subproblem import Goal, empty_block, left_over
from harness_svm.structured.solver import DualSolver, squared_length
from internals import Rows, as_edges, empty_rows

FLAT = Taxonomy(np.array([-1, *[0] * 6]), np.arange(1, 7))
SHARED = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Reference:
    """The problem as defined: attributes L, costs, and w node by node."""

    def __init__(self, X, y, tree, goal):
        self.X, self.y, self.goal = X.toarray().astype(np.float64), y, goal
        parent, nodes, classes = tree.parent.astype(int), tree.parent.size, tree.leaf.size
        self.L, on = np.zeros((classes, nodes)), np.zeros((classes, nodes), bool)
        for c in range(classes):
            z = int(tree.leaf[c])
            while z:
                on[c, z], self.L[c, z] = True, tree.scale[c] * np.sqrt(tree.weight[z])
                z = parent[z]
        own = tree.missed - np.where(np.arange(nodes) > 0, tree.missed[parent], 0)
        other = tree.false - np.where(np.arange(nodes) > 0, tree.false[parent], 0)
        self.cost = np.array([[own[on[y] & ~on[c]].sum() + other[on[c] & ~on[y]].sum() for c in range(classes)] for y in range(classes)])  # fmt: skip  # noqa: E501
        self.rate = self.cost if goal.slack else 1 - np.eye(classes)

    def beta(self, training):
        edges = as_edges(training.duals)
        beta = np.zeros((len(self.y), self.L.shape[0]))
        beta[edges.features, training.order[edges.classes]] = edges.weights
        return beta

    def w(self, beta):
        a = beta * self.rate[self.y]
        coefficients = -a
        coefficients[np.arange(len(self.y)), self.y] += a.sum(axis=1)
        return self.L.T @ coefficients.T @ self.X

    def gradient(self, w):
        F = self.X @ (self.L @ w).T
        lead = F[np.arange(len(self.y)), self.y][:, np.newaxis] - F
        return self.cost[self.y] - self.rate[self.y] * lead

    def dual(self, beta):
        return float((self.cost[self.y] * beta).sum() - (self.w(beta) ** 2).sum() / 2)

    def primal(self, beta):
        w = self.w(beta)
        return float((w**2).sum() / 2 + self.goal.C * np.maximum(0, self.gradient(w).max(axis=1)).sum())


def weights_of(training):
    """Return the class vectors as a matrix, features x classes, in the order of the data."""
    W = np.zeros((training.n_features, training.tree.leaf.size))
    W[np.ix_(training.features, training.order)] = training.class_weights()
    return W


def started(
    X, y, taxonomy, *, slack=True, C=1.0, tolerance=1e-4, sparse=False, attributes="path", costs="tree", kernels=None
):
    kernels = kernels or (crammer_singer.FLAT_KERNELS if taxonomy is FLAT else hierarchical.TREE_KERNELS)
    tree = grow(from_taxonomy(taxonomy, np.arange(6)), attributes, costs, taxonomy)
    goal = Goal(C, tolerance, slack)
    training = DualSolver(as_instances(X), frozen(y, np.int32), X.shape[1], tree, goal, sparse, kernels)
    return training, Reference(X, y, tree, goal)


@SHARED
@given(
    seed=st.integers(0, 2**32 - 1),
    slack=st.booleans(),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    flat=st.booleans(),
    attributes=st.sampled_from(["path", "leaf"]),
    costs=st.sampled_from(["tree", "zero-one"]),
    scale=st.sampled_from([1.0, 1e-3, 1e-8]),
)
def test_the_solution_is_feasible_satisfies_kkt_and_has_no_duality_gap(
    data, tree, seed, slack, C, flat, attributes, costs, scale
):
    X, y = data(seed, n=40, n_features=8)
    X = X * np.float32(scale)
    chosen = {"slack": slack, "C": C, "attributes": attributes, "costs": costs}
    training, reference = started(X, y, FLAT if flat else tree, **chosen)
    training.run(np.random.default_rng(0), 20_000)
    beta = reference.beta(training)
    assert np.all(beta >= 0)
    assert np.all(beta.sum(axis=1) <= C * (1 + 1e-9))
    g = reference.gradient(reference.w(beta))
    top = np.maximum(0, g.max(axis=1))
    assert np.all(g[beta > 0] >= np.broadcast_to(top[:, np.newaxis], g.shape)[beta > 0] - 1e-3)
    assert np.all(top[beta.sum(axis=1) < C * (1 - 1e-9)] <= 1e-3)
    above, below = reference.primal(beta), reference.dual(beta)
    assert above >= below - 1e-9
    assert above - below <= 1e-3 * above


@SHARED
@given(seed=st.integers(0, 2**32 - 1), slack=st.booleans(), flat=st.booleans())
def test_the_dual_never_decreases_and_weights_follow_from_the_duals(data, tree, seed, slack, flat):
    X, y = data(seed, n=40, n_features=8)
    training, reference = started(X, y, FLAT if flat else tree, slack=slack)
    found = [0.0]
    for number in range(5):
        training.sweep(np.random.default_rng(number).permutation(40))
        beta = reference.beta(training)
        found.append(reference.dual(beta))
        parent, leaf = training.tree.parent, training.tree.leaf
        u = np.zeros((parent.size, X.shape[1]))
        u[leaf] = weights_of(training).T
        for z in range(parent.size - 1, 0, -1):  # a parent's vector is the sum of its children's
            u[parent[z]] += u[z]
        assert_allclose(u[1:], reference.w(beta)[1:], atol=1e-9)
        # With paths of one length all r_y are equal, and this is the sum over the top-level nodes.
        assert_allclose((weights_of(training) / training.tree.scale).sum(axis=1), 0, atol=1e-9)
    assert np.all(np.diff(found) >= -1e-9)


@SHARED
@given(
    seed=st.integers(0, 2**32 - 1),
    slack=st.booleans(),
    flat=st.booleans(),
    sparse=st.booleans(),
    attributes=st.sampled_from(["path", "leaf"]),
)
def test_the_measured_dual_equals_the_definition(data, tree, seed, slack, flat, sparse, attributes):
    X, y = data(seed, n=40, n_features=8)
    chosen = {"slack": slack, "sparse": sparse, "attributes": attributes}
    training, reference = started(X, y, FLAT if flat else tree, **chosen)
    training.trace = True
    with pytest.warns(ConvergenceWarning):
        training.run(np.random.default_rng(0), 1)
    training.sweep(np.random.default_rng(1).permutation(40))
    expected = reference.dual(reference.beta(training))
    found = training.objective()
    assert found == pytest.approx(expected, rel=1e-4 if sparse else 1e-9)
    assert len(training.objectives) == 1
    assert training.objectives[0] <= found + 1e-4 * abs(found)


def test_the_squared_norm_is_the_same_for_any_block_size(data, tree, monkeypatch):
    X, y = data(n=60)
    training, _ = started(X, y, tree)
    training.run(np.random.default_rng(0), 1000)
    weights = training.class_weights()
    full = squared_length(weights, training.ordered)
    monkeypatch.setattr(solver, "BLOCK_NUMBERS", 40)
    assert squared_length(weights, training.ordered) == pytest.approx(full, rel=1e-12)


def test_classes_tied_at_the_level_do_not_prevent_convergence():
    random = np.random.default_rng(12)  # rounding once made the number of classes above the level oscillate here
    n, features, classes = (int(random.integers(*bounds)) for bounds in ((6, 40), (2, 8), (3, 9)))
    X, y = random.integers(0, 3, (n, features)), random.integers(0, classes, n)
    assert crammer_singer.CrammerSinger(C=10.0, max_sweeps=1000, random_state=0).fit(X, y).sweeps_ < 1000


def noisy_titles(seed, n=250, n_words=25, n_classes=120):
    """Draw rows of one to three words with repeats under other classes; more classes than a visit adds."""
    random = np.random.default_rng(seed)
    words = random.integers(0, n_words, (n, 3))
    X = np.zeros((n, n_words), np.float32)
    X[np.arange(n)[:, np.newaxis], words] = 1
    y = random.integers(0, n_classes, n)
    X[: n // 5] = X[n // 5 : 2 * (n // 5)]
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@SHARED
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.3, 1.0, 3.0]))
def test_training_converges_on_short_contradictory_rows(weights, seed, C):
    X, y = noisy_titles(seed)
    tol = 0.1
    fitted = crammer_singer.CrammerSinger(C=C, tol=tol, max_sweeps=300, trace=True, random_state=0).fit(X, y)
    assert fitted.sweeps_ < 300
    W, own = weights(fitted), np.searchsorted(fitted.classes_, y)
    scores = X.astype(np.float64) @ W
    lead = scores[np.arange(len(y)), own][:, np.newaxis] - scores
    losses = np.where(np.arange(W.shape[1]) == own[:, np.newaxis], 0, 1 - lead).max(axis=1)
    gap = (W**2).sum() / 2 + C * np.maximum(0, losses).sum() - fitted.dual_[-1]
    assert -1e-3 <= gap <= C * tol * len(y)  # a row within tol adds at most C tol to it


@SHARED
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.3, 1.0]), rescaling=st.sampled_from(["slack", "margin"]))
def test_training_along_a_tree_converges_on_short_contradictory_rows(weights, seed, C, rescaling):
    X, y = noisy_titles(seed)
    y = np.unique(y, return_inverse=True)[1]
    classes = int(y.max()) + 1
    groups = np.arange(classes) % 10  # each class is below one of ten children of the root
    taxonomy = Taxonomy(np.array([-1, *[0] * 10, *(1 + groups)]), 11 + np.arange(classes))
    tol = 0.1
    fitted = hierarchical.HSVM(C=C, tol=tol, rescaling=rescaling, max_sweeps=300, trace=True, random_state=0)
    fitted.fit(X, y, taxonomy=taxonomy)
    assert fitted.sweeps_ < 300
    assert np.all(np.diff(fitted.dual_) >= -1e-9 * fitted.dual_[-1])
    u = weights(fitted)
    below = u @ (groups[:, np.newaxis] == np.arange(10))  # the vectors of the ten nodes
    scores = X.astype(np.float64) @ ((u + below[:, groups]) / np.sqrt(2))
    costs = np.where(np.arange(classes) == y[:, np.newaxis], 0.0, 2.0 - (groups == groups[y][:, np.newaxis]))
    lead = scores[np.arange(len(y)), y][:, np.newaxis] - scores
    losses = (costs * (1 - lead) if rescaling == "slack" else costs - lead).max(axis=1)
    length = (u**2).sum() + (below**2).sum()
    gap = length / 2 + C * np.maximum(0, losses).sum() - fitted.dual_[-1]
    assert -1e-3 <= gap <= C * tol * len(y)  # a row within tol adds at most C tol to it


@pytest.mark.parametrize(("given_away", "left"), [(1 - 1.5e-12, 0.0), (1 + 1.5e-12, 0.0), (0.75, 0.25)])
def test_rounding_residue_of_a_thousand_duals_is_not_redistributed(given_away, left):
    flat = Taxonomy(np.array([-1, *[0] * 1000]), np.arange(1, 1001))
    block = empty_block(grow(from_taxonomy(flat, np.arange(1000)), "path", "tree", flat))
    block.members[:], block.beta[:] = np.arange(1000), given_away / 1000
    assert left_over(1.0, block, np.uint32(1000)) == pytest.approx(left)


@SHARED
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.1, 1.0, 10.0]))
def test_closed_form_duals_are_as_good_as_many_small_steps(data, seed, C):
    X, y = data(seed, n=40, n_features=8)
    order = np.random.default_rng(seed).permutation(40)
    at_once, reference = started(X, y, FLAT, C=C)
    step_by_step, _ = started(X, y, FLAT, C=C, kernels=hierarchical.TREE_KERNELS)
    for _ in range(2):
        for i in order:
            at_once.sweep(np.array([i]))
            step_by_step.duals = Rows(*(array.copy() for array in at_once.duals))
            step_by_step.weights = at_once.weights.copy()
            before = reference.dual(reference.beta(at_once))
            step_by_step.sweep(np.array([i]))  # a second run changes nothing
            assert reference.dual(reference.beta(step_by_step)) <= before + 1e-6 * max(1, before)


@pytest.mark.parametrize(("slack", "flat"), [(True, False), (False, False), (False, True)])
def test_an_index_and_a_matrix_give_the_same_weights(data, tree, slack, flat):
    X, y = data(1)
    dense, sparse = (
        started(X, y, FLAT if flat else tree, slack=slack, tolerance=0.001, sparse=kind)[0] for kind in (False, True)
    )
    for training in (dense, sparse):
        training.run(np.random.default_rng(0), 1000)
    found = as_edges(sparse.index(0.0))
    W = np.zeros(dense.weights.shape)
    W[found.features, found.classes] = found.weights
    assert_allclose(W, weights_of(dense), atol=2e-3)


def test_an_index_of_weights_grows_as_training_fills_it(data, tree):
    X, y = data(0)
    roomy, tight = (started(X, y, tree, tolerance=0.001, sparse=True)[0] for _ in range(2))
    tight.weights = empty_rows(X.shape[1], 2)
    for training in (roomy, tight):
        training.run(np.random.default_rng(0), 2000)
    assert tight.weights.classes.size > 2
    assert_array_equal(as_edges(tight.index(0.0)).weights, as_edges(roomy.index(0.0)).weights)


@pytest.mark.parametrize("sparse", [True, False])
def test_index_columns_follow_the_original_class_order(data, tree, sparse):
    X, y = data(4)
    training, reference = started(X, y, tree, sparse=sparse)
    training.run(np.random.default_rng(0), 1000)
    w = reference.w(reference.beta(training))
    found = as_edges(training.index(0.0))
    W = np.zeros((X.shape[1], 6))
    W[found.features, found.classes] = found.weights
    below = reference.L.T > 0
    sums = np.array([W[:, below[z]].sum(axis=1) for z in range(1, len(w))])
    assert_allclose(sums, w[1:], atol=1e-5)  # a node's vector is the sum of those of the classes below it


@pytest.mark.parametrize("flat", [True, False])
def test_an_empty_row_pays_its_largest_cost_and_changes_no_weight(data, tree, flat):
    X, y = data(2)
    training, reference = started(X, y, FLAT if flat else tree)
    training.run(np.random.default_rng(0), 5000)
    beta = reference.beta(training)
    empty = len(y) // 2
    dearest = reference.cost[y[empty]]
    assert beta[empty].sum() == pytest.approx(1.0)
    assert dearest[beta[empty] > 0].max() == dearest.max()


def test_arbitrary_costs_match_the_definition(data, tree):
    X, y = data(3)
    prices = tuple((float(z), 2.0 * z) for z in range(10))
    _, reference = started(X, y, tree, costs=prices)
    # class 0: nodes 1, 3; class 3: nodes 2, 6; class 1 at node 4: nodes 1, 4 and a new leaf below
    assert reference.cost[0, 3] == 1 + 3 + 2 * (2 + 6)
    assert reference.cost[3, 0] == 2 + 6 + 2 * (1 + 3)
    assert reference.cost[0, 1] == 3 + 2 * (4 + 4)
    assert np.all(np.diag(reference.cost) == 0)
