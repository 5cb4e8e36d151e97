"""Operating system queries: Linux, and the plain POSIX version with fewer facts."""

import os
import signal
import subprocess
import sys
import time

import pytest

from command import run_harness
from internals import LocalExecutor, Workplace, choose_system, linux, posix, read_records
from job_runs import JOBS, run
from messages import assert_names

TREE = """
import subprocess, sys, time
kept = bytearray(30_000_000)
if sys.argv[1] != "0":
    below = subprocess.Popen([sys.executable, "-c", sys.argv[2], str(int(sys.argv[1]) - 1), sys.argv[2]])
print("there", flush=True)
time.sleep(1000)
"""


@pytest.fixture(scope="module")
def tree():
    """Start a process with a child and a grandchild of 30 MB each."""
    command = [sys.executable, "-c", TREE, "2", TREE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        for _ in range(3):
            assert process.stdout.readline() == "there\n"
        yield process.pid
        os.killpg(process.pid, 9)


@pytest.mark.parametrize(
    ("platform", "wanted", "chosen"),
    [("linux", None, linux), ("linux", "posix", posix), ("darwin", None, posix), ("freebsd14", None, posix)],
)
def test_the_platform_decides_unless_the_plain_version_is_requested(platform, wanted, chosen):
    assert choose_system(platform, wanted) is chosen


@pytest.mark.parametrize("system", [linux, posix], ids=["linux", "posix"])
def test_descendants_are_found_with_their_memory(tree, system):
    below = system.all_below(tree)
    assert len(below) == 2
    assert system.children_of(tree) == below[:1]
    assert 2 * 30_000_000 < system.resident_bytes(below) < 2 * 90_000_000
    assert 2 * 30_000_000 < system.own_bytes(below, 0) <= system.resident_bytes(below)
    assert system.own_bytes(below, 10**9) > 10**9
    assert system.all_below(below[1]) == []


MAPPING = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
sum(pages[::4096])
print("read", flush=True)
sys.stdin.read()
"""


def test_pages_of_a_mapped_file_do_not_count_where_distinguishable(tmp_path):
    file = tmp_path / "large"
    file.write_bytes(bytes(range(256)) * 400_000)
    command = [sys.executable, "-c", MAPPING, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "read\n"
        assert posix.resident_bytes([process.pid]) > 100_000_000
        assert 1_000_000 < linux.resident_bytes([process.pid]) < 50_000_000
        assert 1_000_000 < linux.own_bytes([process.pid], 0) < 50_000_000
        process.stdin.close()


WORKING = """
import time
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
print("worked", flush=True)
input()
"""


@pytest.mark.parametrize("system", [linux, posix], ids=["linux", "posix"])
def test_cpu_time_of_a_running_child_is_counted(system):
    before = system.cpu_seconds_below(os.getpid())
    command = [sys.executable, "-c", WORKING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "worked\n"
        assert 0.3 <= system.cpu_seconds_below(os.getpid()) - before + 0.02 < 10
        process.communicate("\n")


def test_both_versions_find_the_same_processes(tree):
    assert sorted(posix.all_below(tree)) == sorted(linux.all_below(tree))


def test_the_plain_version_finds_orphans_in_the_process_group(tmp_path):
    leader = "import subprocess, sys; subprocess.Popen(['sh', '-c', 'sleep 60 & echo $!']); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", leader], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        orphan = int(process.stdout.readline())
        time.sleep(0.1)  # until the shell between them has gone
        assert orphan in posix.all_below(process.pid)
        os.kill(orphan, 9)
        process.stdin.close()


@pytest.mark.parametrize("system", [linux, posix], ids=["linux", "posix"])
def test_a_stopped_process_is_distinguished_from_a_waiting_one(system):
    with subprocess.Popen(["sleep", "60"]) as process:
        assert not system.is_stopped(process.pid)
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        assert system.is_stopped(process.pid)
        process.kill()
    assert not system.is_stopped(process.pid)


def test_the_plain_version_returns_nothing_for_unknown_facts():
    assert (posix.reset_peak(), posix.read_peak(), posix.processor_ticks()) == (None, None, None)
    assert (posix.list_shared(), posix.held_shared([os.getpid()]), posix.size_shared(["x"])) == (set(), set(), 0)
    assert posix.count_threads() >= 1


def test_a_run_on_a_system_that_hides_no_folders_says_so_once(tmp_path):
    words = ("run", "--learners", "centroid,pa", "--datasets", "digits", "--trials", "2", "--out", "out")
    ended = run_harness(*words, cwd=tmp_path, env={"HARNESS_SYSTEM": "posix"})
    assert ended.returncode == 0, ended.stderr
    (note,) = [line for line in ended.stderr.splitlines() if "test labels" in line]
    assert_names(note, "note:", "data home", "SECURITY.md")
    (record, *_) = read_records(tmp_path / "out")
    assert record.total_cpu_seconds is None  # without adopted orphans, the supervisor does not know it


@pytest.fixture(scope="module")
def plain(marked, tmp_path_factory):
    """Return an executor that uses the plain version."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "jobs.py").write_text(JOBS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_SYSTEM", "posix")
        with LocalExecutor(Workplace(path=(str(folder),))) as executor:
            yield executor


@pytest.mark.parametrize(
    ("name", "limits", "status"),
    [
        ("answer", {"value": 1}, "ok"),
        ("leave_a_child", {}, "ok"),
        ("leave_a_child_that_ignores_signals", {}, "ok"),
        ("hang_holding_the_gil", {"timeout": 0.7}, "timeout"),
        ("grow_in_a_child", {"memory": 300 * 2**20}, "memory"),
        ("read_address_zero", {}, "crash"),
        ("fail", {}, "crash"),
    ],
)
def test_the_plain_version_enforces_limits_and_cleans_up_the_process_group(plain, marked, name, limits, status):
    known = set(marked.alive())
    assert run(plain, name, **limits).status == status
    assert marked.left_behind(known, seconds=3) == {}
