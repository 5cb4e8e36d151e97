"""Results of trials: the host checks what a trial's process returned, since any code may have run there."""

import io
from dataclasses import asdict, replace

import numpy as np
import pytest

from internals import (
    Circumstances,
    Costs,
    JobEnd,
    Measured,
    PointResult,
    Ranking,
    Scorer,
    TrialResult,
    discover,
    from_line,
    open_labelled,
    open_store,
    ranking_to_bytes,
    read_ranks,
    read_records,
    record_end,
    to_line,
)
from messages import assert_names
from runner_runs import run_all
from trial_runs import METRICS, keep_in, texts, trial


@pytest.fixture(scope="module")
def catalog():
    return discover()


RESULT = TrialResult(measured=Measured(status="ok", ranked_by="rank"))
GOOD = asdict(RESULT)
SCORER = Scorer([METRICS["r1"]])


def changed(changes):
    return {**GOOD, "measured": GOOD["measured"] | changes}


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


HOSTILE = {
    "nothing": None,
    "a list": [1, 2],
    "a text": "ok",
    "a number": 3,
    "an empty table": {},
    "no status": {"measured": {"scores": {"r1": 0.5}}},
    "points that are none": GOOD | {"points": [3]},
    "a point without costs": GOOD | {"points": [{"passes": 1, "n_bytes": 0}]},
    "a time that is not a number": GOOD | {"single_seconds": [float("nan")]},
    "a time below zero": GOOD | {"single_seconds": [-1.0]},
    "an unknown status": changed({"status": "splendid"}),
    "a status that is not a text": changed({"status": ["ok"]}),
    "a text for a score": changed({"scores": {"r1": "0.5"}}),
    "a table for a score": changed({"scores": {"r1": {}}}),
    "scores in a list": changed({"scores": [0.5]}),
    "no scores": changed({"scores": None}),
    "a text for a count": changed({"n_test": "60"}),
    "half a row": changed({"n_test": 60.5}),
    "true for a count": changed({"n_test": True}),
    "a text for seconds": changed({"fit_seconds": "1"}),
    "a curve that is none": changed({"curve": [{"passes": "one", "scores": {}}]}),
    "a candidate that is none": changed({"tuning": [3]}),
    "a score that is not a number": changed({"scores": {"r1": float("nan")}}),
    "a score without end": changed({"scores": {"r1": float("inf")}}),
    "more rows than there are": changed({"n_test": 10**400}),
    "a curve that leaves the page": changed({"curve": [{"passes": 1, "scores": {"r1": float("-inf")}}]}),
    "half a letter": changed({"message": "\ud800"}),
    "a message that is not a text": changed({"message": 3}),
    "nested deeply": changed({"scores": nested(900)}),
    "nested more deeply than anybody can read": changed({"tuned": {"C": nested(100_000)}}),
}


@pytest.fixture(scope="module")
def a_trial(tmp_path_factory):
    return trial("first", keep_in(tmp_path_factory.mktemp("kept") / "texts", texts()))


@pytest.fixture(scope="module")
def split(a_trial):
    return open_labelled(a_trial.data_folder, a_trial.split, a_trial.seed)


@pytest.fixture(scope="module")
def ranking(split):
    """The true class of each test row, and the others behind it."""
    others = (split.y_test[:, None] + np.arange(6)) % 6
    return Ranking(np.pad(others, ((0, 0), (0, 4)), constant_values=-1).astype(np.int32))


def record_of(a_trial, answer, blob=None, **end):
    return record_end(a_trial, JobEnd("ok", answer=answer, blob=blob, **end), Circumstances(), SCORER)


@pytest.mark.parametrize("what", HOSTILE)
def test_a_malformed_result_is_a_crash_and_the_record_says_so(a_trial, ranking, what):
    blob = ranking_to_bytes(ranking)
    end = JobEnd("ok", answer=HOSTILE[what], blob=blob, phase="measure", seconds=1.0, output="its last words")
    record, ranks = record_end(a_trial, end, Circumstances(total_seconds=1.0), SCORER)
    assert ranks is None
    assert (record.status, record.scores) == ("crash", {})
    assert_names(record.message, "trial")
    assert record.output == "its last words"
    assert (record.key, record.label, record.total_seconds) == (a_trial.key, "first", 1.0)
    assert from_line(to_line(record)) == record


@pytest.mark.parametrize("depth", [50, 150, *range(185, 205), 500, 900])
def test_a_nested_result_is_read_back_from_its_line_or_is_a_crash(a_trial, ranking, depth):
    record, _ = record_of(a_trial, changed({"tuned": {"C": nested(depth)}}), ranking_to_bytes(ranking))
    assert from_line(to_line(record)) == record


def test_long_texts_of_a_result_are_cut(a_trial):
    long = "a" * 200_000
    texts = {"message": f"{long}b", "traceback": f"b{long}", "warnings": [long] * 1000}
    record, _ = record_of(a_trial, changed({"status": "error", **texts}))
    assert (record.status, set(record.message + record.traceback)) == ("error", {"a"})
    assert len(to_line(record)) < 2_000_000


def test_an_infinite_parameter_that_tuning_chose_is_accepted(a_trial, ranking):
    record, _ = record_of(a_trial, changed({"tuned": {"C": float("inf")}}), ranking_to_bytes(ranking))
    assert record.tuned == {"C": float("inf")}


def test_a_result_is_scored_with_the_labels_of_the_host(a_trial, ranking):
    blob = ranking_to_bytes(ranking)
    claimed = changed({"scores": {"r1": 0.1}, "n_test": 1, "message": "claimed"})
    record, ranks = record_of(a_trial, claimed, blob, output="of no interest")
    assert (record.status, record.scores, record.output) == ("ok", {"r1": 1.0}, "")
    assert (record.n_test, record.message, ranks) == (60, "", blob)


def test_points_of_a_curve_are_scored_each_by_its_own_ranking(a_trial, ranking):
    wrong = replace(ranking, ranks=np.roll(ranking.ranks[:, :6], 1, axis=1))
    wrong = ranking_to_bytes(replace(wrong, ranks=np.pad(wrong.ranks, ((0, 0), (0, 4)), constant_values=-1)))
    right = ranking_to_bytes(ranking)
    costs = Costs(fit_seconds=1.0, fit_cpu_seconds=1.0, rank_seconds=1.0)
    points = tuple(PointResult(passes=n + 1, costs=costs, n_bytes=len(b)) for n, b in enumerate((wrong, right)))
    answer = asdict(replace(RESULT, points=points))
    record, ranks = record_of(a_trial, answer, right + wrong + right)
    assert [(point.passes, point.scores["r1"]) for point in record.curve] == [(1, 0.0), (2, 1.0)]
    assert ranks == right
    assert record_of(a_trial, answer, right)[0].status == "crash"


def spoilt(ranking):
    """Bytes in the place of a ranking that no learner could have given."""
    ranks = ranking.ranks
    huge = io.BytesIO()
    np.lib.format.write_array_header_1_0(huge, {"descr": "<i4", "fortran_order": False, "shape": (10**9, 10**3)})
    too_good = np.where(ranks >= 0, 1, 0).astype(np.int32)
    return {
        "nothing": b"",
        "text": b"ranks",
        "too few rows": ranking_to_bytes(Ranking(ranks[:-1])),
        "too many columns": ranking_to_bytes(Ranking(np.pad(ranks, ((0, 0), (0, 1)), constant_values=-1))),
        "a class that is not there": ranking_to_bytes(Ranking(np.where(ranks == 5, 6, ranks))),
        "a class twice": ranking_to_bytes(Ranking(np.where(ranks == 5, 4, ranks))),
        "numbers that are not integers": ranking_to_bytes(Ranking(ranks.astype(float))),
        "places above the rank": ranking_to_bytes(Ranking(ranks, too_good)),
        "scores of another shape": ranking_to_bytes(Ranking(ranks, scores=np.ones((3, 2), np.float32))),
        "confidence that is not a number": ranking_to_bytes(Ranking(ranks, confidence=np.full(60, np.nan, np.float32))),
        "an array larger than its bytes": huge.getvalue(),
        "cut short": ranking_to_bytes(ranking)[:-5],
    }


@pytest.mark.parametrize("what", spoilt(Ranking(np.zeros((60, 10), np.int32))))
def test_a_malformed_ranking_is_a_crash(a_trial, ranking, what):
    record, ranks = record_of(a_trial, GOOD, spoilt(ranking)[what])
    assert (record.status, record.scores, ranks) == ("crash", {}, None)


@pytest.mark.parametrize("status", ["timeout", "memory", "crash"])
def test_a_process_without_a_result_leaves_how_it_ended(a_trial, status):
    end = JobEnd(status, message="killed during fit", phase="fit", output="last words")
    record, _ = record_end(a_trial, end, Circumstances(), SCORER)
    assert (record.status, record.message, record.output) == (status, "killed during fit", "last words")


class Returning:
    """An executor whose every job returns the same."""

    def __init__(self, answer, blob=b"no ranks at all"):
        self.answer, self.blob = answer, blob

    def prepare(self, workplace, on_slow=None): ...

    def run(self, jobs, *, at_once=1, on_phase=None):
        for job in jobs:
            on_phase(job, "start")
            yield job, JobEnd("ok", answer=self.answer, blob=self.blob)

    def close(self): ...


@pytest.mark.parametrize("answer", [[1, 2], GOOD])
def test_ranks_that_cannot_be_used_are_not_stored(tmp_path, catalog, a_trial, answer):
    with open_store(tmp_path / "out") as store:
        run_all([a_trial], catalog, Returning(answer), store)
    (record,) = read_records(tmp_path / "out")
    assert record.status == "crash"
    assert read_ranks(tmp_path / "out", a_trial.key) is None


def test_any_executor_can_run_trials(tmp_path, catalog, a_trial, ranking):
    blob = ranking_to_bytes(ranking)
    with open_store(tmp_path / "out") as store:
        run_all([a_trial], catalog, Returning(GOOD, blob), store)
    (record,) = read_records(tmp_path / "out")
    assert (record.status, record.scores["r1"]) == ("ok", 1.0)
    assert read_ranks(tmp_path / "out", a_trial.key) == blob


@pytest.mark.parametrize(
    ("clock", "fit", "total"),
    [
        (0.0, 0.0, 30.0),  # a clock that was stopped
        (40.0, 1.0, 1.0),  # a clock that runs ahead of the supervisor's
        (1.0, 5.0, 6.0),  # parts that take longer than the trial
    ],
)
def test_a_clock_that_disagrees_with_the_supervisors_is_an_error(a_trial, ranking, clock, fit, total):
    answer = changed({"clock_seconds": clock, "fit_seconds": fit})
    record, _ = record_of(a_trial, answer, ranking_to_bytes(ranking), seconds=total)
    assert (record.status, record.scores, record.ranks_crc32) == ("error", {}, "")
    assert_names(record.message, "clock")
    assert_names(record.message, f"{total:.3g}")


@pytest.mark.parametrize(
    ("clock", "fit", "total"),
    [
        (1.0, 0.5, 3.0),  # work that the clock of the process did not see
        (2.0, 1.0, 1.0),  # a clock that runs ahead of the supervisor's
        (1.0, 2.0, 2.0),  # a fit that takes longer than the trial
    ],
)
def test_cpu_time_that_disagrees_with_the_supervisors_is_an_error(a_trial, ranking, clock, fit, total):
    answer = changed({"clock_cpu_seconds": clock, "fit_cpu_seconds": fit})
    blob = ranking_to_bytes(ranking)
    assert record_of(a_trial, answer, blob)[0].status == "ok"  # a system that does not measure it
    record, _ = record_of(a_trial, answer, blob, cpu_seconds=total)
    assert (record.status, record.ranks_crc32) == ("error", "")
    assert_names(record.message, "CPU", f"{total:.3g}")


def test_a_process_may_take_a_while_to_start_and_to_end(a_trial, ranking):
    answer = changed({"clock_seconds": 2.0, "fit_seconds": 1.9})
    assert record_of(a_trial, answer, ranking_to_bytes(ranking), seconds=6.0)[0].status == "ok"
