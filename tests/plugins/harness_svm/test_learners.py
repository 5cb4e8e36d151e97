"""The support vector machines as classifiers: equal to liblinear, scikit-learn conventions, saving."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from harness import HarnessError, Taxonomy
from harness_prototype import OVRPerceptron
from harness_svm import HSVM, SVM, CrammerSinger, TopDownPerceptron, TopDownSVM
from messages import naming

FLAT = Taxonomy(np.array([-1, *[0] * 6]), np.arange(1, 7))
CHAIN = Taxonomy(np.array([-1, *[0] * 6, *range(1, 7)]), np.arange(7, 13))
TREES = [HSVM, TopDownSVM, TopDownPerceptron]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return (X / 16)[:600], y[:600]


def one_vs_rest_objective(X, y, W, bias, C, p):
    sign = np.where(y[:, np.newaxis] == np.arange(W.shape[1]), 1, -1)
    losses = np.maximum(0, 1 - sign * (X @ W + bias)) ** p
    return (W**2).sum() / 2 + (bias**2).sum() / 2 + C * losses.sum()


@pytest.mark.parametrize(("loss", "p"), [("hinge", 1), ("squared_hinge", 2)])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_the_objective_equals_liblinears(digits, weights, loss, p, C):
    X, y = digits
    theirs = LinearSVC(dual=True, C=C, loss=loss, tol=1e-5, max_iter=200_000, random_state=0).fit(X, y)
    ours = SVM(C=C, loss=loss, tol=1e-5, max_sweeps=100_000, random_state=0).fit(X, y)
    expected = one_vs_rest_objective(X, y, theirs.coef_.T, theirs.intercept_, C, p)
    assert one_vs_rest_objective(X, y, weights(ours), ours.base_, C, p) == pytest.approx(expected, rel=1e-4)


def crammer_singer_objective(X, y, W, C):
    scores = X @ W
    lead = scores[np.arange(len(y)), y][:, np.newaxis] - scores
    wrong = np.where(np.arange(W.shape[1]) == y[:, np.newaxis], 0, 1 - lead)
    return (W**2).sum() / 2 + C * np.maximum(0, wrong.max(axis=1)).sum()


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_the_objective_equals_liblinears_crammer_singer(digits, weights, C):
    X, y = digits
    same = {"C": C, "tol": 1e-4, "random_state": 0}
    theirs = LinearSVC(multi_class="crammer_singer", fit_intercept=False, max_iter=100_000, **same).fit(X, y)
    ours = CrammerSinger(max_sweeps=20_000, **same).fit(X, y)
    expected = crammer_singer_objective(X, y, theirs.coef_.T, C)
    assert crammer_singer_objective(X, y, weights(ours), C) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("taxonomy", [FLAT, CHAIN], ids=["flat tree", "chains"])
@pytest.mark.parametrize("rescaling", ["slack", "margin"])
def test_hsvm_on_a_flat_tree_is_crammer_singer(data, weights, taxonomy, rescaling):
    X, y = data()
    flat = CrammerSinger(C=1.0, tol=1e-4, max_sweeps=20_000, random_state=0).fit(X, y)
    same = {"C": 1.0, "tol": 1e-4, "max_sweeps": 20_000, "random_state": 0}
    tree = HSVM(rescaling=rescaling, costs="zero-one", **same).fit(X, y, taxonomy=taxonomy)
    length = 1 if taxonomy is FLAT else 2  # F = r * (number of nodes) * u, with r = 1 / sqrt(nodes)
    assert_allclose(weights(tree) * np.sqrt(length), weights(flat), atol=2e-3)
    assert (tree.predict(X) == flat.predict(X)).mean() > 0.99


@pytest.mark.parametrize(
    ("rescaling", "C", "a"),
    [("slack", 10.0, 1 / 2), ("margin", 10.0, 2 / 2), ("slack", 0.1, 2 * 0.1), ("margin", 0.1, 0.1)],
)
def test_a_cost_of_two_doubles_either_the_slack_penalty_or_the_margin(weights, rescaling, C, a):
    """Use two orthogonal rows and w_0 = a x_0 - a x_1 = -w_1.

    The lead of x_0 is 2 a; it should be 1, or the cost of 2.
    """
    two = Taxonomy(np.array([-1, 0, 0]), np.array([1, 2]))
    learner = HSVM(C=C, rescaling=rescaling, costs=(0.0, 2.0, 2.0), tol=1e-9)
    learner.fit(np.eye(2), [0, 1], taxonomy=two)
    assert_allclose(weights(learner), [[a, -a], [-a, a]], rtol=1e-6)


def test_hsvm_ranks_follow_the_scores_of_the_definition(data, weights, tree):
    X, y = data()
    learner = HSVM(random_state=0).fit(X, y, taxonomy=tree)
    t, S = learner.tree_, X.toarray().astype(float) @ weights(learner)
    paths = np.zeros((6, t.parent.size))
    for c in range(6):
        z = int(t.leaf[c])
        while z:
            paths[c, z], z = 1, int(t.parent[z])
    F = (S @ paths) * t.weight @ paths.T * t.scale
    ranked = learner.rank(X, 6)
    known = ranked[:, 0] >= 0
    assert known.sum() == len(y) - 1  # the empty row ranks nothing
    chosen = np.take_along_axis(F[known], ranked[known].astype(np.intp), axis=1)
    assert_allclose(chosen, -np.sort(-F[known], axis=1), atol=1e-5)


@pytest.mark.parametrize("learner", TREES)
def test_without_a_taxonomy_classes_are_clustered_with_a_warning(learner, data):
    X, y = data()
    with pytest.warns(UserWarning, match=naming("taxonomy=harness.Taxonomy", "cluster")):
        warned = learner(random_state=0).fit(X, y)
    assert (warned.rank(X, 3) == learner(taxonomy="cluster", random_state=0).fit(X, y).rank(X, 3)).all()


@pytest.mark.parametrize("learner", TREES)
def test_labels_that_are_not_class_positions_are_rejected(learner, data, tree):
    X, y = data()
    with pytest.raises(HarnessError, match=naming("y", "positions")):
        learner().fit(X, y + 3, taxonomy=tree)


def test_unseen_classes_are_ranked_on_request(data, tree):
    X, y = data()
    y = np.where(y == 2, 0, y)
    fitted = HSVM(unseen=True, random_state=0).fit(X, y, taxonomy=tree)
    assert_array_equal(fitted.classes_, np.arange(6))
    ranked = fitted.rank(X, 6)
    assert np.all(np.sort(ranked[ranked[:, 0] >= 0], axis=1) == np.arange(6))


def test_a_row_without_features_is_ranked_by_the_biases(data):
    X, y = data()
    fitted = SVM(random_state=0).fit(X, y)
    empty = csr_array((1, X.shape[1]), dtype=np.float32)
    assert_array_equal(fitted.rank(empty, 7)[0], [*np.argsort(-fitted.base_, kind="stable"), -1])


def test_several_labels_train_each_class_on_its_own_rows(data, weights):
    X, y = data()
    Y = np.zeros((len(y), 7), np.int8)
    Y[np.arange(len(y)), y] = 1
    several, single = SVM(tol=1e-5, random_state=0).fit(X, csr_array(Y)), SVM(tol=1e-5, random_state=0).fit(X, y)
    assert_allclose(weights(several)[:, :6], weights(single), atol=1e-3)
    assert np.isneginf(several.base_[6])  # the column without a row is ignored
    assert several.rank(X, 7).max() == 5


TOP_DOWN = pytest.mark.parametrize("learner", [TopDownSVM, TopDownPerceptron])


@TOP_DOWN
@pytest.mark.parametrize("source", [None, "cluster"])
def test_labels_and_a_one_label_indicator_give_the_same_tree(learner, source, data, tree):
    X, y = data()
    given = csr_array((np.ones(y.size, np.int8), (np.arange(y.size), y)), shape=(y.size, 6))
    one, other = (
        learner(taxonomy=source, random_state=0).fit(X, labels, taxonomy=None if source else tree)
        for labels in (y, given)
    )
    for part, same in zip(one.branches_, other.branches_, strict=True):
        assert_array_equal(part, same)


def test_a_bias_of_top_down_perceptrons_equals_a_constant_feature(data, tree):
    X, y = data()
    column = np.full((X.shape[0], 1), 2.0, np.float32)
    wide = csr_array(np.hstack([X.toarray(), column]))
    biased = TopDownPerceptron(members=3, bias=2.0, random_state=0).fit(X, y, taxonomy=tree)
    plain = TopDownPerceptron(members=3, random_state=0).fit(wide, y, taxonomy=tree)
    ranks = plain.rank(wide, 6)
    assert_array_equal(biased.rank(X, 6), ranks)
    assert_allclose(biased.scores(X, ranks), plain.scores(wide, ranks), atol=1e-4)


@pytest.mark.parametrize("learner", [OVRPerceptron(), TopDownPerceptron(taxonomy="cluster")], ids=repr)
def test_a_bias_makes_up_for_standardised_features(learner):
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit(X[:1400]).transform(X)
    with_bias = clone(learner).set_params(bias=1.0, random_state=0).fit(X[:1400], y[:1400])
    with pytest.warns(UserWarning, match="has no bias"):
        without = clone(learner).set_params(random_state=0).fit(X[:1400], y[:1400])
    assert with_bias.score(X[1400:], y[1400:]) > without.score(X[1400:], y[1400:]) + 0.1


def test_top_down_perceptrons_without_a_bias_warn_of_negative_values_at_the_line_of_fit(data, tree):
    X, y = data()
    with pytest.warns(
        UserWarning, match=r"^TopDownPerceptron has no bias, and .* negative: set bias=1.0, or"
    ) as caught:
        TopDownPerceptron(members=1, random_state=0).fit(X, y, taxonomy=tree)
    assert caught[0].filename == __file__


@TOP_DOWN
def test_each_node_learns_all_children_that_contain_a_label(learner, data, tree):
    X, y = data(n=300)
    Y = np.zeros((len(y), 6), np.int8)
    Y[np.arange(len(y)), y] = Y[np.arange(len(y)), (y + 2) % 6] = 1
    Y[7] = 0  # a row without a label
    fitted = learner(random_state=0).fit(X, csr_array(Y), taxonomy=tree)
    first = fitted.rank(X, 6)[:, 0]
    labelled = Y.any(axis=1) & (np.diff(X.indptr) > 0)
    assert Y[np.arange(len(y)), first][labelled].mean() > 0.8
    again = learner(random_state=0).fit(X[labelled], csr_array(Y[labelled]), taxonomy=tree)
    ranked = again.rank(X[labelled], 6)
    assert_array_equal(np.sort(ranked, axis=1), np.tile(np.arange(6), (len(ranked), 1)))


@TOP_DOWN
def test_a_class_without_rows_is_never_ranked(learner, data, tree):
    X, y = data()
    given = csr_array((np.ones(y.size, np.int8), (np.arange(y.size), y)), shape=(y.size, 6)).toarray()
    given[:, 4] = 0
    fitted = learner(random_state=0).fit(X, csr_array(given), taxonomy=tree)
    ranked = fitted.rank(X, 6)
    assert set(ranked.ravel()) == {-1, 0, 1, 2, 3, 5}


@TOP_DOWN
def test_labels_that_are_all_empty_are_rejected(learner, data, tree):
    X, y = data()
    with pytest.raises(HarnessError, match=naming("y", "label")):
        learner(random_state=0).fit(X, csr_array((y.size, 6), dtype=np.int8), taxonomy=tree)


@pytest.mark.parametrize("learner", [CrammerSinger(), HSVM()], ids=repr)
def test_a_trace_shows_an_increasing_dual_and_changes_no_weight(learner, data, tree, weights, tmp_path):
    X, y = data()
    given = {"taxonomy": tree} if isinstance(learner, HSVM) else {}
    settings = {"tol": 1e-4, "random_state": 0}
    plain = clone(learner).set_params(**settings).fit(X, y, **given)
    traced = clone(learner).set_params(trace=True, **settings).fit(X, y, **given)
    assert plain.dual_.size == 0
    assert traced.dual_.size == traced.sweeps_ == plain.sweeps_ > 1
    assert np.all(np.diff(traced.dual_) >= -1e-9)
    assert_array_equal(weights(plain), weights(traced))
    assert plain.support_share_ == traced.support_share_
    traced.save(tmp_path / "model")
    assert_array_equal(type(learner).load(tmp_path / "model").dual_, traced.dual_)


def test_the_dual_converges_to_the_primal_with_few_nonzero_duals(data, weights):
    X, y = data()
    fitted = CrammerSinger(C=1.0, tol=1e-6, max_sweeps=1000, trace=True, random_state=0).fit(X, y)
    W = weights(fitted)
    scores = X.toarray().astype(float) @ W
    own = scores[np.arange(len(y)), y]
    scores[np.arange(len(y)), y] = -np.inf
    primal = (W**2).sum() / 2 + np.maximum(0, 1 - own + scores.max(axis=1)).sum()
    assert fitted.dual_[-1] == pytest.approx(primal, rel=1e-3)
    violated = np.count_nonzero(1 - own + scores.max(axis=1) > -1e-6)
    assert 0 < fitted.support_share_ <= violated / len(y)


def test_weights_at_or_below_the_threshold_are_dropped(data, weights):
    X, y = data()
    for learner in (SVM, CrammerSinger):
        full, thin = (learner(prune=prune, random_state=0).fit(X, y) for prune in (0.0, 0.1))
        W = weights(full)
        assert_allclose(weights(thin), np.where(np.abs(W) > 0.1, W, 0), atol=1e-6)
        assert thin.index_size_ < full.index_size_


def test_no_large_dense_matrix_is_allocated(data, monkeypatch):
    from harness_svm import linear

    X, y = data()
    monkeypatch.setattr(linear, "LARGE_BYTES", 100)
    for learner in (SVM, CrammerSinger):
        fitted = learner(random_state=0).fit(X, y)
        assert fitted.prune_ == 0.01
        assert fitted.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("learner", "name", "value", "allowed"),
    [
        (SVM, "C", 0, "above 0"),
        (SVM, "loss", "log", "one of hinge"),
        (SVM, "prune", -1, "at least 0"),
        (CrammerSinger, "max_sweeps", 0, "at least 1"),
        (HSVM, "rescaling", "both", "one of slack"),
        (HSVM, "taxonomy", "random", "one of cluster"),
        (HSVM, "costs", "high", "tuple"),
        (TopDownPerceptron, "members", 0, "at least 1"),
        (TopDownPerceptron, "bias", -1.0, "at least 0"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(learner, name, value, allowed, data):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        learner(**{name: value}).fit(*data())


def test_attributes_or_costs_of_the_wrong_size_raise_an_error(data, tree):
    with pytest.raises(HarnessError, match=naming("3", "10")):
        HSVM(costs=(1.0, 2.0, 3.0)).fit(*data(), taxonomy=tree)


def test_a_learner_with_its_own_tree_needs_no_taxonomy():
    from internals import build, discover, resolve

    raw = {"learners": ["hsvm", "own=hsvm(taxonomy=cluster)"], "datasets": ["digits"]}
    given, own = resolve(build(raw, "test"), discover()).learners
    assert given.spec_with(given.ref.params).needs == {"taxonomy"}
    assert own.spec_with(own.ref.params).needs == set()


@pytest.mark.parametrize("kind", [TopDownSVM, TopDownPerceptron])
def test_edges_touched_averages_over_unknown_features_too(kind):
    two = Taxonomy(np.array([-1, 0, 0]), np.array([1, 2]))
    X = np.array([[1.0, 0.0], [-1.0, 0.0]])
    learner = kind(random_state=0).fit(X, [0, 1], taxonomy=two)
    known = learner.edges_touched(X)
    assert known > 0
    assert learner.edges_touched(np.column_stack([X[:, 0], [1.0, 1.0]])) == pytest.approx(known / 2)


@pytest.mark.parametrize("kind", [TopDownSVM, TopDownPerceptron])
def test_rows_without_features_touch_no_edges(kind):
    two = Taxonomy(np.array([-1, 0, 0]), np.array([1, 2]))
    learner = kind(random_state=0).fit(np.eye(2), [0, 1], taxonomy=two)
    assert learner.edges_touched(np.zeros((3, 2))) == 0.0


@pytest.mark.parametrize("kind", [SVM, CrammerSinger])
def test_a_class_with_a_single_row_is_ranked(kind):
    learner = kind(random_state=0).fit(np.eye(3)[[0, 1, 1, 2]], ["once", "twice", "twice", "last"])
    assert learner.predict(np.eye(3)).tolist() == ["once", "twice", "last"]


def test_a_file_with_a_leaf_beyond_its_nodes_is_rejected(tmp_path):
    two = Taxonomy(np.array([-1, 0, 0]), np.array([1, 2]))
    learner = HSVM(random_state=0).fit(np.eye(2), [0, 1], taxonomy=two)
    learner.save(tmp_path / "sound")
    HSVM.load(tmp_path / "sound")
    beyond = learner.tree_.leaf.copy()
    beyond[1] = learner.tree_.parent.size
    learner.tree_ = learner.tree_._replace(leaf=beyond)
    learner.save(tmp_path / "model")
    with pytest.raises(ValueError, match=naming("tree_")):
        HSVM.load(tmp_path / "model")
