"""Presets of scikit-learn classifiers satisfy the contract and predict as the original classes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import linear_model, neighbors, svm

from harness_sklearn import presets
from harness_sklearn.plugin import harness_learners
from internals import Subject, learner_checks
from problems import parts_of_prototypes

PRESETS = harness_learners()
EXCEPT = {
    ("dummy", "learns_an_easy_problem"): "it looks at no row",
    ("dummy", "takes_labels_of_any_kind"): "the check asks that it learns",
}
CHECKS = [(spec, check) for spec in PRESETS for check in learner_checks(spec)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("spec", "check"), CHECKS, ids=[f"{spec.name}-{check}" for spec, check in CHECKS])
def test_a_preset_satisfies_the_contract(spec, check):
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
def test_a_preset_predicts_as_the_original_class(preset, original):
    X, y = parts_of_prototypes(0, 200, n_classes=8)
    assert_array_equal(preset.fit(X, y).predict(X), original.fit(X, y).predict(X))


def test_nearest_centroid_ranks_by_distance_and_predicts_the_first_rank():
    X, y = parts_of_prototypes(0, 200, n_classes=8)
    learner = presets.Centroid().fit(X, y)
    distances = cdist(X.toarray(), learner.centroids_)
    scores = learner.decision_function(X)
    assert_array_equal(np.argsort(-scores, axis=1), np.argsort(distances, axis=1))
    assert_array_equal(learner.classes_[scores.argmax(axis=1)], learner.predict(X))


def test_the_dummy_ranks_classes_by_frequency():
    (spec,) = [spec for spec in PRESETS if spec.name == "dummy"]
    learner = Subject(spec).build().fit(np.zeros((6, 2)), [2, 2, 2, 0, 0, 1])
    assert_array_equal(np.argsort(-learner.predict_proba(np.zeros((1, 2)))[0]), [2, 0, 1])


class Watched(presets.SGDHinge):
    """Keeps every value that `n_jobs` has had since training began."""

    def __setattr__(self, name, value):
        if name == "n_jobs" and hasattr(self, "seen"):
            self.seen.append(value)
        super().__setattr__(name, value)


def test_training_uses_the_threads_that_the_trial_allows_and_leaves_the_parameter_alone(monkeypatch):
    X, y = parts_of_prototypes(0, 100, n_classes=4)
    for allowed, expected in (("3", 3), ("", 1), ("many", 1), ("0", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", allowed)
        learner = Watched(random_state=0)
        learner.seen = []
        learner.fit(X, y)
        assert learner.seen == [expected, None]
        assert learner.n_jobs is None


def test_models_saved_under_the_old_module_names_load():
    from harness_peers import presets as former

    for spec in PRESETS:
        name = spec.load.partition(":")[2]
        assert getattr(former, name) is getattr(presets, name)
