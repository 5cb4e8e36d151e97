"""Workers come and go: nothing is lost, nothing is counted twice, and a trial that takes its workers along is told."""

import os
import signal
import threading
import time

import pytest

from clusters import RealCluster, client_of, wait_until
from harness.cluster import attempts
from harness.cluster.calling import Caller, WorkerGone
from harness.errors import HarnessError
from job_runs import job


@pytest.fixture(scope="module")
def scheduler(marked, tmp_path_factory):
    """A cluster that has no workers between two tests."""
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
    """The cluster for a test that starts workers of its own, and kills some."""
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


def test_a_killed_workers_job_goes_to_one_that_joins_late(fresh, client, make_executor):
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


def test_a_job_that_takes_three_workers_along_is_a_crash_that_names_them_and_no_other_is(fresh, client, make_executor):
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
    assert crash.message.startswith("3 workers were lost with it: ")
    assert len(set(tried)) == 3
    assert all(name in crash.message for name in tried)
    assert crash.site.machine.id
    assert [end.status for _, end in ended].count("ok") == len(others)


def test_a_stopped_worker_gives_one_result_and_what_it_has_not_begun_goes_elsewhere(fresh, client, make_executor):
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


def test_what_comes_twice_or_too_late_of_one_attempt_is_heard_once(fresh, client, make_executor, monkeypatch):
    fresh.start("one")
    collect = attempts.Attempts._collect

    async def twice(self, key, future):
        self._tell(attempts.Answered("nobody's", b"of another run"))
        await collect(self, key, future)
        await collect(self, key, future)

    monkeypatch.setattr(attempts.Attempts, "_collect", twice)
    executor = make_executor(client)
    jobs = [job("answer", value=number) for number in range(4)]
    ended = list(executor.run(jobs))
    assert sorted(one.payload["value"] for one, _ in ended) == [0, 1, 2, 3]
    assert {end.status for _, end in ended} == {"ok"}


@pytest.fixture
def doomed(marked, tmp_path):
    """A cluster with a worker, of one test's own."""
    cluster = RealCluster(tmp_path / "cluster", env={"HARNESS_DATA_HOME": str(tmp_path / "home")})
    cluster.start("one")
    yield cluster
    cluster.close()


def test_a_scheduler_that_is_killed_ends_the_run_with_words(doomed, make_executor, marked, monkeypatch):
    monkeypatch.setattr("harness.cluster.lookout.PATIENCE_SECONDS", 2.0)
    executor = make_executor(client_of(doomed))
    ended = []

    def on_phase(_, phase, __):
        if phase == "working":
            doomed.scheduler.kill()

    def run_all():
        for one, _ in executor.run([job("answer", value=1), job("hang", timeout=None)], on_phase=on_phase):
            ended.append(one.target)

    with pytest.raises(HarnessError, match=r"scheduler at tcp://.* does not answer any more: what is done is kept"):
        run_all()
    assert ended == ["jobs:answer"]
    wait_until(lambda: not any("harness.executors" in what for what in marked.alive().values()), "jobs to end")


def test_a_worker_that_answers_nonsense_costs_one_job_and_is_named(fresh, client, make_executor, monkeypatch):
    fresh.start("one")
    monkeypatch.setattr(attempts, "run_order", os.strerror)  # it gives a text, whatever it is given: here an error
    executor = make_executor(client)
    monkeypatch.setattr(attempts, "_packed", lambda _: 2)
    ((_, end),) = executor.run([job("answer", value=1)])
    assert end.status == "crash"
    assert "reported cannot be read: expected bytes, got str" in end.message
    assert end.message.startswith("what worker one")


def test_a_worker_that_leaves_politely_hands_its_job_on(fresh, client, make_executor):
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


def test_a_worker_that_can_start_no_process_is_put_aside_and_costs_no_job(fresh, client, make_executor, tmp_path):
    (tmp_path / "breaking.py").write_text(BROKEN)
    fresh.start("broken", options=("--preload", str(tmp_path / "breaking.py")))
    fresh.start("sound")
    client.wait_for_workers(2, timeout=60)
    executor = make_executor(client)
    ends = [end for _, end in executor.run([job("sleep", seconds=0.5) for _ in range(4)])]
    assert [end.status for end in ends] == ["ok"] * 4
    assert {name_of(end.site) for end in ends} == {"sound"}
    assert any("Too many open files" in line and "broken" in line for line in executor.said)


def test_what_has_ended_is_given_back_before_the_run_breaks_off(fresh, client, make_executor, monkeypatch):
    fresh.start("only")
    client.wait_for_workers(1, timeout=60)
    executor = make_executor(client)

    def check():
        if executor._ended:
            raise HarnessError("the scheduler has gone")

    monkeypatch.setattr(executor._lookout, "check", check)
    running = executor.run([job("answer", value=1), job("hang")])
    _, end = next(running)
    assert end.answer == {"got": "1"}
    with pytest.raises(HarnessError, match="the scheduler has gone"):
        next(running)


def test_a_worker_that_is_not_there_is_told_without_reading_what_is_pickled(fresh, client):
    fresh.start("only")
    client.wait_for_workers(1, timeout=60)
    with pytest.raises(WorkerGone):
        Caller(client).call("tcp://127.0.0.1:9", os.getpid)


def test_a_trial_that_shared_its_machine_says_so_though_the_other_worker_has_gone(fresh, client, make_executor):
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
