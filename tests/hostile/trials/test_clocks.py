"""Clocks of prediction: each test row is predicted at most once on a clock, and all rows once for the metrics."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from internals import SYSTEM, Circumstances, Scorer, divide_rows, record_end
from messages import assert_names
from trial_runs import METRICS, end_of, job_of, keep_in, run_here, texts, trial

MODULE = '''
import numpy as np

CALLS = []


class Recording:
    """Ranks by position, and records the rows of each call: the sum of a row identifies it."""

    def __init__(self, *, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, *, after_pass=None):
        self.classes_ = np.unique(y)
        if X.shape[0] < 200:  # the warm-up
            return self
        for number in (1, 2, 3):
            CALLS.append(("pass", []))
            if after_pass:
                after_pass(number)
        return self

    def record(self, method, X):
        CALLS.append((method, [row.tobytes() for row in X.toarray()]))

    def predict(self, X):
        self.record("predict", X)
        return np.full(X.shape[0], self.classes_[0])

    def rank(self, X, k):
        self.record("rank", X)
        ranks = np.full((X.shape[0], k), -1, np.int32)
        ranks[:, 0] = 0
        return ranks
'''


@pytest.fixture
def recording(tmp_path, monkeypatch):
    (tmp_path / "recording_learner.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "recording_learner:Recording"
    sys.modules.pop("recording_learner", None)


@pytest.mark.parametrize("single", [False, True])
def test_no_test_row_is_predicted_twice_on_a_clock(tmp_path, recording, single):
    planned = trial(recording, keep_in(tmp_path / "data", texts(rows=400)), representation="raw")
    run_here(planned, metrics=[], time_single_rows=single)
    calls = [call for call in sys.modules["recording_learner"].CALLS if call[0] != "pass"]
    distinct = set(calls[-1][1])
    *timed, (last, rows) = calls
    assert (last, len(rows)) == ("rank", 100)
    seen = [row for method, called in timed for row in called if row in distinct]
    repeated = len(rows) - len(distinct)
    assert len(seen) - len(set(seen)) <= repeated
    assert {method for method, _ in timed} == {"predict", "rank"}


def test_a_few_training_rows_are_predicted_before_single_test_rows_are_timed(tmp_path, recording):
    planned = trial(recording, keep_in(tmp_path / "data", texts(rows=400)), representation="raw")
    run_here(planned, metrics=[], time_single_rows=True)
    calls = [call for call in sys.modules["recording_learner"].CALLS if call[0] != "pass"]
    test_rows = set(calls[-1][1])
    single = [rows[0] in test_rows for method, rows in calls if method == "predict" and len(rows) == 1]
    assert single[:3] == [False] * 3
    assert all(single[3:])
    assert len(single) > 3


def test_curves_are_drawn_after_all_clocks_and_time_no_row(tmp_path, recording):
    planned = trial(recording, keep_in(tmp_path / "data", texts(rows=400)), representation="raw")
    plain, _ = run_here(planned)
    first = list(sys.modules["recording_learner"].CALLS)
    sys.modules["recording_learner"].CALLS.clear()
    measured, _ = run_here(replace(planned, curves=True))
    calls = sys.modules["recording_learner"].CALLS
    # All calls of a trial without a curve come first; the curve is that of a second fit.
    assert [(method, len(rows)) for method, rows in calls[: len(first)]] == [(m, len(rows)) for m, rows in first]
    assert [(method, len(rows)) for method, rows in calls[len(first) :]] == [("pass", 0), ("rank", 100)] * 3
    assert [point.passes for point in measured.curve] == [1, 2, 3]
    assert measured.curve[-1].scores["r1"] == measured.scores["r1"] == plain.scores["r1"]
    assert [point.scores["rank"] for point in measured.curve] == [None] * 3
    assert 0 < measured.curve[0].scores["train"] <= measured.curve[-1].scores["train"] <= measured.scores["train"]


def record_of(executor, learner, header):
    """The record of a trial, and its end as the supervisor reports it."""
    planned = trial(learner, header)
    end = end_of(executor, job_of(planned))
    return record_end(planned, end, Circumstances(), Scorer([METRICS["r1"]]))[0], end


linux = pytest.mark.skipif(SYSTEM.NAME != "linux", reason="only Linux lets a supervisor adopt orphans")


@linux
@pytest.mark.parametrize("learner", ["Pooled", "CallsBinary"])
def test_cpu_time_of_threads_and_programs_agrees_with_the_supervisors(executor, single, learner):
    record, end = record_of(executor, learner, single)
    assert record.status == "ok", record.message
    assert 0.3 <= record.fit_cpu_seconds <= record.clock_cpu_seconds <= end.cpu_seconds + 0.05
    assert end.cpu_seconds <= 1.25 * record.clock_cpu_seconds + 1.0


def test_a_learner_that_sleeps_has_wall_time_and_no_cpu_time(executor, single):
    record, _ = record_of(executor, "Sleeping", single)
    assert record.status == "ok", record.message
    assert record.fit_seconds >= 0.5
    assert record.fit_cpu_seconds < 0.25


@linux
def test_work_in_a_process_that_is_no_descendant_is_an_error(executor, single):
    record, end = record_of(executor, "WorksElsewhere", single)
    assert end.cpu_seconds >= 2.0  # warm-up and fit, a second each
    assert record.status == "error"
    assert_names(record.message, "clock", "CPU", f"{end.cpu_seconds:.3g}")


@pytest.mark.parametrize("n_single", [0, 5, 1000])
@pytest.mark.parametrize("n_rows", [2, 3, 7, 100])
def test_the_rows_of_the_clocks_are_disjoint_and_complete(n_rows, n_single):
    timed = divide_rows(n_rows, n_single)
    together = np.concatenate([timed.predict, timed.rank, timed.single])
    assert sorted(together.tolist()) == list(range(n_rows))
    assert len(timed.single) <= n_rows // 3
