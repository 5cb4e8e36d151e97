"""The checks of learners: a good one passes whole; each check is failed, alone, by what it is there for."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from checking import answer_of, cases, failed
from harness import LearnerSpec
from harness.checks import Check, CheckFailed, NotApplicable, learner_checks

HERE = __name__


class Good:
    """Scores a class by the product of a row with the sum of the class's rows; has all that a learner may have."""

    def __init__(self, *, C=1.0, random_state=None):
        self.C = C
        self.random_state = random_state

    def get_params(self, deep=True):
        return {"C": self.C, "random_state": self.random_state}

    def set_params(self, **params):
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X, y, after_pass=None):
        y = csr_array(np.eye(y.max() + 1)[y]) if not issparse(y) else y
        self.classes_ = np.flatnonzero(np.asarray(y.sum(axis=0)).ravel())
        self.sums_ = np.asarray((y.T @ X).todense() if issparse(y.T @ X) else y.T @ X)[self.classes_] * self.C
        self.index_size_ = int(np.count_nonzero(self.sums_))
        self.index_bytes_ = self.sums_.nbytes
        if after_pass is not None:
            after_pass(1)
        return self

    def rank(self, X, k):
        scores = np.asarray(X @ self.sums_.T)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.pad(order, ((0, 0), (0, max(0, k - order.shape[1]))), constant_values=-1)

    def predict(self, X):
        return self.classes_[self.rank(X, 1)[:, 0]]

    def edges_touched(self, X):
        return 2.5


class IgnoresItsParameters(Good):
    def set_params(self, **params):
        self.C = 7.0
        return self


class HasNoParameters(Good):
    get_params = None


class CutsItsRanks(Good):
    def rank(self, X, k):
        return super().rank(X, min(k, 6))


class NeverLearns(Good):
    def rank(self, X, k):
        return np.zeros_like(super().rank(X, k)) + np.arange(k) if k <= len(self.classes_) else super().rank(X * 0, k)

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])


class PredictsOtherwise(Good):
    def predict(self, X):
        return self.classes_[self.rank(X, 2)[:, 1]]


class ChangesItsInput(Good):
    def rank(self, X, k):
        ranks = super().rank(X, k)
        X.data *= 2  # which no ranking of this learner notices
        return ranks


class ChangesItsInputInFit(Good):
    def fit(self, X, y, after_pass=None):
        super().fit(X, y, after_pass)
        X.data *= 2
        return self


class CountsItsFits(Good):
    """Every other fit ends otherwise: what an unseeded random choice does, made certain."""

    fits = itertools.count()

    def fit(self, X, y, after_pass=None):
        super().fit(X, y, after_pass)
        if next(self.fits) % 2:
            self.sums_[1] *= 1.5
        return self


class Remembers(Good):
    def fit(self, X, y, after_pass=None):
        before = getattr(self, "sums_", 0)
        super().fit(X, y, after_pass)
        self.sums_ = self.sums_ + 3 * before
        return self


class InventsClasses(Good):
    def fit(self, X, y, after_pass=None):
        super().fit(X, y, after_pass)
        seen, self.classes_ = self.classes_, np.arange(self.classes_.max() + 1)
        sums = np.zeros((len(self.classes_), X.shape[1]))
        sums[seen] = self.sums_
        self.sums_ = sums
        return self


class NeedsAFeature(Good):
    def rank(self, X, k):
        if X.nnz == 0:
            raise ValueError("nothing to go by")
        return super().rank(X, k)


class TakesOneLabel(Good):
    def fit(self, X, y, after_pass=None):
        if issparse(y):
            raise ValueError("one label a row, please")
        return super().fit(X, y, after_pass)


class OwesItsIndex(Good):
    def fit(self, X, y, after_pass=None):
        super().fit(X, y, after_pass)
        self.index_size_ = -1
        return self


class OwesItsBytes(Good):
    def fit(self, X, y, after_pass=None):
        super().fit(X, y, after_pass)
        self.index_bytes_ = -1
        return self


class TouchesNothingKnown(Good):
    def edges_touched(self, X):
        return float("nan")


class CountsFromZero(Good):
    def fit(self, X, y, after_pass=None):
        super().fit(X, y)
        if after_pass is not None:
            after_pass(0)
        return self


class TellsNoPass(Good):
    def fit(self, X, y, after_pass=None):
        return super().fit(X, y)


class Minimal:
    """The least that a learner must have."""

    def __init__(self):
        pass

    get_params, set_params = (lambda self, deep=True: {}), (lambda self: self)

    def fit(self, X, y):
        self.inner = Good().fit(X, y)

    def predict(self, X):
        return self.inner.predict(X)


def learner(name, **fields):
    return LearnerSpec(name="mine", load=f"{HERE}:{name}", supports=frozenset({"multilabel"}), **fields)


def test_a_good_learner_passes_every_check():
    assert failed(learner_checks(learner("Good"))) == set()
    for check in learner_checks(learner("Good")):
        check.run()  # and none of them is passed over


def test_a_minimal_learner_passes_every_check():
    assert failed(learner_checks(replace(learner("Minimal"), supports=frozenset()))) == set()


BAD_LEARNERS = {
    "names_its_parameters": [
        learner("Good", parameters={"C": 2.0, "random_state": None}),
        learner("Good", parameters={}),
    ],
    "has_get_params_and_set_params": [learner("IgnoresItsParameters"), learner("HasNoParameters")],
    "ranks_in_the_promised_shape": [learner("CutsItsRanks")],
    "learns_an_easy_problem": [learner("NeverLearns")],
    "predicts_what_it_ranks_first": [learner("PredictsOtherwise")],
    "leaves_its_input_alone": [learner("ChangesItsInput"), learner("ChangesItsInputInFit")],
    "gives_the_same_for_the_same_seed": [learner("CountsItsFits")],
    "forgets_when_fitted_again": [learner("Remembers")],
    "ranks_only_classes_it_has_seen": [learner("InventsClasses")],
    "takes_an_empty_row": [learner("NeedsAFeature")],
    "takes_several_labels_if_it_says_so": [learner("TakesOneLabel")],
    "measures_its_index": [learner("OwesItsIndex"), learner("OwesItsBytes"), learner("TouchesNothingKnown")],
    "tells_its_passes": [learner("CountsFromZero"), learner("TellsNoPass")],
}


@pytest.mark.parametrize(("check", "spec"), cases(BAD_LEARNERS))
def test_a_bad_learner_fails_exactly_the_check_that_is_there_for_it(check, spec):
    assert failed(learner_checks(spec)) == {check}


def test_every_check_of_a_learner_has_its_bad_learner():
    assert {check.name for check in learner_checks(learner("Good"))} == set(BAD_LEARNERS)


class OnlyDense(Good):
    def fit(self, X, y, after_pass=None):
        assert isinstance(X, np.ndarray)
        return super().fit(X, y, after_pass)

    def rank(self, X, k):
        assert isinstance(X, np.ndarray)
        return super().rank(X, k)


class WantsTree(Good):
    def fit(self, X, y, *, taxonomy):
        assert taxonomy.class_node.shape == (6,)
        return super().fit(X, y)


def test_a_learner_gets_the_data_in_the_form_it_needs():
    assert failed(learner_checks(learner("OnlyDense", needs=frozenset({"dense"})))) == set()
    assert failed(learner_checks(learner("WantsTree", needs=frozenset({"taxonomy"})))) == set()


def test_a_check_that_does_not_apply_passes_when_called_and_says_so_when_run():
    plain = replace(learner("Good"), supports=frozenset())
    (check,) = [check for check in learner_checks(plain) if check.name == "takes_several_labels_if_it_says_so"]
    assert str(check) == check.name
    check()
    with pytest.raises(NotApplicable, match="takes one label a row"):
        check.run()


def test_a_failure_says_what_to_do():
    (check,) = [c for c in learner_checks(learner("ChangesItsInput")) if c.name == "leaves_its_input_alone"]
    with pytest.raises(CheckFailed, match="ranking changed X: it must work on a copy"):
        check()
    assert isinstance(check, Check)


def test_as_a_job_a_check_answers_with_its_reason():
    assert answer_of("learner", learner("Good"), "learns_an_easy_problem") == {}
    assert "accuracy" in answer_of("learner", learner("NeverLearns"), "learns_an_easy_problem")["failed"]
    assert answer_of("learner", learner("Missing"), "tells_its_passes")["failed"].startswith("AttributeError")
