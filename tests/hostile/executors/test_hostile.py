"""Hostile jobs that attack their supervisor, their server, memory, or the host."""

import os
import resource
import signal
import threading
import time
from pathlib import Path

import pytest

from harness.errors import HarnessError
from internals import BLOB, RESULT, LocalExecutor, Workplace, pack, patch_internal
from job_runs import job, run
from messages import assert_names, naming

SHARED = Path("/dev/shm")


# -- the supervisor --------------------------------------------------------------------------------------------------


def test_a_stopped_supervisor_delays_the_host_no_longer_than_the_limit(shared, nothing_left, monkeypatch):
    patch_internal(monkeypatch, "GRACE_SECONDS", 0.5)
    end = run(shared, "stop_its_supervisor", timeout=3.0)
    assert end.status == "timeout"
    assert_names(end.message, "working", "3")
    assert end.seconds >= 3.5


def test_a_stopped_supervisor_is_detected_without_a_limit(shared, nothing_left, monkeypatch):
    patch_internal(monkeypatch, "GRACE_SECONDS", 0.5)
    patch_internal(monkeypatch, "LOOK_SECONDS", 0.1)
    end = run(shared, "stop_its_supervisor")
    assert (end.status, end.message) == ("crash", "killed during working: its supervisor had been stopped")
    assert end.seconds >= 0.5


def test_a_temporarily_stopped_supervisor_continues(shared, monkeypatch):
    patch_internal(monkeypatch, "LOOK_SECONDS", 0.1)
    end = run(shared, "stop_its_supervisor_for_a_while")
    assert end.status == "ok"


def test_closing_ends_a_stopped_supervisor_and_its_job(marked, folder, monkeypatch):
    patch_internal(monkeypatch, "CLOSE_SECONDS", 0.3)
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


def test_leftovers_of_a_job_that_killed_its_supervisor_are_removed(shared, marked):
    known = set(marked.alive())
    end = run(shared, "kill_its_supervisor_and_leave_an_orphan")
    assert (end.status, end.phase) == ("crash", "working")
    assert marked.left_behind(known) == {}


# -- the server ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.0, 0.3], ids=["before its first import", "among its imports"])
def test_a_server_killed_repeatedly_at_start_loses_no_job(marked, folder, nothing_left, seconds):
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
    patch_internal(monkeypatch, "BEGIN_SECONDS", 3.0)  # time enough for a new one on a busy machine
    with LocalExecutor(Workplace(path=(str(folder),))) as executor:
        run(executor, "answer", value=1)
        stopped = executor.server_pids()[0]
        os.kill(stopped, signal.SIGSTOP)
        assert run(executor, "answer", value=2).answer == {"got": "2"}
        assert executor.server_pids()[0] != stopped


def test_a_job_whose_server_is_killed_is_completed(marked, folder, nothing_left, tmp_path, monkeypatch):
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


def test_temporary_files_of_a_job_are_in_its_own_folder_and_are_removed(shared):
    places = [run(shared, "show_temporary_folder").answer for _ in range(2)]
    for folder, *variables in places:
        own = str(Path(folder).parent)
        assert variables == [own] * 3
        assert not Path(own).exists()
    assert places[0] != places[1]


def test_temporary_files_of_a_killed_job_are_removed(shared):
    end = run(shared, "show_temporary_folder", timeout=3.0, hang=True)
    assert end.status == "timeout"
    assert not Path(end.phase).parent.exists()


@pytest.mark.parametrize("preload", [(), ("json",)], ids=["the first server", "one of a group"])
def test_temporary_files_of_a_last_job_that_killed_its_supervisor_are_removed_on_close(
    marked, folder, nothing_left, tmp_path, monkeypatch, preload
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for _ in range(10):  # a race: the server must clean up before it has to exit
        with LocalExecutor(Workplace({"": preload}, path=(str(folder),))) as executor:
            assert run(executor, "kill_its_supervisor").status == "crash"
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("seconds", "limit", "status"), [(0.3, 60.0, "ok"), (60.0, 3.0, "timeout")])
def test_shared_memory_that_a_job_leaves_is_removed(shared, seconds, limit, status):
    end = run(shared, "leave_shared_memory", size=1_000_000, seconds=seconds, timeout=limit)
    assert end.status == status
    assert end.phase
    assert not (SHARED / end.phase).exists()


def test_shared_memory_created_until_the_kill_is_removed(shared):
    prefix = f"made-by-a-job-{os.getpid()}"
    end = run(shared, "keep_making_shared_memory", prefix=prefix, timeout=3.0)
    assert end.status == "timeout"
    assert list(SHARED.glob(f"{prefix}-*")) == []


def test_shared_memory_of_other_processes_is_kept(shared):
    others = SHARED / f"not-the-jobs-{os.getpid()}"
    try:
        for _, end in shared.run([job("sleep", seconds=0.3)], on_phase=lambda *_: others.write_bytes(b"mine")):
            assert end.status == "ok"
        assert others.read_bytes() == b"mine"
    finally:
        others.unlink()


def test_files_in_shared_memory_count_towards_the_limit(shared):
    name = f"written-by-a-job-{os.getpid()}"
    end = run(shared, "write_to_shared_memory", file=name, memory=150 * 2**20)
    assert end.status == "memory"
    assert not (SHARED / name).exists()


def test_shared_pages_count_once(shared):
    end = run(shared, "leave_shared_memory", size=100_000_000, seconds=0.5, memory=190 * 10**6)
    assert end.status == "ok"


# -- what it says ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "blob"), [(20_000_000, 0), (0, 20_000_000)])
def test_a_result_that_is_too_long_is_not_sent(shared, answer, blob):
    end = run(shared, "answer_at_length", answer=answer, blob=blob)
    assert end.status == "crash"
    assert_names(end.output, "16,777,216")


@pytest.mark.parametrize("tag", [RESULT, BLOB])
def test_a_frame_with_a_huge_declared_size_is_rejected_before_it_arrives(shared, tag):
    words = pack(tag, b"")[:1] + (2**40).to_bytes(8, "little") + b"x" * 1000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = run(shared, "write_on_its_line_to_the_host", words=words.decode("latin-1"))
    assert (end.status, end.answer) == ("crash", None)
    assert "1,099,511,627,776 bytes, more than 16,777,216" in end.message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_a_job_that_reports_endless_phases_is_ignored(shared):
    words = pack(b"P", b"again") * 11_000
    end = run(shared, "write_on_its_line_to_the_host", words=words.decode("latin-1"))
    assert "more than 10,000 phases" in end.message


def test_more_concurrent_jobs_than_file_descriptors_are_rejected(shared):
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.raises(HarnessError, match=naming("trials", "files")) as refused:
        list(shared.run([job("answer", value=1)], at_once=most))
    assert "ulimit -n" in refused.value.next_step
