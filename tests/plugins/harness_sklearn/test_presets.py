"""Presets of scikit-learn classifiers satisfy the contract and predict as the original classes."""

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import linear_model, neighbors, svm
from sklearn.utils.validation import has_fit_parameter

from harness_sklearn import presets
from harness_sklearn.plugin import harness_learners
from internals import Subject, learner_checks, scikit_learn_checks
from messages import naming
from problems import parts_of_prototypes

PRESETS = harness_learners()
EXCEPT = {
    ("dummy", "learns_an_easy_problem"): "it looks at no row",
    ("dummy", "takes_labels_of_any_kind"): "the check asks that it learns",
}
CHECKS = [(spec, check) for spec in PRESETS for check in learner_checks(spec)]
SCIKIT_LEARN = [(spec, check) for spec in PRESETS for check in scikit_learn_checks(spec)]
WEIGHTED = {"complement-nb", "logistic", "centroid", "dummy"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("spec", "check"), CHECKS, ids=[f"{spec.name}-{check}" for spec, check in CHECKS])
def test_a_preset_satisfies_the_contract(spec, check):
    if (spec.name, check.name) in EXCEPT:
        pytest.skip(EXCEPT[spec.name, check.name])
    check()


@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks ignore most warnings of its own classes
@pytest.mark.parametrize(("spec", "check"), SCIKIT_LEARN, ids=[f"{spec.name}-{check}" for spec, check in SCIKIT_LEARN])
def test_a_preset_passes_scikit_learns_estimator_checks(spec, check):
    check()


def test_the_presets_whose_weights_equal_repeated_rows_take_sample_weight():
    taken = {spec.name for spec in PRESETS if has_fit_parameter(Subject(spec).build(), "sample_weight")}
    assert taken == WEIGHTED


@pytest.mark.parametrize("form", [lambda X: X, lambda X: X.toarray()], ids=["sparse", "dense"])
def test_weighted_class_means_are_those_of_the_definition(form):
    X, y = parts_of_prototypes(0, 60, n_classes=4)
    weights = np.random.default_rng(1).random(60) * (np.arange(60) % 7 > 0)
    learner = presets.Centroid().fit(form(X), y, sample_weight=weights)
    for place, c in enumerate(learner.classes_):
        expected = np.average(X.toarray()[y == c], axis=0, weights=weights[y == c])
        assert_allclose(learner.centroids_[place], expected, rtol=1e-6, atol=1e-9)


def test_a_row_of_weight_zero_is_missing_from_the_means_and_the_classes():
    X, y = parts_of_prototypes(0, 60, n_classes=4)
    kept = np.flatnonzero((y != 2) & (np.arange(60) % 3 > 0))
    weights = np.isin(np.arange(60), kept).astype(int)
    weighted, without = presets.Centroid().fit(X, y, weights), presets.Centroid().fit(X[kept], y[kept])
    assert_array_equal(weighted.classes_, without.classes_)
    assert_allclose(weighted.centroids_, without.centroids_, rtol=1e-6, atol=1e-9)
    assert_array_equal(weighted.predict(X), without.predict(X))


def test_weighted_means_keep_the_names_of_the_features():
    frame = pandas.DataFrame({"length": [1.0, 2.0, 8.0, 9.0], "width": [1.0, 0.0, 5.0, 6.0]})
    learner = presets.Centroid().fit(frame, [0, 0, 1, 1], sample_weight=[1, 2, 0, 1])
    assert list(learner.feature_names_in_) == ["length", "width"]


def test_weights_and_shrinking_raise_an_error():
    with pytest.raises(ValueError, match=naming("sample_weight", "shrink_threshold")):
        presets.Centroid(shrink_threshold=0.1).fit(np.eye(4), [0, 0, 1, 1], sample_weight=[1, 2, 1, 1])


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
