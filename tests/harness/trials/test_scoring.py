"""Scores beside ranks: from whatever tells them, kept in the file of the ranks, and a broken promise is named."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from harness.errors import ContractError
from harness.metric import call_of
from harness.trials.outcome import Ranking
from harness.trials.rank_files import ranking_from_bytes, ranking_to_bytes
from harness.trials.ranking import rank_positions
from harness.trials.running import run_trial
from harness.trials.scoring import first_scores
from harness.trials.trial import TrialJob
from harness_index import OOZ
from harness_metrics.plugin import harness_metrics
from harness_prototype import PA, OVRPerceptron, Winnow
from trial_runs import keep_in, texts, trial

DATA = texts()


def scores_of(learner, k=5, X=DATA.X):
    given, _ = rank_positions(learner, X, k)
    return first_scores(learner, X, given)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("learner", [PA(random_state=0), OOZ(), OVRPerceptron(random_state=0), LogisticRegression()])
def test_the_first_two_scores_are_kept_however_many_ranks_were_asked_for(learner, k):
    learner.fit(DATA.X, DATA.y)
    scores = scores_of(learner, k)
    assert (scores.shape, scores.dtype) == ((240, 2), np.float32)
    assert (scores[:, 0] >= scores[:, 1]).all()
    assert len(np.unique(scores[:, 0] - scores[:, 1])) > 100
    assert np.array_equal(scores, scores_of(learner, 2))


def test_the_scores_are_those_of_the_decision_function():
    learner = LogisticRegression().fit(DATA.X, DATA.y)
    expected = -np.sort(-learner.decision_function(DATA.X), axis=1)[:, :2]
    np.testing.assert_allclose(scores_of(learner), expected, rtol=1e-6)


def test_a_row_without_a_feature_scores_nothing():
    assert scores_of(PA(random_state=0).fit(DATA.X, DATA.y), X=csr_array(DATA.X.shape)[:1]).tolist() == [[0, 0]]


def test_a_learner_that_scores_otherwise_than_by_its_index_tells_none():
    assert scores_of(Winnow(random_state=0).fit(DATA.X, DATA.y)) is None


class Telling:
    """Ranks class 0 before 1 and says what it was made to say of them."""

    classes_ = np.arange(3)

    def __init__(self, told):
        self.told = told

    def rank(self, X, k):
        return np.tile(np.arange(3, dtype=np.int32)[:k], (X.shape[0], 1))

    def scores(self, X, ranks):
        return self.told


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        (np.zeros((1, 3)), "shape"),
        (np.zeros((2, 2), np.int64), "int64"),
        (np.array([[0.0, np.nan], [0, 0]]), "NaN"),
        (np.array([[1.0, 0.0], [0.0, 0.5]]), "rise"),
    ],
)
def test_scores_that_break_the_promise_are_named(told, complaint):
    with pytest.raises(ContractError, match=complaint):
        scores_of(Telling(told), X=DATA.X[:2])


@pytest.mark.parametrize("places", [None, np.ones((4, 3), np.int32)])
@pytest.mark.parametrize("scores", [None, np.ones((4, 2), np.float32)])
@pytest.mark.parametrize("confidence", [None, np.full(4, 0.5, np.float32)])
def test_what_is_kept_beside_ranks_comes_back_as_it_was(places, scores, confidence):
    ranking = Ranking(np.arange(12, dtype=np.int32).reshape(4, 3), places, 1, scores, confidence)
    again = ranking_from_bytes(ranking_to_bytes(ranking), 1)
    for name, value in vars(ranking).items():
        np.testing.assert_array_equal(getattr(again, name), value)


def test_a_file_that_is_cut_off_is_refused():
    with pytest.raises(ValueError, match=r"."):
        ranking_from_bytes(ranking_to_bytes(Ranking(np.zeros((4, 3), np.int32)))[:-5], None)


def test_confidence_is_calibrated_where_a_metric_asks_for_it(tmp_path):
    ece = next(spec for spec in harness_metrics() if spec.name == "ece")
    asked = trial("harness_prototype:PA", keep_in(tmp_path / "data", DATA), params={"random_state": 0})
    phases = []
    job = TrialJob(trial=asked, metrics=(call_of(ece),), find_confidence=ece.confidence)
    measured, ranking = run_trial(job, phases.append)
    assert phases[-1] == "calibrate"
    assert ranking.confidence.shape == (60,)
    assert ((ranking.confidence > 0) & (ranking.confidence <= 1)).all()
    assert 0 <= measured.scores["ece"] < 0.25
    unasked, without = run_trial(TrialJob(trial=asked, metrics=(call_of(ece),)), phases.append)
    assert without.confidence is None
    assert unasked.scores == {"ece": None}
