"""The shortlist: candidate scores and order by definition, groups, proposers, several labels, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron

from harness.sdk import Labels
from harness_index import FF
from harness_prototype import PA
from harness_shortlist import Shortlist
from harness_shortlist.class_groups import group_classes
from messages import naming
from problems import as_indicator, parts_of_prototypes
from shortlist_definition import as_matrix, worth

SHARED = settings(max_examples=10, deadline=None)


def by_definition(learner, X, k):
    """Return the scores of each row's candidates by class, computed from the definition."""
    W, bias = as_matrix(learner.weights_, learner.bias_, learner.n_features_in_)
    proposed = learner.proposer_.rank(X, max(learner.candidates, k))
    shares = {"group_share": learner.group_share, "prior": learner.prior}
    dense = X.toarray().astype(np.float64)
    return [worth(W, bias, learner.group_of_, x, row, **shares) for x, row in zip(dense, proposed, strict=True)]


@SHARED
@given(
    seed=st.integers(0, 2**32 - 1),
    candidates=st.sampled_from([1, 3, 8]),
    k=st.sampled_from([1, 2, 5, 12]),
    groups=st.sampled_from([None, 2, 5]),
)
def test_ranks_follow_the_candidate_scores_of_the_definition(seed, candidates, k, groups):
    X, y = parts_of_prototypes(seed, 150)
    settings = {"candidates": candidates, "group_classes": groups, "group_share": 0.7, "prior": 0.3, "random_state": 0}
    learner = Shortlist(**settings).fit(X, y)
    ranked = learner.rank(X, k)
    scores = learner.scores(X, ranked)
    for found, found_scores, values in zip(ranked, scores, by_definition(learner, X, k), strict=True):
        named = [int(c) for c in found if c >= 0]
        assert len(named) == len(set(named)) == min(k, len(values))
        assert np.all(found[len(named) :] == -1)
        assert np.all(found_scores[len(named) :] == 0)
        assert found_scores[: len(named)] == pytest.approx([values[c] for c in named], abs=1e-4)
        assert found_scores[: len(named)] == pytest.approx(
            sorted(values.values(), reverse=True)[: len(named)], abs=1e-4
        )


def test_a_class_that_was_not_proposed_ranks_after_all_candidates():
    X, y = parts_of_prototypes(0, 150)
    learner = Shortlist(candidates=2, group_classes=None, prior=0.5, random_state=0).fit(X, y)
    W, bias = as_matrix(learner.weights_, learner.bias_, learner.n_features_in_)
    proposed = learner.proposer_.rank(X[:1], 2)[0]
    other = next(c for c in range(12) if c not in proposed)
    expected = -(max(0, 1 - (W[other] @ X.toarray()[0] + bias[other])) ** 2) - 0.5 * np.log(3)
    assert learner.scores(X[:1], np.array([[other]], np.int32))[0, 0] == pytest.approx(expected, abs=1e-4)


@SHARED
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 60), most=st.sampled_from([2, 5, 16]))
def test_groups_contain_each_class_once_and_have_similar_size(seed, n_classes, most):
    X, y = parts_of_prototypes(seed, 200, n_classes=n_classes)
    y[:n_classes] = np.arange(n_classes)
    labels = Labels(np.arange(y.size + 1), y.astype(np.int32))
    sizes = np.bincount(group_classes(X, labels, n_classes, most, np.random.default_rng(seed)))
    assert sizes.sum() == n_classes
    assert sizes.min() >= 1
    assert sizes.max() <= most
    assert sizes.max() <= 2 * sizes.min() + 1


def test_classes_with_similar_rows_are_in_one_group():
    near = np.zeros((40, 8), np.float32)
    y = np.arange(40) % 8
    near[np.arange(40), y] = 0.5
    near[np.arange(40), (y // 4) * 4] += 1.0  # classes 0 to 3 share a feature, 4 to 7 another
    learner = Shortlist(group_classes=4, random_state=0).fit(near, y)
    assert len(set(learner.group_of_[:4])) == len(set(learner.group_of_[4:])) == 1
    assert set(learner.group_of_) == {8, 9}


def test_few_classes_are_not_grouped():
    X, y = parts_of_prototypes(0, 100)
    assert Shortlist(group_classes=12).fit(X, y).bias_.size == 12
    assert Shortlist(group_classes=11).fit(X, y).bias_.size == 14


@pytest.mark.parametrize("proposer", [FF(d=5), PA(passes=2), Perceptron()], ids=lambda one: type(one).__name__)
def test_any_learner_can_be_the_proposer(proposer):
    X, y = parts_of_prototypes(0, 800)
    learner = Shortlist(proposer, candidates=4, random_state=0).fit(X[:600], y[:600])
    assert type(learner.proposer_) is type(proposer)
    assert learner.score(X[600:], y[600:]) > 0.8
    assert hasattr(learner, "edges_touched") == hasattr(proposer, "edges_touched")


def test_the_shortlist_is_more_accurate_than_its_proposer():
    X, y = parts_of_prototypes(3, 1500, n_classes=30)
    learner = Shortlist(random_state=0).fit(X[:1000], y[:1000])
    assert learner.score(X[1000:], y[1000:]) > learner.proposer_.score(X[1000:], y[1000:])


def test_edges_touched_sums_proposer_and_evaluated_machines():
    X, y = parts_of_prototypes(0, 150)
    learner = Shortlist(candidates=3, group_classes=6, random_state=0).fit(X, y)
    W, _ = as_matrix(learner.weights_, learner.bias_, learner.n_features_in_)
    read = 0
    for i, row in enumerate(learner.proposer_.rank(X, 3)):
        classes = [c for c in row if c >= 0]
        classes_read = [*classes, *{int(learner.group_of_[c]) for c in classes}]
        read += np.count_nonzero(W[classes_read][:, X[[i]].indices])
    assert learner.edges_touched(X) == pytest.approx(learner.proposer_.edges_touched(X) + read / X.nnz)
    assert learner.index_size_ == learner.weights_.weights.size + learner.proposer_.index_size_
    assert learner.index_bytes_ > learner.proposer_.index_bytes_ + 8 * learner.weights_.weights.size


def test_labels_and_a_one_label_indicator_give_the_same_machines():
    X, y = parts_of_prototypes(0, 200)
    y[:12] = np.arange(12)
    one, several = (Shortlist(PA(), random_state=0).fit(X, target) for target in (y, as_indicator(y)))
    assert_array_equal(one.weights_.weights, several.weights_.weights)


def test_a_saved_shortlist_is_restored(tmp_path):
    X, y = parts_of_prototypes(0, 200)
    learner = Shortlist(FF(d=4), group_classes=5, random_state=0).fit(X, y)
    learner.save(tmp_path / "model")
    back = Shortlist.load(tmp_path / "model")
    assert_array_equal(back.rank(X, 5), learner.rank(X, 5))
    assert back.index_bytes_ == learner.index_bytes_
    assert back.proposer_.d == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights_", lambda learner: learner.weights_._replace(features=learner.weights_.features + np.uint32(30))),
        ("weights_", lambda learner: learner.weights_._replace(start=learner.weights_.start + 1)),
        ("group_of_", lambda learner: learner.group_of_ + np.uint32(10)),
        ("bias_", lambda learner: learner.bias_[1:]),
    ],
    ids=["features", "start", "groups", "bias"],
)
def test_a_file_with_positions_beyond_the_machines_is_rejected(tmp_path, name, value):
    X, y = parts_of_prototypes(0, 200)
    learner = Shortlist(group_classes=5, random_state=0).fit(X, y)
    setattr(learner, name, value(learner))
    learner.save(tmp_path / "model")
    with pytest.raises(ValueError, match="damaged"):
        Shortlist.load(tmp_path / "model")


def test_a_file_whose_proposer_has_other_classes_is_rejected(tmp_path):
    X, y = parts_of_prototypes(0, 200)
    learner = Shortlist(random_state=0).fit(X, y)
    learner.proposer_ = FF().fit(X, y + 1)
    learner.save(tmp_path / "model")
    with pytest.raises(ValueError, match=naming("proposer", "classes")):
        Shortlist.load(tmp_path / "model")


@pytest.mark.parametrize("learner", ["pa", 3, None])
def test_a_learner_that_cannot_rank_is_rejected_as_proposer(learner):
    X, y = parts_of_prototypes(0, 50)
    with pytest.raises(ValueError, match=naming(f"learner={learner!r}")):
        Shortlist(learner).fit(X, y)


def test_unconverged_machines_raise_a_warning():
    X, y = parts_of_prototypes(0, 100)
    with pytest.warns(ConvergenceWarning, match=naming("1", "within")):
        learner = Shortlist(max_sweeps=1, tol=1e-6).fit(X, y)
    assert np.all(learner.sweeps_ == 1)
