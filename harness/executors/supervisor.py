"""The supervisor of one job: forks its process, watches clock and memory, kills the whole tree, reports how it ended.

The supervisor is a subreaper: whatever the job leaves behind becomes its child, however it tried to hide. When the host
goes away its socket closes, and the job dies with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
import resource
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterable
from dataclasses import asdict
from typing import NoReturn

from harness.executors import frames
from harness.executors.base import Job
from harness.executors.frames import ProcessEnd
from harness.processes import all_below
from harness.signature import import_target

POLL_SECONDS = 0.02
OUTPUT_KEPT = 64 * 1024
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PAGE = os.sysconf("SC_PAGE_SIZE")
_libc = ctypes.CDLL(None, use_errno=True)  # loaded in the server, so that a fork only has to call it


def supervise(channel: socket.socket) -> NoReturn:
    """Read the job from the channel, see it through, report, and end this process."""
    code = 0
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        _see_through(channel, _read_job(channel))
    except (ConnectionError, EOFError):
        pass  # the host went away, and nobody is left to tell
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        kill_descendants(os.getpid())
        os._exit(code)


def _read_job(channel: socket.socket) -> Job:
    reader = frames.FrameReader()
    while data := channel.recv(1 << 16):
        for _, content in reader.feed(data):
            job: Job = pickle.loads(content)
            return job
    raise EOFError("the host went away before it named the job")


def _see_through(channel: socket.socket, job: Job) -> None:
    started = time.monotonic()
    channel.sendall(frames.pack(frames.WORDS, b""))
    results, results_end = os.pipe()
    output, output_end = os.pipe()
    child = os.fork()
    if child == 0:
        channel.close()
        os.close(results)
        os.close(output)
        _be_the_job(job, results_end, output_end)
    os.close(results_end)
    os.close(output_end)
    os.set_blocking(results, False)
    os.set_blocking(output, False)

    watch = _Watch(channel, results, output, child, job, started)
    killed = watch.until_end()
    if killed == "abandoned":
        return
    if killed:
        os.kill(child, signal.SIGKILL)
    _, wait_status = os.waitpid(child, 0)
    kill_descendants(os.getpid())
    watch.drain()
    end = ProcessEnd(
        killed=killed,
        exit_code=os.waitstatus_to_exitcode(wait_status),
        seconds=time.monotonic() - started,
        output=bytes(watch.tail).decode("utf-8", "replace"),
        held_bytes=watch.held_bytes,
        processes=watch.processes,
    )
    channel.setblocking(True)
    channel.sendall(frames.pack_json(frames.END, asdict(end)))


class _Watch:
    """The loop that waits for the job's words, its end, its limits, or the host's going away."""

    def __init__(self, channel: socket.socket, results: int, output: int, child: int, job: Job, started: float) -> None:
        self.channel, self.results, self.output, self.child = channel, results, output, child
        self.deadline = started + (job.timeout_seconds or float("inf"))
        self.memory_bytes = job.memory_bytes or float("inf")
        self.tail = bytearray()
        self.held_bytes = 0
        self.processes = 1

    def until_end(self) -> str | None:
        """None when the process ended by itself; else why it has to be killed."""
        selector = selectors.DefaultSelector()
        selector.register(self.channel, selectors.EVENT_READ)
        selector.register(self.results, selectors.EVENT_READ)
        selector.register(self.output, selectors.EVENT_READ)
        ended = os.pidfd_open(self.child)
        selector.register(ended, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select(POLL_SECONDS):
                if key.fileobj == ended:
                    return None
                if key.fileobj is self.channel:
                    return "abandoned"
                if not self._pump(key.fd):
                    selector.unregister(key.fd)
            if time.monotonic() > self.deadline:
                return "timeout"
            below = all_below(os.getpid())
            self.processes = max(self.processes, len(below))
            self.held_bytes = resident_bytes(below)
            if self.held_bytes > self.memory_bytes:
                # The quick sum counts a page once for each process that has it; ask more closely before killing.
                self.held_bytes = own_bytes_below(os.getpid())
                if self.held_bytes > self.memory_bytes:
                    return "memory"

    def drain(self) -> None:
        """Pass on what is still in the pipes; a left-over process may hold them open, so never wait for their end."""
        for handle in (self.results, self.output):
            while self._pump(handle):
                pass

    def _pump(self, handle: int) -> bool:
        try:
            data = os.read(handle, 1 << 16)
        except BlockingIOError:
            return False
        if handle == self.results:
            self.channel.sendall(frames.pack(frames.WORDS, data))
        else:
            self.tail += data
            del self.tail[:-OUTPUT_KEPT]
        return bool(data)


def _be_the_job(job: Job, results: int, output: int) -> NoReturn:
    """Run the job's function in this process; whatever it raises becomes its answer."""
    os.setsid()
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")  # when the machine runs out of memory, better the job than the host
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)

    job_pid = os.getpid()

    def say(tag: bytes, content: bytes) -> None:
        if os.getpid() == job_pid:  # a child that the job forked may come along here as well
            write_all(results, frames.pack(tag, content))

    code = 0
    try:
        run = import_target(job.target)
        answer, blob = run(job.payload, lambda phase: say(frames.PHASE, phase.encode()))
        # The blob first: an answer that arrives says that all of it has.
        if blob is not None:
            say(frames.BLOB, blob)
        say(frames.RESULT, json.dumps(answer).encode())
    except BaseException:
        traceback.print_exc()
        code = 70
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def die_with_parent() -> None:
    """From now on, whatever ends this process's parent (to be exact: the thread that started it) ends it too."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def write_all(handle: int, data: bytes) -> None:
    """Write everything, however small the pipe."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def resident_bytes(pids: Iterable[int]) -> int:
    """Resident memory of some processes; pages that two of them share count twice."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm") as file:
            total += int(file.read().split()[1]) * _PAGE
    return total


def own_bytes_below(pid: int) -> int:
    """The same, with a page that several processes share divided among them: exact, and slow for large processes."""
    total = 0
    for below in all_below(pid):
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{below}/smaps_rollup") as file:
            total += sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    return total


def kill_descendants(pid: int) -> None:
    """Kill everything below this process and reap it, until nothing is left."""
    while below := all_below(pid):
        for victim in below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(victim, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.001)
