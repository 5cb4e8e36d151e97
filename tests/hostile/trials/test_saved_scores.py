"""Scores saved with ranks, from any method of the learner; contract violations are named."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OutputCodeClassifier

from harness.errors import ContractError
from harness_index import OOZ
from harness_metrics.plugin import harness_metrics
from harness_prototype import PA, OVRPerceptron
from internals import (
    Entry,
    Ranking,
    first_scores,
    rank_positions,
    ranking_from_bytes,
    ranking_to_bytes,
)
from trial_runs import OWN, keep_in, run_here, texts, trial

DATA = texts()


def scores_of(learner, k=5, X=DATA.X):
    given, _ = rank_positions(learner, X, k)
    return first_scores(learner, X, given)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("learner", [PA(random_state=0), OOZ(), OVRPerceptron(random_state=0), LogisticRegression()])
def test_the_first_two_scores_are_saved_for_any_number_of_ranks(learner, k):
    learner.fit(DATA.X, DATA.y)
    scores = scores_of(learner, k)
    assert (scores.shape, scores.dtype) == ((240, 2), np.float32)
    assert (scores[:, 0] >= scores[:, 1]).all()
    assert len(np.unique(scores[:, 0] - scores[:, 1])) > 100
    assert np.array_equal(scores, scores_of(learner, 2))


def test_the_scores_equal_the_decision_function():
    learner = LogisticRegression().fit(DATA.X, DATA.y)
    expected = -np.sort(-learner.decision_function(DATA.X), axis=1)[:, :2]
    np.testing.assert_allclose(scores_of(learner), expected, rtol=1e-6)


def test_a_row_without_features_scores_zero():
    assert scores_of(PA(random_state=0).fit(DATA.X, DATA.y), X=csr_array(DATA.X.shape)[:1]).tolist() == [[0, 0]]


def test_a_learner_that_only_predicts_has_no_scores():
    learner = OutputCodeClassifier(LogisticRegression(), random_state=0).fit(DATA.X, DATA.y)
    assert scores_of(learner) is None


class Telling:
    """Ranks class 0 before 1 and returns given scores."""

    classes_ = np.arange(3)

    def __init__(self, scores_given):
        self.scores_given = scores_given

    def rank(self, X, k):
        return np.tile(np.arange(3, dtype=np.int32)[:k], (X.shape[0], 1))

    def scores(self, X, ranks):
        return self.scores_given


@pytest.mark.parametrize(
    ("scores_given", "complaint"),
    [
        (np.zeros((1, 3)), "shape"),
        (np.zeros((2, 2), np.int64), "int64"),
        (np.array([[0.0, np.nan], [0, 0]]), "NaN"),
        (np.array([[1.0, 0.0], [0.0, 0.5]]), "rise"),
    ],
)
def test_invalid_scores_are_named(scores_given, complaint):
    with pytest.raises(ContractError, match=complaint):
        scores_of(Telling(scores_given), X=DATA.X[:2])


@pytest.mark.parametrize("places", [None, np.ones((4, 3), np.int32)])
@pytest.mark.parametrize("scores", [None, np.ones((4, 2), np.float32)])
@pytest.mark.parametrize("confidence", [None, np.full(4, 0.5, np.float32)])
def test_saved_scores_round_trip(places, scores, confidence):
    ranking = Ranking(np.arange(12, dtype=np.int32).reshape(4, 3), places, 1, scores, confidence)
    again = ranking_from_bytes(ranking_to_bytes(ranking), 1)
    for name, value in vars(ranking).items():
        np.testing.assert_array_equal(getattr(again, name), value)


def test_a_truncated_file_is_rejected():
    with pytest.raises(ValueError, match=r"."):
        ranking_from_bytes(ranking_to_bytes(Ranking(np.zeros((4, 3), np.int32)))[:-5], None)


def test_confidence_is_calibrated_when_a_metric_needs_it(tmp_path):
    ece = next(spec for spec in harness_metrics() if spec.name == "ece")
    planned = trial("harness_prototype:PA", keep_in(tmp_path / "data", DATA), params={"random_state": 0})
    phases = []
    measured, ranking = run_here(planned, phases.append, metrics=[Entry(ece, OWN)], find_confidence=ece.confidence)
    assert phases[-1] == "calibrate"
    assert ranking.confidence.shape == (60,)
    assert ((ranking.confidence > 0) & (ranking.confidence <= 1)).all()
    assert 0 <= measured.scores["ece"] < 0.25
    without_metric, without = run_here(planned, phases.append, metrics=[Entry(ece, OWN)])
    assert without.confidence is None
    assert without_metric.scores == {"ece": None}
