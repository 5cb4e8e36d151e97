"""Contributions of features to scores, of every built-in learner that gives them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from built_in_learners import EVERY
from internals import share_along

LINEAR = [
    "ooz",
    "ema",
    "ff",
    "pa",
    "mmp",
    "perceptron",
    "winnow",
    "ovr-perceptron",
    "svm",
    "crammer-singer",
    "hsvm",
    "oaa",
]
ALONG_A_PATH = ["label-tree", "topdown-svm", "topdown-perceptron"]
N_FEATURES = 60
ROWS = st.lists(
    st.dictionaries(st.integers(0, N_FEATURES - 1), st.floats(0.125, 3, width=32), max_size=8), min_size=1, max_size=3
)


@pytest.fixture(scope="module")
def fitted():
    learners = {}
    for setup in EVERY:
        learner = setup.subject.fitted(setup.subject.problem())
        if hasattr(learner, "contributions"):
            learners[str(setup)] = learner
    return learners


def as_matrix(rows):
    dense = np.zeros((len(rows), N_FEATURES), np.float32)
    for number, row in enumerate(rows):
        dense[number, list(row)] = list(row.values())
    return csr_array(dense)


def test_linear_learners_and_class_trees_explain_their_scores(fitted):
    offered = {name.partition("(")[0] for name in fitted}
    assert offered >= {*LINEAR, *ALONG_A_PATH, "bounded-perceptron", "sparsify", "oversample", "batches"}


@settings(deadline=None)
@given(rows=ROWS, k=st.integers(1, 8))
def test_contributions_and_bias_add_up_to_the_score_of_each_ranked_class(fitted, rows, k):
    X = as_matrix(rows)
    for name, learner in fitted.items():
        ranks = learner.rank(X, k)
        parts, bias = learner.contributions(X, ranks)
        assert parts.shape == (ranks.size, N_FEATURES)
        sums = np.asarray(parts.sum(axis=1)).reshape(ranks.shape) + bias
        assert np.allclose(sums, learner.scores(X, ranks), rtol=1e-4, atol=1e-4), name
        assert (sums[ranks < 0] == 0).all(), name
        assert not parts.toarray()[:, X.toarray().sum(axis=0) == 0].any(), name


@pytest.mark.parametrize("name", LINEAR)
def test_without_a_feature_a_linear_learner_scores_less_by_its_contribution(fitted, name):
    learner = fitted[f"{name}()"]
    X = as_matrix([{3: 1.0, 7: 0.5, 14: 2.0, 33: 1.0, 51: 0.25}])
    ranks = learner.rank(X, 2)
    lead = learner.contributions(X, ranks).parts.toarray()
    lead = lead[0] - lead[1]
    every = np.arange(learner.classes_.size, dtype=np.int32)[np.newaxis]
    before = learner.scores(X, every)[0, ranks[0]]
    for feature in X.indices:
        less = X.toarray()
        less[0, feature] = 0
        after = learner.scores(csr_array(less), every)[0, ranks[0]]
        assert np.isclose(lead[feature], (before - after) @ [1, -1], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ALONG_A_PATH)
def test_a_tree_gives_a_part_to_features_that_decide_at_a_node_of_the_path(fitted, name):
    learner = fitted[f"{name}()"]
    X = as_matrix([dict.fromkeys(range(10, 14), 1.0)])  # typical features of class 1
    ranks = learner.rank(X, 2)
    parts = learner.contributions(X, ranks).parts.toarray()
    assert ranks[0, 0] == 1
    assert parts[0].sum() > 0
    assert parts[0].sum() > parts[1].sum()


def test_what_a_path_gains_is_shared_in_proportion_to_the_steps():
    steps, biases = np.array([[2.0, 0.0], [-1.0, 0.0], [0.0, 3.0]]), np.array([0.5, -1.0])
    parts, bias = share_along(steps, biases, np.tanh)
    assert np.isclose(bias, np.tanh(biases).sum())
    assert np.isclose(parts.sum() + bias, np.tanh(steps.sum(axis=0) + biases).sum())
    assert np.isclose(parts[0], -2 * parts[1])
    assert np.isclose(parts[2], np.tanh(2.0) - np.tanh(-1.0))


def test_steps_that_cancel_out_have_no_part():
    parts, bias = share_along(np.array([[1.0], [-1.0]]), np.array([0.25]), np.tanh)
    assert parts.tolist() == [0, 0]
    assert np.isclose(bias, np.tanh(0.25))
