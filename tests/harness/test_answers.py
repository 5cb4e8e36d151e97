"""What a trial's process answered: checked before it is kept, since any code may have run there."""

import pytest

from harness.executors.base import JobEnd
from harness.host import discover
from harness.record import Circumstances, Measured, measured_as_plain
from harness.record_lines import from_line, to_line
from harness.recording import record_end
from harness.store import open_store, read_ranks, read_records
from runner_runs import run_all
from trial_runs import keep_in, texts, trial


@pytest.fixture(scope="module")
def catalog():
    return discover()


GOOD = measured_as_plain(Measured(status="ok", scores={"r1": 0.5}))


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
    "no status": {"scores": {"r1": 0.5}},
    "an unknown status": GOOD | {"status": "splendid"},
    "a status that is no text": GOOD | {"status": ["ok"]},
    "a text for a score": GOOD | {"scores": {"r1": "0.5"}},
    "a table for a score": GOOD | {"scores": {"r1": {}}},
    "scores in a list": GOOD | {"scores": [0.5]},
    "no scores": GOOD | {"scores": None},
    "a text for a count": GOOD | {"n_test": "60"},
    "half a row": GOOD | {"n_test": 60.5},
    "true for a count": GOOD | {"n_test": True},
    "a text for seconds": GOOD | {"fit_seconds": "1"},
    "a curve that is none": GOOD | {"curve": [{"passes": "one", "scores": {}}]},
    "a candidate that is none": GOOD | {"tuning": [3]},
    "a score that is no number": GOOD | {"scores": {"r1": float("nan")}},
    "a score without end": GOOD | {"scores": {"r1": float("inf")}},
    "more rows than there are": GOOD | {"n_test": 10**400},
    "a curve that leaves the page": GOOD | {"curve": [{"passes": 1, "scores": {"r1": float("-inf")}}]},
    "half a letter": GOOD | {"message": "\ud800"},
    "a message that is no text": GOOD | {"message": 3},
    "nested deeply": GOOD | {"scores": nested(900)},
    "nested more deeply than anybody can read": GOOD | {"tuned": {"C": nested(100_000)}},
}


@pytest.fixture(scope="module")
def a_trial(tmp_path_factory):
    return trial("first", keep_in(tmp_path_factory.mktemp("kept") / "texts", texts()))


@pytest.mark.parametrize("what", HOSTILE)
def test_an_answer_that_is_none_is_a_crash_and_the_record_says_so(a_trial, what):
    end = JobEnd("ok", answer=HOSTILE[what], blob=b"ranks", phase="measure", seconds=1.0, output="its last words")
    record = record_end(a_trial, end, Circumstances(total_seconds=1.0))
    assert (record.status, record.scores) == ("crash", {})
    assert record.message.startswith("what the trial answered cannot be used: ")
    assert record.output == "its last words"
    assert (record.key, record.label, record.total_seconds) == (a_trial.key, "first", 1.0)
    assert from_line(to_line(record)) == record


@pytest.mark.parametrize("depth", [50, 150, *range(185, 205), 500, 900])
def test_an_answer_that_is_deep_comes_back_from_its_line_or_is_a_crash(a_trial, depth):
    end = JobEnd("ok", answer=GOOD | {"tuned": {"C": nested(depth)}})
    record = record_end(a_trial, end, Circumstances())
    assert from_line(to_line(record)) == record


def test_texts_of_an_answer_are_cut_to_what_anybody_would_read(a_trial):
    long = "a" * 200_000
    answer = GOOD | {"message": f"{long}b", "traceback": f"b{long}", "warnings": [long] * 1000}
    record = record_end(a_trial, JobEnd("ok", answer=answer), Circumstances())
    assert (record.status, set(record.message + record.traceback)) == ("ok", {"a"})
    assert len(to_line(record)) < 2_000_000


def test_an_infinite_parameter_that_tuning_chose_is_no_bad_number(a_trial):
    answer = GOOD | {"tuned": {"C": float("inf")}}
    assert record_end(a_trial, JobEnd("ok", answer=answer), Circumstances()).tuned == {"C": float("inf")}


def test_an_answer_that_is_one_is_taken_as_it_is(a_trial):
    record = record_end(a_trial, JobEnd("ok", answer=GOOD, output="of no interest"), Circumstances(jobs=2))
    assert (record.status, record.scores, record.output, record.jobs) == ("ok", {"r1": 0.5}, "", 2)


@pytest.mark.parametrize("status", ["timeout", "memory", "crash"])
def test_a_process_that_gave_no_answer_leaves_how_it_ended(a_trial, status):
    end = JobEnd(status, message="killed during fit", phase="fit", output="last words")
    record = record_end(a_trial, end, Circumstances())
    assert (record.status, record.message, record.output) == (status, "killed during fit", "last words")


class Answering:
    """An executor whose every job gives the same answer."""

    def __init__(self, answer):
        self.answer = answer

    def prepare(self, workplace, on_slow=None): ...

    def run(self, jobs, *, at_once=1, on_phase=None):
        for job in jobs:
            on_phase(job, "start")
            yield job, JobEnd("ok", answer=self.answer, blob=b"no ranks at all")

    def close(self): ...


def test_the_ranks_of_an_answer_that_cannot_be_used_are_not_kept(tmp_path, catalog, a_trial):
    with open_store(tmp_path / "out") as store:
        run_all([a_trial], catalog, Answering([1, 2]), store)
    (record,) = read_records(tmp_path / "out")
    assert record.status == "crash"
    assert read_ranks(tmp_path / "out", a_trial.key) is None


def test_any_executor_will_do(tmp_path, catalog, a_trial):
    with open_store(tmp_path / "out") as store:
        run_all([a_trial], catalog, Answering(GOOD), store)
    (record,) = read_records(tmp_path / "out")
    assert (record.status, record.scores) == ("ok", {"r1": 0.5})
    assert read_ranks(tmp_path / "out", a_trial.key) == b"no ranks at all"


@pytest.mark.parametrize(
    ("clock", "fit", "total"),
    [
        (0.0, 0.0, 30.0),  # a clock that was stopped
        (40.0, 1.0, 1.0),  # one that runs ahead of the supervisor's
        (1.0, 5.0, 6.0),  # parts that take longer than the whole
    ],
)
def test_a_clock_that_does_not_go_as_the_supervisors_makes_an_error_of_the_trial(a_trial, clock, fit, total):
    end = JobEnd("ok", answer=GOOD | {"clock_seconds": clock, "fit_seconds": fit}, blob=b"ranks", seconds=total)
    record = record_end(a_trial, end, Circumstances(total_seconds=total))
    assert (record.status, record.scores, record.ranks_crc32) == ("error", {}, "")
    assert record.message.startswith("its clock cannot be trusted: ")
    assert f"{total:.3g} s by that of its supervisor" in record.message


def test_a_process_may_take_a_while_to_start_and_to_end(a_trial):
    end = JobEnd("ok", answer=GOOD | {"clock_seconds": 2.0, "fit_seconds": 1.9}, seconds=6.0)
    assert record_end(a_trial, end, Circumstances()).status == "ok"
