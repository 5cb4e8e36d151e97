"""Scores of every built-in learner: finite, falling along a ranking, highest for the class that is predicted."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score, top_k_accuracy_score

from discovery_reports import BUILT_IN
from harness_prototype import PA
from harness_svm import LabelTree, TopDownSVM
from harness_tree import LOMtree, RandomTree
from internals import discover, import_target

DIGITS = load_digits(return_X_y=True)
SPECS = {
    entry.spec.name: entry.spec
    for entry in discover().learners
    if entry.origin.distribution == BUILT_IN
    and not entry.spec.environment
    and not entry.spec.load.startswith("harness_sklearn")
}


def fitted(name, X, y):
    spec = SPECS[name]
    wrapped = {"learner": PA()} if spec.wraps and name != "shortlist" and not spec.wraps_several else {}
    learner = import_target(spec.load)(**wrapped)
    if "taxonomy" in learner.get_params():
        learner.set_params(taxonomy="cluster")
    return learner.fit(X, y)


@pytest.fixture(scope="module")
def learners():
    X, y = DIGITS
    return {name: fitted(name, csr_array(X[:400]), y[:400]) for name in SPECS}


@pytest.mark.parametrize("name", SPECS)
def test_scores_are_finite_and_fall_along_a_ranking(learners, name):
    X = csr_array(DIGITS[0][400:500])
    ranks = learners[name].rank(X, 6)
    scores = learners[name].scores(X, ranks)
    assert scores.shape == ranks.shape
    assert np.isfinite(scores).all()
    assert (scores[ranks < 0] == 0).all()
    assert not ((scores[:, 1:] > scores[:, :-1]) & (ranks[:, 1:] >= 0)).any()
    assert len(np.unique(scores[:, 0])) > 1  # no constant shown as a score


@pytest.mark.parametrize("name", SPECS)
def test_the_class_with_the_highest_score_is_the_one_that_is_predicted(learners, name):
    X = csr_array(DIGITS[0][400:500])
    scores = learners[name].decision_function(X)
    assert scores.shape == (100, 10)
    assert (learners[name].classes_[scores.argmax(axis=1)] == learners[name].predict(X)).all()


@pytest.mark.parametrize("name", ["pa", "winnow", "hsvm", "label-tree", "lomtree", "committee"])
def test_for_two_classes_the_score_is_the_lead_of_the_second(name):
    X, y = DIGITS
    learner = fitted(name, X[:300], np.where(y[:300] > 4, "high", "low"))
    scores = learner.decision_function(X[300:400])
    assert scores.shape == (100,)
    assert (learner.classes_[(scores > 0).astype(int)] == learner.predict(X[300:400])).all()


@pytest.mark.parametrize("kind", [RandomTree, LOMtree])
def test_a_tree_of_yes_and_no_has_probabilities(kind):
    X, y = DIGITS
    tree = kind(random_state=0).fit(X[:600], y[:600])
    shares = tree.predict_proba(X[600:700])
    assert np.allclose(shares.sum(axis=1), 1)
    assert shares.min() >= 0
    assert (tree.classes_[shares.argmax(axis=1)] == tree.predict(X[600:700])).all()


def test_the_path_scores_of_a_tree_order_its_classes_as_the_search_does():
    X, y = DIGITS
    for tree in (RandomTree(random_state=0), LabelTree(random_state=0), TopDownSVM(taxonomy="cluster", random_state=0)):
        tree.fit(X[:600], y[:600])
        order = np.argsort(-tree.decision_function(X[600:700]), axis=1, kind="stable")
        assert (order == tree.rank(X[600:700], 10)).mean() > 0.98


def test_too_many_scores_are_refused_with_the_way_to_get_them(monkeypatch):
    X, y = DIGITS
    learner = PA(random_state=0).fit(X[:200], y[:200])
    monkeypatch.setattr("harness.sdk.classifier.MOST_SCORES", 99)
    with pytest.raises(ValueError, match=r"10 rows x 10 classes .* rank\(X, k\) and scores\(X, ranks\)"):
        learner.decision_function(X[:10])
    assert learner.decision_function(X[:9]).shape == (9, 10)


def test_scikit_learns_metrics_and_calibration_take_the_learners():
    X, y = DIGITS
    learner = PA(random_state=0).fit(X[:600], y[:600])
    assert top_k_accuracy_score(y[600:], learner.decision_function(X[600:]), k=3) > 0.9
    calibrated = CalibratedClassifierCV(RandomTree(random_state=0), cv=2).fit(X[:400], y[:400])
    assert roc_auc_score(y[400:600], calibrated.predict_proba(X[400:600]), multi_class="ovr") > 0.8
