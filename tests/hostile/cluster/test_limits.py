"""Jobs on workers have the same limits as local jobs, and their worker survives them."""

import os

import pytest

from internals import FORK_SERVER
from job_runs import job, run
from messages import naming

SEGFAULT = "read_address_zero"


@pytest.fixture
def shared(client, make_executor, marked):
    return make_executor(client)


def pids(client):
    return set(client.run(os.getpid).values())


def test_a_job_returns_the_same_as_locally(shared):
    end = run(shared, "answer", value=[1, "two"])
    assert (end.status, end.answer, end.blob) == ("ok", {"got": "[1, 'two']"}, b"some bytes")
    assert end.site.worker.partition(" ")[0] in ("one", "two")
    assert end.site.machine.processor
    assert end.site.versions["python"].count(".") == 2


def test_two_workers_run_concurrently_and_records_state_it(shared):
    list(shared.run([job("sleep", seconds=0) for _ in range(2)]))  # both are warm
    ends = [end for _, end in shared.run([job("sleep", seconds=1) for _ in range(2)])]
    (first_start, first_end), (second_start, second_end) = (end.answer for end in ends)
    assert max(first_start, second_start) < min(first_end, second_end)
    assert {end.site.worker.partition(" ")[0] for end in ends} == {"one", "two"}
    assert {end.site.at_once for end in ends} == {2}


@pytest.mark.parametrize(
    ("name", "status", "words", "limits"),
    [
        (SEGFAULT, "crash", "SIGSEGV", {}),
        ("leave", "crash", "exit code 3", {"code": 3}),
        ("hang_holding_the_gil", "timeout", "over the limit of 1 s", {"timeout": 1.0}),
        ("grow_in_an_orphan", "memory", "limit 200 MB", {"memory": 200_000_000}),
        ("fail", "crash", "exit code 70", {}),
    ],
)
def test_a_worker_survives_a_job_that_crashes_itself(shared, client, name, status, words, limits):
    before = pids(client)
    end = run(shared, name, **limits)
    assert (end.status, words in end.message) == (status, True), end.message
    assert pids(client) == before


def test_long_phases_are_reported_with_the_worker(shared):
    phases = []
    for _ in shared.run([job("hang", timeout=1.5)], on_phase=lambda _, phase, worker: phases.append((phase, worker))):
        pass
    assert [phase for phase, _ in phases] == ["start", "working"]
    assert {worker.partition(" ")[0] for _, worker in phases} <= {"one", "two"}


def test_nothing_of_a_job_is_left_when_the_run_is_aborted(shared, marked):
    known = set(marked.alive())

    class Stop(Exception):
        pass

    def on_phase(_, phase, __):
        if phase == "left":
            raise Stop

    with pytest.raises(Stop):
        list(shared.run([job("leave_children_and_hang", timeout=None)], on_phase=on_phase))
    servers = {pid for pid, what in marked.alive().items() if FORK_SERVER in what}
    assert marked.left_behind(known | servers, seconds=5) == {}


def test_a_job_that_cannot_be_pickled_is_rejected_with_its_name(shared):
    from harness.errors import HarnessError

    with pytest.raises(HarnessError, match=naming("jobs:answer")):
        run(shared, "answer", value=lambda: None)
