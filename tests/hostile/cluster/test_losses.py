"""Workers join and leave: no trial is lost or counted twice, and a trial that kills workers is reported."""

import os
import signal
import threading
import time

import pytest

from clusters import RealCluster, client_of, wait_until
from harness.errors import HarnessError
from internals import FORK_SERVER, Caller, Replied, TaskClient, WorkerGone, patch_internal
from job_runs import job
from messages import assert_names, naming


@pytest.fixture(scope="module")
def scheduler(marked, tmp_path_factory):
    """Start a cluster without workers between tests."""
    folder = tmp_path_factory.mktemp("cluster")
    cluster = RealCluster(folder, env={"HARNESS_DATA_HOME": str(folder / "home")})
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def client(scheduler):
    client = client_of(scheduler)
    yield client
    client.close()


@pytest.fixture
def fresh(scheduler, client):
    """Return the cluster for a test that starts and kills its own workers."""
    yield scheduler
    for name in list(scheduler.workers):
        scheduler.kill(name)
    wait_until(lambda: not client.nthreads(), "the workers to be gone")


def later(seconds, act, *arguments):
    timer = threading.Timer(seconds, act, arguments)
    timer.daemon = True
    timer.start()
    return timer


def name_of(site):
    return site.worker.partition(" ")[0]


def test_the_job_of_a_killed_worker_goes_to_one_that_joins_late(fresh, client, make_executor):
    fresh.start("first")
    executor = make_executor(client)
    killed = []

    def on_phase(_, phase, worker):
        if phase == "start" and not killed:
            killed.append(worker)
            fresh.start("second")
            later(0.5, fresh.kill, "first")

    jobs = [job("sleep", seconds=1.5), job("answer", value=1)]
    ends = {one.target: end for one, end in executor.run(jobs, on_phase=on_phase)}
    assert [end.status for end in ends.values()] == ["ok", "ok"]
    assert {name_of(end.site) for end in ends.values()} == {"second"}
    assert killed[0].startswith("first")


def test_a_job_that_kills_three_workers_is_a_crash_that_names_them(fresh, client, make_executor):
    names = ["one", "two", "three", "four"]
    fresh.start(*names)
    client.wait_for_workers(4, timeout=60)
    executor = make_executor(client)
    tried = []

    def on_phase(one, phase, worker):
        if phase == "start" and one.target == "jobs:hang":
            tried.append(worker.partition(" ")[0])
            later(0.3, fresh.kill, tried[-1])

    others = [job("sleep", seconds=0.1) for _ in range(20)]
    ended = list(executor.run([*others[:8], job("hang", timeout=None), *others[8:]], on_phase=on_phase))
    (crash,) = [end for one, end in ended if one.target == "jobs:hang"]
    assert crash.status == "crash"
    assert_names(crash.message, "3", "workers")
    assert len(set(tried)) == 3
    assert all(name in crash.message for name in tried)
    assert crash.site.machine.id
    assert [end.status for _, end in ended].count("ok") == len(others)


def test_a_stopped_worker_gives_one_result_and_its_waiting_job_goes_elsewhere(fresh, client, make_executor):
    fresh.start("one", "two")
    client.wait_for_workers(2, timeout=60)
    executor = make_executor(client)
    stopped = []
    started = []

    def on_phase(_, phase, worker):
        if phase == "start":
            started.append(worker.partition(" ")[0])
            if started.count("one") == 2 and not stopped:
                stopped.append(len(started))
                later(0.2, fresh.workers["one"].signal, signal.SIGSTOP)
                later(4, fresh.workers["one"].signal, signal.SIGCONT)

    jobs = [job("sleep", seconds=0.5, number=number) for number in range(8)]
    ended = list(executor.run(jobs, on_phase=on_phase))
    assert sorted(one.payload["number"] for one, _ in ended) == list(range(8))
    assert {end.status for _, end in ended} == {"ok"}
    assert stopped
    assert [name_of(end.site) for _, end in ended].count("one") == 2


def test_duplicate_or_late_results_of_one_attempt_are_ignored(fresh, client, make_executor, monkeypatch):
    fresh.start("one")
    collect = TaskClient._collect

    async def twice(self, key, future):
        self._report(Replied("nobody's", b"of another run"))
        await collect(self, key, future)
        await collect(self, key, future)

    monkeypatch.setattr(TaskClient, "_collect", twice)
    executor = make_executor(client)
    jobs = [job("answer", value=number) for number in range(4)]
    ended = list(executor.run(jobs))
    assert sorted(one.payload["value"] for one, _ in ended) == [0, 1, 2, 3]
    assert {end.status for _, end in ended} == {"ok"}


@pytest.fixture
def doomed(marked, tmp_path):
    """Start a cluster with one worker for a single test."""
    cluster = RealCluster(tmp_path / "cluster", env={"HARNESS_DATA_HOME": str(tmp_path / "home")})
    cluster.start("one")
    yield cluster
    cluster.close()


def test_a_killed_scheduler_ends_the_run_with_an_error(doomed, make_executor, marked, monkeypatch):
    patch_internal(monkeypatch, "LOST_SECONDS", 2.0)
    executor = make_executor(client_of(doomed))
    ended = []

    def on_phase(_, phase, __):
        if phase == "working":
            doomed.scheduler.kill()

    def run_all():
        for one, _ in executor.run([job("answer", value=1), job("hang", timeout=None)], on_phase=on_phase):
            ended.append(one.target)

    with pytest.raises(HarnessError, match=naming("tcp://")):
        run_all()
    assert ended == ["jobs:answer"]
    wait_until(lambda: not any(FORK_SERVER in what for what in marked.alive().values()), "jobs to end")


def test_an_invalid_result_fails_one_job_and_names_the_worker(fresh, client, make_executor, monkeypatch):
    fresh.start("one")
    patch_internal(monkeypatch, "queue.run_assignment", os.strerror)  # it returns text for any input: here an error
    executor = make_executor(client)
    patch_internal(monkeypatch, "queue._pack", lambda _: 2)
    ((_, end),) = executor.run([job("answer", value=1)])
    assert end.status == "crash"
    assert_names(end.message, "bytes", "str")
    assert "worker one" in end.message


def test_a_worker_that_leaves_orderly_returns_its_job(fresh, client, make_executor):
    fresh.start("one", "two")
    client.wait_for_workers(2, timeout=60)
    executor = make_executor(client)
    left = []

    def on_phase(_, phase, worker):
        if phase == "start" and not left:
            left.append(worker.partition(" ")[0])
            later(0.5, fresh.workers[left[0]].signal, signal.SIGTERM)

    started = time.monotonic()
    ((_, end),) = executor.run([job("sleep", seconds=3)], on_phase=on_phase)
    assert end.status == "ok"
    assert name_of(end.site) != left[0]
    assert time.monotonic() - started < 60


BROKEN = """import subprocess

class Popen(subprocess.Popen):
    def __init__(self, *words, **options):
        raise OSError(24, "Too many open files")

subprocess.Popen = Popen
"""


def test_a_worker_that_cannot_start_processes_is_excluded_without_losing_a_job(fresh, client, make_executor, tmp_path):
    (tmp_path / "breaking.py").write_text(BROKEN)
    fresh.start("broken", options=("--preload", str(tmp_path / "breaking.py")))
    fresh.start("sound")
    client.wait_for_workers(2, timeout=60)
    executor = make_executor(client)
    ends = [end for _, end in executor.run([job("sleep", seconds=0.5) for _ in range(4)])]
    assert [end.status for end in ends] == ["ok"] * 4
    assert {name_of(end.site) for end in ends} == {"sound"}
    assert any("Too many open files" in line and "broken" in line for line in executor.said)


def test_finished_results_are_returned_before_the_run_aborts(fresh, client, make_executor, monkeypatch):
    fresh.start("only")
    client.wait_for_workers(1, timeout=60)
    executor = make_executor(client)

    def check():
        if executor._ended:
            raise HarnessError("the scheduler has gone")

    monkeypatch.setattr(executor._monitor, "check", check)
    running = executor.run([job("answer", value=1), job("hang")])
    _, end = next(running)
    assert end.answer == {"got": "1"}
    with pytest.raises(HarnessError, match=naming("scheduler")):
        next(running)


def test_an_absent_worker_is_reported_without_unpickling(fresh, client):
    fresh.start("only")
    client.wait_for_workers(1, timeout=60)
    with pytest.raises(WorkerGone):
        Caller(client).call("tcp://127.0.0.1:9", os.getpid)


def test_a_trial_is_marked_as_shared_after_the_other_worker_has_left(fresh, client, make_executor):
    fresh.start("stays", "goes")
    client.wait_for_workers(2, timeout=60)
    executor = make_executor(client)
    begun = []

    def on_phase(_, phase, worker):
        if phase == "start":
            begun.append(worker.partition(" ")[0])
            if len(begun) == 2:
                later(0.5, fresh.kill, "goes")

    jobs = [job("sleep", seconds=3.0), job("sleep", seconds=3.0)]
    ends = [end for _, end in executor.run(jobs, on_phase=on_phase)]
    assert sorted(begun[:2]) == ["goes", "stays"]
    first = min(ends, key=lambda end: end.answer[0])
    assert (name_of(first.site), first.site.at_once) == ("stays", 2)
