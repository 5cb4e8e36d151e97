"""Jobs that mean harm: to their supervisor, to their server, to the machine's memory, to the host's."""

import os
import resource
import signal
import threading
import time
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.executors import hearing
from harness.executors.base import Workplace
from harness.executors.frames import BLOB, RESULT, pack
from harness.executors.local import LocalExecutor
from job_runs import job, run

SHARED = Path("/dev/shm")


# -- the supervisor --------------------------------------------------------------------------------------------------


def test_a_stopped_supervisor_keeps_nobody_waiting_beyond_the_limit(shared, nothing_left, monkeypatch):
    monkeypatch.setattr(hearing, "GRACE_SECONDS", 0.5)
    end = run(shared, "stop_its_supervisor", timeout=3.0)
    assert end.status == "timeout"
    assert end.message == "killed during working: over the limit of 3 s, and its supervisor had been stopped"
    assert end.seconds >= 3.5


def test_a_stopped_supervisor_is_noticed_without_a_limit(shared, nothing_left, monkeypatch):
    monkeypatch.setattr(hearing, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr("harness.executors.local.LOOK_SECONDS", 0.1)
    end = run(shared, "stop_its_supervisor")
    assert (end.status, end.message) == ("crash", "killed during working: its supervisor had been stopped")
    assert end.seconds >= 0.5


def test_a_supervisor_that_was_stopped_for_a_while_goes_on(shared, monkeypatch):
    monkeypatch.setattr("harness.executors.local.LOOK_SECONDS", 0.1)
    end = run(shared, "stop_its_supervisor_for_a_while")
    assert end.status == "ok"


def test_closing_ends_a_stopped_supervisor_and_its_job(marked, folder, monkeypatch):
    monkeypatch.setattr("harness.executors.local.CLOSE_SECONDS", 0.3)
    known = set(marked.alive())
    executor = LocalExecutor(Workplace(path=(str(folder),)))
    executor.start()

    def stop_at_work(_, phase):
        if phase == "working":
            time.sleep(0.6)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(executor.run([job("stop_its_supervisor")], on_phase=stop_at_work))
    executor.close()
    assert marked.left_behind(known) == {}


def test_what_a_job_leaves_behind_that_killed_its_supervisor_is_gone(shared, marked):
    known = set(marked.alive())
    end = run(shared, "kill_its_supervisor_and_leave_an_orphan")
    assert (end.status, end.phase) == ("crash", "working")
    assert marked.left_behind(known) == {}


# -- the server ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.0, 0.3], ids=["before its first import", "among its imports"])
def test_a_server_killed_again_and_again_while_it_starts_costs_no_job(marked, folder, nothing_left, seconds):
    with LocalExecutor(Workplace({"": ("slow_enough",)}, path=(str(folder),))) as executor:
        (folder / "slow_enough.py").write_text("import time\ntime.sleep(0.5)\n")

        def kill_servers():
            for _ in range(5):
                time.sleep(seconds)
                for pid in executor.server_pids()[:1]:
                    os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_servers)
        killer.start()
        assert run(executor, "answer", value=1).status == "ok"
        killer.join()


def test_a_stopped_server_is_replaced(marked, folder, nothing_left, monkeypatch):
    monkeypatch.setattr(hearing, "BEGIN_SECONDS", 3.0)  # time enough for a new one on a busy machine
    with LocalExecutor(Workplace(path=(str(folder),))) as executor:
        run(executor, "answer", value=1)
        stopped = executor.server_pids()[0]
        os.kill(stopped, signal.SIGSTOP)
        assert run(executor, "answer", value=2).answer == {"got": "2"}
        assert executor.server_pids()[0] != stopped


def test_a_job_whose_server_is_killed_is_seen_through(marked, folder, nothing_left, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with LocalExecutor(Workplace({"": ("json",)}, path=(str(folder),))) as executor:
        run(executor, "answer", value=1)
        first, of_group = executor.server_pids()

        killer = threading.Timer(1.0, os.kill, (of_group, signal.SIGKILL))
        killer.start()
        end = run(executor, "sleep", seconds=3.0)
        started, ended = end.answer
        assert ended - started < end.seconds < 5.0  # the first time that it was run, not another
        assert list(tmp_path.iterdir()) == []
        assert run(executor, "answer", value=2).answer == {"got": "2"}
        assert executor.server_pids()[0] == first


# -- its files and its memory ----------------------------------------------------------------------------------------


def test_temporary_files_of_a_job_are_in_a_folder_of_its_own_which_goes_with_it(shared):
    places = [run(shared, "tell_place").answer for _ in range(2)]
    for folder, *variables in places:
        own = str(Path(folder).parent)
        assert variables == [own] * 3
        assert not Path(own).exists()
    assert places[0] != places[1]


def test_temporary_files_of_a_killed_job_go_with_it(shared):
    end = run(shared, "tell_place", timeout=3.0, hang=True)
    assert end.status == "timeout"
    assert not Path(end.phase).parent.exists()


@pytest.mark.parametrize("preload", [(), ("json",)], ids=["the first server", "one of a group"])
def test_temporary_files_of_a_last_job_that_killed_its_supervisor_are_gone_when_all_is_closed(
    marked, folder, nothing_left, tmp_path, monkeypatch, preload
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for _ in range(10):  # it is a race: the server has to clean up before it is told to leave
        with LocalExecutor(Workplace({"": preload}, path=(str(folder),))) as executor:
            assert run(executor, "kill_its_supervisor").status == "crash"
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("seconds", "limit", "status"), [(0.3, 60.0, "ok"), (60.0, 3.0, "timeout")])
def test_shared_memory_that_a_job_leaves_is_removed(shared, seconds, limit, status):
    end = run(shared, "leave_shared_memory", size=1_000_000, seconds=seconds, timeout=limit)
    assert end.status == status
    assert end.phase
    assert not (SHARED / end.phase).exists()


def test_shared_memory_that_a_job_makes_up_to_the_moment_it_is_killed_is_removed(shared):
    prefix = f"made-by-a-job-{os.getpid()}"
    end = run(shared, "keep_making_shared_memory", prefix=prefix, timeout=3.0)
    assert end.status == "timeout"
    assert list(SHARED.glob(f"{prefix}-*")) == []


def test_shared_memory_of_others_is_left_alone(shared):
    others = SHARED / f"not-the-jobs-{os.getpid()}"
    try:
        for _, end in shared.run([job("sleep", seconds=0.3)], on_phase=lambda *_: others.write_bytes(b"mine")):
            assert end.status == "ok"
        assert others.read_bytes() == b"mine"
    finally:
        others.unlink()


def test_what_is_written_to_shared_memory_counts_against_the_limit(shared):
    name = f"written-by-a-job-{os.getpid()}"
    end = run(shared, "write_to_shared_memory", file=name, memory=150 * 2**20)
    assert end.status == "memory"
    assert not (SHARED / name).exists()


def test_what_is_shared_counts_once(shared):
    end = run(shared, "leave_shared_memory", size=100_000_000, seconds=0.5, memory=190 * 10**6)
    assert end.status == "ok"


# -- what it says ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "blob"), [(20_000_000, 0), (0, 20_000_000)])
def test_an_answer_that_is_too_long_is_not_sent(shared, answer, blob):
    end = run(shared, "answer_at_length", answer=answer, blob=blob)
    assert end.status == "crash"
    assert "bytes is more than the 16,777,216 that are taken" in end.output


@pytest.mark.parametrize("tag", [RESULT, BLOB])
def test_a_frame_that_announces_too_much_is_refused_before_it_comes(shared, tag):
    words = pack(tag, b"")[:1] + (2**40).to_bytes(8, "little") + b"x" * 1000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = run(shared, "write_on_its_line_to_the_host", words=words.decode("latin-1"))
    assert (end.status, end.answer) == ("crash", None)
    assert "1,099,511,627,776 bytes, more than 16,777,216" in end.message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_a_job_that_tells_phases_without_end_is_not_listened_to(shared):
    words = pack(b"P", b"again") * 11_000
    end = run(shared, "write_on_its_line_to_the_host", words=words.decode("latin-1"))
    assert "more than 10,000 phases" in end.message


def test_more_jobs_at_once_than_files_are_refused(shared):
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.raises(HarnessError, match="trials at once need more open files than the") as refused:
        list(shared.run([job("answer", value=1)], at_once=most))
    assert "ulimit -n" in refused.value.next_step
