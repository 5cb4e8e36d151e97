"""Learners built from a blueprint with fresh nested estimators, and the arguments of fit."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from harness import Taxonomy
from internals import Blueprint, TrainingPart, build_estimator, takes, taxonomy_argument, warm_up
from trial_runs import keep_in, texts, trial

SVC = Blueprint("sklearn.svm:LinearSVC", {"C": 0.5})
LOGISTIC = Blueprint("sklearn.linear_model:LogisticRegression", {})


def test_a_blueprint_becomes_the_estimator_with_its_parameters():
    learner = build_estimator(SVC)
    assert type(learner) is LinearSVC
    assert learner.C == 0.5


def test_nested_estimators_are_built_afresh_each_time():
    blueprint = Blueprint("sklearn.multiclass:OneVsRestClassifier", {"estimator": SVC})
    first, second = build_estimator(blueprint), build_estimator(blueprint)
    assert repr(first) == repr(OneVsRestClassifier(LinearSVC(C=0.5)))
    assert first.estimator is not second.estimator


def test_estimators_in_lists_and_tuples_are_built():
    members = [("a", SVC), ("b", LOGISTIC)]
    voting = build_estimator(Blueprint("sklearn.ensemble:VotingClassifier", {"estimators": members, "weights": (1, 2)}))
    wanted = VotingClassifier([("a", LinearSVC(C=0.5)), ("b", LogisticRegression())], weights=(1, 2))
    assert repr(voting) == repr(wanted)
    assert voting.weights == (1, 2)


def test_changing_parameters_leaves_the_original_blueprint():
    changed = SVC.with_params({"C": 2, "tol": 0.1})
    assert (dict(changed.params), changed.load) == ({"C": 2, "tol": 0.1}, SVC.load)
    assert dict(SVC.params) == {"C": 0.5}


def test_a_trial_survives_pickling(tmp_path):
    full = trial("sklearn.svm:LinearSVC", keep_in(tmp_path / "d", texts()), params={"C": (1, 2.5), "x": {1: None}})
    assert pickle.loads(pickle.dumps(full)) == full


class Plain:
    def fit(self, X, y): ...


class WithTree:
    def fit(self, X, y, *, taxonomy=None): ...


@pytest.mark.parametrize(
    ("learner", "wants", "given"),
    [(Plain(), False, False), (Plain(), True, True), (WithTree(), False, True), (WithTree(), True, True)],
)
def test_the_taxonomy_is_passed_to_learners_that_need_or_accept_it(learner, wants, given):
    tree = Taxonomy(np.array([-1, 0]), np.array([1]))
    assert taxonomy_argument(learner, tree, wanted=wants) == ({"taxonomy": tree} if given else {})
    assert taxonomy_argument(learner, None, wanted=wants) == {}


def test_the_arguments_of_fit_are_read_from_its_signature():
    assert takes(WithTree(), "taxonomy")
    assert not takes(Plain(), "taxonomy")


def test_a_warm_up_has_two_classes_even_if_the_first_rows_have_one():
    y = np.array([0] * 200 + [1] * 10)
    X = np.arange(420.0).reshape(210, 2)
    seen = []
    record_shapes(seen)
    warm_up(Blueprint(f"{__name__}:Recording", {}), TrainingPart(X, y))
    ((rows, classes),) = seen
    assert rows == 65
    assert classes == {0, 1}


def record_shapes(seen):
    """Make the class `Recording` append to this list."""
    import sys
    import types

    class Recording:
        def fit(self, X, y):
            seen.append((len(X), set(y.tolist())))
            self.classes_ = np.unique(y)

        def predict(self, X):
            return np.zeros(len(X), int)

    module = sys.modules.setdefault(__name__, types.ModuleType(__name__))
    module.Recording = Recording
