"""scikit-learn's classifiers by short names: they keep the contract, and are what scikit-learn itself would give."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import linear_model, neighbors, svm

from harness.checks import learner_checks
from harness.checks.subject import Subject
from harness_peers import presets
from harness_peers.plugin import harness_learners
from problems import parts_of_prototypes

PRESETS = [spec for spec in harness_learners() if spec.load.startswith("harness_peers.presets:")]
EXCEPT = {
    ("dummy", "learns_an_easy_problem"): "it looks at no row",
    ("dummy", "takes_labels_of_any_kind"): "the check asks that it learns",
}
CHECKS = [(spec, check) for spec in PRESETS for check in learner_checks(spec)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("spec", "check"), CHECKS, ids=[f"{spec.name}-{check}" for spec, check in CHECKS])
def test_a_preset_keeps_the_contract(spec, check):
    if (spec.name, check.name) in EXCEPT:
        pytest.skip(EXCEPT[spec.name, check.name])
    check()


@pytest.mark.parametrize(
    ("preset", "original"),
    [
        (presets.LinearSVC(C=0.5, random_state=3), svm.LinearSVC(C=0.5, dual=True, random_state=3)),
        (
            presets.SGDHinge(random_state=3),
            linear_model.SGDClassifier(loss="hinge", max_iter=20, random_state=3),
        ),
        (
            presets.SGDLog(alpha=1e-3, random_state=3),
            linear_model.SGDClassifier(loss="log_loss", alpha=1e-3, max_iter=20, random_state=3),
        ),
        (presets.Centroid(), neighbors.NearestCentroid()),
        (
            presets.KNN(n_neighbors=3),
            neighbors.KNeighborsClassifier(n_neighbors=3, weights="distance", metric="cosine"),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_preset_predicts_what_the_original_predicts(preset, original):
    X, y = parts_of_prototypes(0, 200, n_classes=8)
    assert_array_equal(preset.fit(X, y).predict(X), original.fit(X, y).predict(X))


def test_centroids_rank_by_distance_and_so_the_first_is_the_one_chosen():
    X, y = parts_of_prototypes(0, 200, n_classes=8)
    learner = presets.Centroid().fit(X, y)
    distances = cdist(X.toarray(), learner.centroids_)
    scores = learner.decision_function(X)
    assert_array_equal(np.argsort(-scores, axis=1), np.argsort(distances, axis=1))
    assert_array_equal(learner.classes_[scores.argmax(axis=1)], learner.predict(X))


def test_the_dummy_ranks_classes_by_how_many_rows_they_have():
    (spec,) = [spec for spec in PRESETS if spec.name == "dummy"]
    learner = Subject(spec).build().fit(np.zeros((6, 2)), [2, 2, 2, 0, 0, 1])
    assert_array_equal(np.argsort(-learner.predict_proba(np.zeros((1, 2)))[0]), [2, 0, 1])


def test_threads_are_those_that_the_trial_allows(monkeypatch):
    X, y = parts_of_prototypes(0, 100, n_classes=4)
    for allowed, expected in (("3", 3), ("", 1), ("many", 1), ("0", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", allowed)
        assert presets.SGDHinge(random_state=0).fit(X, y).n_jobs == expected
