"""Each job has its own process: one report per job, and nothing is left running."""

import signal
import time

import pytest

from harness.errors import HarnessError
from internals import RESULT, pack
from job_runs import job, run
from messages import assert_names, naming


def test_a_job_returns_its_result_bytes_and_phases(shared, nothing_left):
    phases = []
    end = run(shared, "answer", phases=phases, value="x")
    assert (end.status, end.answer, end.blob) == ("ok", {"got": "'x'"}, b"some bytes")
    assert phases == ["start", "first", "second"]
    assert end.phase == "second"
    assert end.message == ""
    assert end.seconds > 0


@pytest.mark.parametrize("value", [{0: 1.5, 3: 2.0}, (1, 2), [None, True], {1, 2}, float("inf"), "é\n"])
def test_a_payload_arrives_unchanged(shared, value):
    assert run(shared, "answer", value=value).answer == {"got": repr(value)}


def test_a_payload_that_cannot_be_sent_is_an_error_that_names_the_job(shared):
    with pytest.raises(HarnessError, match=naming("jobs:answer")):
        run(shared, "answer", value=lambda: None)
    assert run(shared, "answer", value=1).status == "ok"  # and the executor works on


def test_a_job_that_raises_leaves_its_traceback_in_the_output(shared, nothing_left):
    end = run(shared, "fail")
    assert end.status == "crash"
    assert "during working" in end.message
    assert_names(end.output, "ValueError")
    assert end.answer is end.blob is None


def test_a_result_that_cannot_be_sent_is_reported_in_the_output(shared, nothing_left):
    end = run(shared, "answer_what_json_cannot_hold")
    assert end.status == "crash"
    assert "not JSON serializable" in end.output


@pytest.mark.parametrize("name", ["hang", "hang_holding_the_gil", "hang_in_a_regular_expression", "ignore_all_signals"])
def test_a_job_that_hangs_is_killed_at_its_time_limit(shared, nothing_left, name):
    start = time.monotonic()
    end = run(shared, name, timeout=2.0)
    assert end.status == "timeout"
    assert_names(end.message, "working", "2")
    assert end.seconds >= 2.0
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("tune", "fit", "ended"),
    [
        (3.0, 0.0, ("ok", "fit")),  # longer than the limit of the trial, and within that of tuning
        (0.0, 60.0, ("timeout", "fit")),  # time that tuning left is not given to the trial
        (60.0, 0.0, ("timeout", "tune 1/1")),
    ],
)
def test_tuning_and_the_trial_have_separate_limits(shared, nothing_left, tune, fit, ended):
    end = run(shared, "tune_and_fit", timeout=2.0, tuning_seconds=5.0, tune=tune, fit=fit)
    assert (end.status, end.phase) == ended
    if fit:
        assert end.seconds < 2.0 + 5.0
        assert_names(end.message, "2")


@pytest.mark.parametrize("code", [0, 3])
def test_a_job_that_exits_has_crashed_with_any_exit_code(shared, nothing_left, code):
    end = run(shared, "leave", code=code)
    assert end.status == "crash"
    assert_names(end.message, f"{code}", "working")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGRTMIN + 3])
def test_a_job_ended_by_a_signal_has_crashed_and_the_signal_is_named(shared, nothing_left, number):
    end = run(shared, "kill_itself", signal=int(number))
    assert end.status == "crash"
    named = signal.Signals(number).name if number in set(signal.Signals) else f"signal {int(number)}"
    assert end.message.startswith(f"ended by {named}")
    assert end.message.endswith("during working")


def test_a_job_with_a_segmentation_fault_has_crashed(shared, nothing_left):
    assert "SIGSEGV" in run(shared, "read_address_zero").message


def test_a_job_whose_supervisor_is_killed_has_crashed_and_is_removed(shared, nothing_left):
    end = run(shared, "kill_its_supervisor")
    assert end.status == "crash"
    assert "watched" in end.message


@pytest.mark.parametrize("name", ["grow", "grow_in_a_child", "grow_in_an_orphan"])
def test_the_memory_limit_covers_the_job_and_its_children(shared, nothing_left, name):
    end = run(shared, name, memory=300 * 2**20)
    assert end.status == "memory"
    assert end.message.startswith("killed during working: ")
    assert_names(end.message, "MB", "315")


def test_a_job_may_print_tens_of_megabytes(shared, nothing_left):
    end = run(shared, "print_much")
    assert end.status == "ok"
    assert end.output.endswith("the last line\n")
    assert "error text" in end.output
    assert len(end.output) < 100_000


def test_the_end_of_a_crashed_jobs_output_is_kept(shared, nothing_left):
    end = run(shared, "print_much_and_fail")
    assert end.status == "crash"
    assert end.output.endswith("the last line\n")


def test_output_that_is_no_text_is_harmless(shared, nothing_left):
    end = run(shared, "print_broken_text")
    assert end.status == "crash"
    assert "ABC" in end.output


@pytest.mark.parametrize(
    "name",
    [
        "leave_a_child",
        "leave_an_orphan_in_its_own_session",
        "leave_a_child_that_ignores_signals",
        "leave_a_command",
        "leave_a_child_that_forks_on",
        "leave_a_thread",
    ],
)
def test_processes_left_by_a_job_are_killed(shared, marked, name):
    known = set(marked.alive())
    assert run(shared, name).status == "ok"
    # The answer is in the host's hands a moment before the supervisor itself is gone, hence the wait.
    assert marked.left_behind(known) == {}


def test_processes_left_by_a_killed_job_are_killed(shared, nothing_left):
    end = run(shared, "leave_children_and_hang", timeout=5.0)
    assert (end.status, end.phase) == ("timeout", "left")


def test_a_child_that_continues_as_the_job_is_ignored(shared, nothing_left):
    for _ in range(5):
        phases = []
        end = run(shared, "answer_from_both_sides_of_a_fork", phases=phases)
        assert (end.status, end.answer) == ("ok", {"process": "parent"})
        assert end.blob == b"z" * 1_000_000
        assert phases == ["start", "parent"]


def test_a_job_that_closes_all_its_files_has_crashed(shared, nothing_left):
    assert run(shared, "close_all_files").status == "crash"


@pytest.mark.parametrize("name", ["replace_standard_output", "close_standard_output"])
def test_a_job_may_redirect_or_close_its_standard_output(shared, nothing_left, name):
    end = run(shared, name)
    assert (end.status, end.answer) == ("ok", {"done": True})


@pytest.mark.parametrize(
    "words",
    [
        "B\x40\x42\x0f\x00\x00\x00\x00\x00ten bytes.",  # the head of a million bytes, and ten of them
        "rubbish" * 5,
        "R\x03\x00\x00\x00\x00\x00\x00\x00{{{",
        "P\x02\x00\x00\x00\x00\x00\x00\x00\xff\xff",
        pack(RESULT, b"[" * 100_000 + b"]" * 100_000).decode("latin-1"),  # JSON, and deeper than anybody can read
    ],
    ids=["a frame cut short", "no frame", "no JSON", "no text", "JSON too deep"],
)
def test_invalid_data_on_the_pipe_costs_only_that_jobs_result(shared, nothing_left, words):
    ends = [end for _, end in shared.run([job("write_on_its_line_to_the_host", words=words), job("answer", value=1)])]
    assert [end.status for end in ends] == ["crash", "ok"]
    assert "during working" in ends[0].message


def test_a_long_job_within_its_limits_succeeds(shared, nothing_left):
    assert run(shared, "sleep", seconds=2.0, timeout=60.0, memory=2**30).status == "ok"


def test_the_given_number_of_jobs_runs_concurrently(shared, nothing_left):
    jobs = [job("sleep", seconds=1.5) for _ in range(6)]
    spans = [end.answer for _, end in shared.run(jobs, at_once=3)]
    most = max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)
    assert most == 3


def test_bad_jobs_do_not_affect_concurrent_good_ones(shared, nothing_left):
    bad = ["hang_holding_the_gil", "grow_in_a_child", "fail", "leave_a_child", "print_much_and_fail"]
    jobs = []
    for number, name in enumerate(bad):
        limit = 1.5 if "hang" in name else 60.0
        jobs += [job(name, timeout=limit, memory=300 * 2**20), job("answer", value=number)]
    ends = [(done.target, end) for done, end in shared.run(jobs, at_once=3)]
    assert len(ends) == len(jobs)
    assert sorted(end.answer["got"] for name, end in ends if name == "jobs:answer") == ["0", "1", "2", "3", "4"]
    assert {name: end.status for name, end in ends if name != "jobs:answer"} == {
        "jobs:hang_holding_the_gil": "timeout",
        "jobs:grow_in_a_child": "memory",
        "jobs:fail": "crash",
        "jobs:leave_a_child": "ok",
        "jobs:print_much_and_fail": "crash",
    }
