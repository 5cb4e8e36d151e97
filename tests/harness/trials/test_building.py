"""Learners as a trial makes them: from a blueprint, estimators inside it made afresh, and what fit is given."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from harness import Taxonomy
from harness.trials.blueprint import Blueprint, build_estimator
from harness.trials.building import extra_arguments, takes, warm_up
from harness.trials.parts import TrainingPart
from trial_runs import keep_in, texts, trial

SVC = Blueprint("sklearn.svm:LinearSVC", {"C": 0.5})
LOGISTIC = Blueprint("sklearn.linear_model:LogisticRegression", {})


def test_a_blueprint_becomes_the_estimator_with_its_parameters():
    learner = build_estimator(SVC)
    assert type(learner) is LinearSVC
    assert learner.C == 0.5


def test_estimators_inside_a_blueprint_are_built_too_and_each_time_afresh():
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


def test_a_blueprint_with_other_parameters_leaves_the_first_as_it_was():
    changed = SVC.with_params({"C": 2, "tol": 0.1})
    assert (dict(changed.params), changed.load) == ({"C": 2, "tol": 0.1}, SVC.load)
    assert dict(SVC.params) == {"C": 0.5}


def test_a_trial_travels_to_its_process_as_it_is(tmp_path):
    whole = trial("sklearn.svm:LinearSVC", keep_in(tmp_path / "d", texts()), params={"C": (1, 2.5), "x": {1: None}})
    assert pickle.loads(pickle.dumps(whole)) == whole


class Plain:
    def fit(self, X, y): ...


class WithTree:
    def fit(self, X, y, *, taxonomy=None): ...


@pytest.mark.parametrize(
    ("learner", "wants", "given"),
    [(Plain(), False, False), (Plain(), True, True), (WithTree(), False, True), (WithTree(), True, True)],
)
def test_the_class_tree_is_for_learners_that_want_or_take_it(tmp_path, learner, wants, given):
    tree = Taxonomy(np.array([-1, 0]), np.array([1]))
    one = trial("Ranking", keep_in(tmp_path / "d", texts()), wants_taxonomy=wants)
    assert extra_arguments(learner, one, tree) == ({"taxonomy": tree} if given else {})
    assert extra_arguments(learner, one, None) == {}


def test_what_fit_takes_is_read_from_its_signature():
    assert takes(WithTree(), "taxonomy")
    assert not takes(Plain(), "taxonomy")


def test_a_warm_up_has_two_classes_where_the_first_rows_have_one():
    y = np.array([0] * 200 + [1] * 10)
    X = np.arange(420.0).reshape(210, 2)
    seen = []
    record_shapes(seen)
    warm_up(Blueprint(f"{__name__}:Recording", {}), TrainingPart(X, y), {})
    ((rows, classes),) = seen
    assert rows == 65
    assert classes == {0, 1}


def record_shapes(seen):
    """Has `Recording`, imported by its name, write into this list."""
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
