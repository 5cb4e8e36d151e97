"""Each job has a process of its own: however it ends, one report comes back, and nothing of it is left running."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from harness.executors.local import Job, LocalExecutor

JOBS = textwrap.dedent(
    '''
    """Jobs for the tests: good ones and all kinds of bad ones."""

    import ctypes
    import os
    import re
    import signal
    import struct
    import subprocess
    import sys
    import threading
    import time


    def answer(payload, send):
        send("first")
        send("second")
        return {"got": repr(payload["value"])}, b"some bytes"


    def sleep(payload, send):
        start = time.monotonic()
        time.sleep(payload["seconds"])
        return [start, time.monotonic()], None


    def fail(payload, send):
        send("working")
        raise ValueError("it cannot be done")


    def answer_what_json_cannot_hold(payload, send):
        return {"a": object()}, None


    def hang(payload, send):
        send("working")
        while True:
            time.sleep(1)


    def hang_holding_the_gil(payload, send):
        send("working")
        ctypes.PyDLL(None).sleep(1000)


    def hang_in_a_regular_expression(payload, send):
        send("working")
        re.match("(a|aa)+$", "a" * 200 + "b")


    def ignore_all_signals(payload, send):
        send("working")
        for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                pass
        while True:
            time.sleep(1)


    def leave(payload, send):
        send("working")
        os._exit(payload["code"])


    def kill_itself(payload, send):
        send("working")
        os.kill(os.getpid(), payload["signal"])
        time.sleep(1000)


    def read_address_zero(payload, send):
        send("working")
        ctypes.string_at(0)


    def kill_its_keeper(payload, send):
        send("working")
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1000)


    def grow(payload=None, send=lambda phase: None):
        send("working")
        kept = []
        while True:
            kept.append(b"x" * 10_000_000)


    def grow_in_a_child(payload, send):
        send("working")
        if os.fork() == 0:
            grow()
        time.sleep(1000)


    def grow_in_an_orphan(payload, send):
        send("working")
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                grow()
            os._exit(0)
        os.wait()
        time.sleep(1000)


    def print_much(payload, send):
        line = "x" * 999
        for _ in range(30_000):
            print(line)
        print("error text", file=sys.stderr)
        print("the last line")
        return {}, None


    def print_much_and_fail(payload, send):
        print_much(payload, send)
        os._exit(1)


    def print_broken_text(payload, send):
        os.write(1, bytes(range(256)))
        os._exit(1)


    def leave_a_child(payload, send):
        if os.fork() == 0:
            time.sleep(1000)
        return {}, None


    def leave_an_orphan_in_its_own_session(payload, send):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(1000)
            os._exit(0)
        os.wait()
        return {}, None


    def leave_a_child_that_ignores_signals(payload, send):
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            time.sleep(1000)
        return {}, None


    def leave_a_command(payload, send):
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        return {}, None


    def leave_a_child_that_forks_on(payload, send):
        if os.fork() == 0:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                if os.fork():
                    time.sleep(0.002)
                    os._exit(0)
        return {}, None


    def leave_a_thread(payload, send):
        threading.Thread(target=time.sleep, args=(1000,)).start()
        return {}, None


    def leave_children_and_hang(payload, send):
        leave_an_orphan_in_its_own_session(payload, send)
        leave_a_child_that_ignores_signals(payload, send)
        leave_a_command(payload, send)
        send("left")
        time.sleep(1000)


    def answer_from_both_sides_of_a_fork(payload, send):
        child = os.fork()
        send("child" if child == 0 else "parent")
        return {"process": "child" if child == 0 else "parent"}, b"z" * 1_000_000


    def close_all_files(payload, send):
        send("working")
        os.closerange(0, 1000)
        return {}, None


    def replace_standard_output(payload, send):
        class Closed:
            def write(self, text):
                raise OSError("closed")

            flush = write

        sys.stdout = sys.stderr = Closed()
        return {"done": True}, None


    def close_standard_output(payload, send):
        sys.stdout.close()
        sys.stderr.close()
        os.close(1)
        os.close(2)
        return {"done": True}, None


    def write_on_its_line_to_the_host(payload, send):
        """Writes on every pipe that it finds open, but for standard output."""
        send("working")
        for number in os.listdir("/proc/self/fd"):
            if int(number) > 2:
                try:
                    if os.readlink(f"/proc/self/fd/{number}").startswith("pipe:"):
                        os.write(int(number), payload["words"].encode("latin-1"))
                except OSError:
                    pass
        return {}, None


    def count_threads(payload, send):
        return len(os.listdir("/proc/self/task")), None


    def tell_modules(payload, send):
        return [name for name in payload["names"] if name in sys.modules], None


    def tell_threads(payload, send):
        """What the pools say of themselves, and how many threads stand there once each has really worked."""
        from harness.trial import limit_threads, threads_in_force

        limit_threads(payload["threads"])
        import numpy as np

        import warm

        square = np.ones((600, 600))
        (square @ square).sum()
        total = warm.add_up(np.ones(100_000))
        return {
            "in_force": threads_in_force(),
            "total": float(total),
            "threads": len(os.listdir("/proc/self/task")),
            "omp_variable": os.environ["OMP_NUM_THREADS"],
        }, None
    '''
)

WARM = textwrap.dedent(
    '''
    """A module with a parallel loop, compiled when it is first called, as a learner's may be."""

    import numba
    import numpy
    import scipy.sparse
    import sklearn.linear_model
    import sklearn.naive_bayes


    @numba.njit(parallel=True, cache=True)
    def add_up(values):
        total = 0.0
        for i in numba.prange(values.size):
            total += values[i]
        return total
    '''
)
PRELOADED = ["harness.trial", "numpy", "scipy.sparse", "sklearn.linear_model", "harness_prototype.pa", "warm"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the jobs' modules."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "jobs.py").write_text(JOBS)
    (folder / "warm.py").write_text(WARM)
    return folder


@pytest.fixture(scope="module")
def shared(marked, folder):
    """One executor for the tests that do it no harm."""
    with LocalExecutor(path=[str(folder)]) as executor:
        run(executor, "answer", value=1)
        yield executor


@pytest.fixture
def nothing_left(marked):
    """After the test, nothing is alive that was not before."""
    known = set(marked.alive())
    yield
    assert marked.left_behind(known) == {}


def job(name, *, timeout=60.0, memory=None, **payload):
    return Job(f"jobs:{name}", payload, timeout, memory)


def run(executor, name, *, timeout=60.0, memory=None, phases=None, **payload):
    on_phase = None if phases is None else lambda _, phase: phases.append(phase)
    ((_, end),) = executor.run([job(name, timeout=timeout, memory=memory, **payload)], on_phase=on_phase)
    return end


def server_of(executor):
    """The process id of the executor's fork server, as the kernel tells it."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    (server,) = [int(pid) for pid in children if pid == str(executor._server.pid)]
    return server


# -- how a job ends --------------------------------------------------------------------------------------------------


def test_a_job_gives_its_answer_its_bytes_and_its_phases(shared, nothing_left):
    phases = []
    end = run(shared, "answer", phases=phases, value="x")
    assert (end.status, end.answer, end.blob) == ("ok", {"got": "'x'"}, b"some bytes")
    assert phases == ["start", "first", "second"]
    assert end.phase == "second"
    assert end.message == ""
    assert end.seconds > 0


@pytest.mark.parametrize("value", [{0: 1.5, 3: 2.0}, (1, 2), [None, True], {1, 2}, float("inf"), "é\n"])
def test_a_payload_arrives_as_it_was_sent(shared, value):
    assert run(shared, "answer", value=value).answer == {"got": repr(value)}


def test_a_job_that_raises_leaves_its_traceback_in_the_output(shared, nothing_left):
    end = run(shared, "fail")
    assert end.status == "crash"
    assert "during working" in end.message
    assert "ValueError: it cannot be done" in end.output
    assert end.answer is end.blob is None


def test_an_answer_that_cannot_be_sent_is_told_in_the_output(shared, nothing_left):
    end = run(shared, "answer_what_json_cannot_hold")
    assert end.status == "crash"
    assert "not JSON serializable" in end.output


@pytest.mark.parametrize("name", ["hang", "hang_holding_the_gil", "hang_in_a_regular_expression", "ignore_all_signals"])
def test_a_job_that_hangs_is_killed_at_its_time_limit(shared, nothing_left, name):
    start = time.monotonic()
    end = run(shared, name, timeout=0.7)
    assert end.status == "timeout"
    assert end.message == "killed during working: over the limit of 0.7 s"
    assert end.seconds >= 0.7
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("code", [0, 3])
def test_a_job_that_exits_by_itself_has_crashed_whatever_its_code(shared, nothing_left, code):
    end = run(shared, "leave", code=code)
    assert end.status == "crash"
    assert end.message == f"the process ended with exit code {code} during working and gave no result"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGRTMIN + 3])
def test_a_job_ended_by_a_signal_has_crashed_and_the_signal_is_named(shared, nothing_left, number):
    end = run(shared, "kill_itself", signal=int(number))
    assert end.status == "crash"
    named = signal.Signals(number).name if number in set(signal.Signals) else f"signal {int(number)}"
    assert end.message.startswith(f"ended by {named}")
    assert end.message.endswith("during working")


def test_a_job_that_reads_where_nothing_is_has_crashed(shared, nothing_left):
    assert "SIGSEGV" in run(shared, "read_address_zero").message


def test_a_job_whose_keeper_is_killed_has_crashed_and_is_gone(shared, nothing_left):
    end = run(shared, "kill_its_keeper")
    assert end.status == "crash"
    assert "watched" in end.message


@pytest.mark.parametrize("name", ["grow", "grow_in_a_child", "grow_in_an_orphan"])
def test_memory_is_limited_for_the_job_and_all_that_it_starts(shared, nothing_left, name):
    end = run(shared, name, memory=300 * 2**20)
    assert end.status == "memory"
    assert end.message.startswith("killed during working: ")
    assert end.message.endswith(" MB resident, limit 315 MB")


def test_a_job_may_print_tens_of_megabytes(shared, nothing_left):
    end = run(shared, "print_much")
    assert end.status == "ok"
    assert end.output.endswith("the last line\n")
    assert "error text" in end.output
    assert len(end.output) < 100_000


def test_the_end_of_what_a_crashed_job_printed_is_kept(shared, nothing_left):
    end = run(shared, "print_much_and_fail")
    assert end.status == "crash"
    assert end.output.endswith("the last line\n")


def test_output_that_is_no_text_does_no_harm(shared, nothing_left):
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
def test_what_a_job_leaves_behind_is_gone_when_it_has_ended(shared, marked, name):
    known = set(marked.alive())
    assert run(shared, name).status == "ok"
    # The answer is in the host's hands a moment before the keeper itself is gone, hence the wait.
    assert marked.left_behind(known, seconds=3) == {}


def test_what_a_killed_job_left_behind_is_gone_too(shared, nothing_left):
    end = run(shared, "leave_children_and_hang", timeout=2.0)
    assert (end.status, end.phase) == ("timeout", "left")


def test_a_child_that_goes_on_as_if_it_were_the_job_is_not_listened_to(shared, nothing_left):
    for _ in range(5):
        phases = []
        end = run(shared, "answer_from_both_sides_of_a_fork", phases=phases)
        assert (end.status, end.answer) == ("ok", {"process": "parent"})
        assert end.blob == b"z" * 1_000_000
        assert phases == ["start", "parent"]


def test_a_job_that_closes_all_its_files_has_crashed(shared, nothing_left):
    assert run(shared, "close_all_files").status == "crash"


@pytest.mark.parametrize("name", ["replace_standard_output", "close_standard_output"])
def test_a_job_may_do_what_it_likes_with_its_standard_output(shared, nothing_left, name):
    end = run(shared, name)
    assert (end.status, end.answer) == ("ok", {"done": True})


@pytest.mark.parametrize(
    "words",
    [
        "B\x40\x42\x0f\x00\x00\x00\x00\x00ten bytes.",  # the head of a million bytes, and ten of them
        "rubbish" * 5,
        "R\x03\x00\x00\x00\x00\x00\x00\x00{{{",
        "P\x02\x00\x00\x00\x00\x00\x00\x00\xff\xff",
    ],
)
def test_rubbish_on_the_line_costs_the_job_its_answer_and_nobody_else_theirs(shared, nothing_left, words):
    ends = [end for _, end in shared.run([job("write_on_its_line_to_the_host", words=words), job("answer", value=1)])]
    assert [end.status for end in ends] == ["crash", "ok"]
    assert "during working" in ends[0].message


def test_a_job_may_take_long_within_its_limits(shared, nothing_left):
    assert run(shared, "sleep", seconds=2.0, timeout=60.0, memory=2**30).status == "ok"


# -- many jobs -------------------------------------------------------------------------------------------------------


def test_jobs_run_so_many_at_once(shared, nothing_left):
    jobs = [job("sleep", seconds=0.6) for _ in range(6)]
    spans = [end.answer for _, end in shared.run(jobs, at_once=3)]
    most = max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)
    assert most == 3


def test_bad_jobs_leave_the_good_ones_beside_them_alone(shared, nothing_left):
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


# -- the host's going away -------------------------------------------------------------------------------------------


def test_closing_in_the_middle_leaves_nothing_running(marked, folder):
    known = set(marked.alive())
    executor = LocalExecutor(path=[str(folder)])
    executor.start()
    left = []
    jobs = [job("leave_children_and_hang", timeout=None) for _ in range(3)]

    class Stop(Exception):
        pass

    def on_phase(_, phase):
        left.extend([phase] * (phase == "left"))
        if len(left) == 3:
            raise Stop

    with pytest.raises(Stop):
        list(executor.run(jobs, at_once=3, on_phase=on_phase))
    assert len(set(marked.alive()) - known) > 9
    executor.close()
    assert marked.left_behind(known, seconds=0) == {}


def test_closing_does_not_wait_for_a_preload(marked, folder, nothing_left):
    (folder / "slow_import.py").write_text("import time\ntime.sleep(1000)\n")
    executor = LocalExecutor(preload=["slow_import"], path=[str(folder)])
    executor.start()
    time.sleep(0.5)
    start = time.monotonic()
    executor.close()
    assert time.monotonic() - start < 10


HOST = """
import sys
from harness.executors.local import Job, LocalExecutor

folder, name, preload = sys.argv[1:]
jobs = [Job(f"jobs:{name}", {}) for _ in range(3)]
with LocalExecutor(path=[folder], preload=preload.split()) as executor:
    print("started", flush=True)
    for _ in executor.run(jobs, at_once=3, on_phase=lambda job, phase: print(phase, flush=True)):
        pass
"""


@pytest.mark.parametrize(
    ("name", "preload", "last"), [("leave_children_and_hang", "", "left"), ("hang", "slow_import", "started")]
)
def test_a_killed_host_takes_everything_with_it(marked, folder, nothing_left, name, preload, last):
    (folder / "slow_import.py").write_text("import time\ntime.sleep(1000)\n")
    command = [sys.executable, "-c", HOST, str(folder), name, preload]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as host:
        wanted = 3 if last == "left" else 1
        while wanted:
            wanted -= host.stdout.readline().strip() == last
        time.sleep(0.5)
        host.kill()
        _, errors = host.communicate(timeout=30)  # all who had its files have gone
    assert errors == ""


# -- the fork server -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[1, 2])
def warm(request, marked, folder):
    """An executor whose server has all modules warm that a run would have."""
    with LocalExecutor(preload=PRELOADED, threads=request.param, path=[str(folder)]) as executor:
        yield request.param, executor


def test_the_warm_server_has_one_thread_and_its_jobs_find_the_modules_there(warm, recwarn):
    _, executor = warm
    assert run(executor, "tell_modules", names=PRELOADED).answer == PRELOADED
    assert run(executor, "count_threads").answer == 1
    assert os.listdir(f"/proc/{server_of(executor)}/task") == [str(server_of(executor))]
    assert not recwarn.list


def test_threads_in_a_job_are_as_many_as_allowed_and_work(warm):
    threads, executor = warm
    for _ in range(2):  # the second process finds the server as the first one did
        end = run(executor, "tell_threads", threads=threads, timeout=120.0)
        assert end.status == "ok", end.output
        pools = end.answer["in_force"]
        assert {name.partition(":")[0] for name in pools} >= {"openblas", "openmp", "numba"}
        assert set(pools.values()) == {threads}
        assert end.answer["omp_variable"] == str(threads)
        assert end.answer["total"] == 100_000
        assert (end.answer["threads"] > 1) == (threads > 1)
    assert len(os.listdir(f"/proc/{server_of(executor)}/task")) == 1


def test_a_preload_that_starts_a_thread_is_named_and_left_out(marked, folder, nothing_left):
    (folder / "threaded.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
    )
    with LocalExecutor(preload=["json", "threaded", "csv"], path=[str(folder)]) as executor:
        with pytest.warns(UserWarning, match="'threaded' starts threads when imported: not preloaded"):
            end = run(executor, "tell_modules", names=["csv", "threaded"])
        assert end.answer == ["csv"]
        assert len(os.listdir(f"/proc/{server_of(executor)}/task")) == 1


def test_a_preload_that_cannot_be_imported_does_not_matter(marked, folder, nothing_left, recwarn):
    (folder / "broken.py").write_text("raise ImportError('no such luck')\n")
    (folder / "leaving.py").write_text("raise SystemExit(1)\n")
    with LocalExecutor(preload=["broken", "absent", "leaving", "csv"], path=[str(folder)]) as executor:
        assert run(executor, "tell_modules", names=["csv"]).answer == ["csv"]
    assert not recwarn.list


@pytest.mark.parametrize(
    "text",
    ["import os\nos._exit(1)\n", "import ctypes\nctypes.string_at(0)\n", "raise KeyboardInterrupt\n"],
    ids=["exits", "crashes", "interrupts"],
)
def test_a_preload_that_ends_the_server_is_named_and_left_out(marked, folder, nothing_left, text):
    (folder / "deadly.py").write_text(text)
    with LocalExecutor(preload=["json", "deadly", "csv"], path=[str(folder)]) as executor:
        with pytest.warns(UserWarning, match="'deadly' ended the process that imported it: not preloaded"):
            end = run(executor, "tell_modules", names=["csv"])
        assert end.answer == ["csv"]


def test_what_a_preload_prints_is_not_taken_for_the_hosts_answer(marked, folder, nothing_left, capfd):
    (folder / "talking.py").write_text("print('good morning')\n")
    with LocalExecutor(preload=["talking"], path=[str(folder)]) as executor:
        assert run(executor, "answer", value=1).status == "ok"
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "good morning" in printed.err


def test_a_slow_start_is_told(marked, folder, nothing_left, monkeypatch):
    monkeypatch.setattr("harness.executors.local.SLOW_SECONDS", 0.2)
    (folder / "rather_slow.py").write_text("import time\ntime.sleep(1)\n")
    told = []
    with LocalExecutor(preload=["rather_slow"], path=[str(folder)]) as executor:
        executor.on_slow = lambda: told.append(True)
        assert run(executor, "answer", value=1).status == "ok"
    assert told == [True]


def test_a_preload_that_never_ends_is_named_and_left_out(marked, folder, nothing_left, monkeypatch):
    monkeypatch.setattr("harness.executors.local.SLOW_SECONDS", 0.2)
    monkeypatch.setattr("harness.executors.local.HOPELESS_SECONDS", 2)
    (folder / "endless.py").write_text("while True:\n    pass\n")
    with LocalExecutor(preload=["endless", "csv"], path=[str(folder)]) as executor:
        with pytest.warns(UserWarning, match="'endless' takes over 2 s to import: not preloaded"):
            end = run(executor, "tell_modules", names=["csv"])
        assert end.answer == ["csv"]


def test_a_killed_server_is_replaced(marked, folder, nothing_left):
    with LocalExecutor(path=[str(folder)], preload=["csv"]) as executor:
        for _ in range(3):
            assert run(executor, "tell_modules", names=["csv"]).answer == ["csv"]
            before = server_of(executor)
            os.kill(before, signal.SIGKILL)
            assert run(executor, "answer", value=1).status == "ok"
            assert server_of(executor) != before


def test_a_server_killed_while_jobs_run_costs_none_of_them(marked, folder, nothing_left):
    with LocalExecutor(path=[str(folder)]) as executor:
        jobs = [job("sleep", seconds=seconds) for seconds in (0.1, 2.0, 0.1, 0.1)]
        statuses = []
        for _, end in executor.run(jobs, at_once=2):
            if not statuses:
                os.kill(server_of(executor), signal.SIGKILL)
                time.sleep(0.2)
            statuses.append(end.status)
    assert statuses == ["ok"] * 4


def test_frames_survive_any_cut():
    from harness.executors.frames import BLOB, PHASE, RESULT, FrameReader, pack, pack_json

    stream = pack(PHASE, b"fit") + pack(BLOB, bytes(1000)) + pack(BLOB, b"") + pack_json(RESULT, {"a": 1})
    for step in (1, 7, 100, len(stream)):
        reader = FrameReader()
        found = [frame for at in range(0, len(stream), step) for frame in reader.feed(stream[at : at + step])]
        assert [tag for tag, _ in found] == [PHASE, BLOB, BLOB, RESULT]
        assert json.loads(found[-1][1]) == {"a": 1}
