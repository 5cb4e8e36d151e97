"""The supervisor of one job: forks its process, watches clock and memory, kills the whole tree, reports how it ended.

The supervisor adopts whatever the job leaves behind, however it tried to hide, and removes the folder and the shared
memory that the job had. When the host goes away its socket closes, and the job dies with it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import signal
import socket
import time
import traceback
from dataclasses import asdict
from typing import NoReturn

from harness.executors import frames
from harness.executors.base import Job
from harness.executors.bell import Bell
from harness.executors.cleaning import folder_of, kill, kill_descendants, remove_folder
from harness.executors.frames import ProcessEnd
from harness.executors.inside import be_the_job
from harness.executors.shared_memory import SharedMemory
from harness.system import SYSTEM

OUTPUT_KEPT = 64 * 1024


def supervise(channel: socket.socket) -> NoReturn:
    """Read the job from the channel, see it through, report, and end this process."""
    code = 0
    folder = folder_of(os.getpid())
    try:
        os.mkdir(folder, 0o700)  # first of all: a server that did not fork this process knows by it what it is
        os.setsid()
        SYSTEM.adopt_orphans()
        channel.sendall(frames.pack(frames.PID, str(os.getpid()).encode()))
        _see_through(channel, _read_job(channel), folder)
    except (ConnectionError, EOFError):
        pass  # the host went away, and nobody is left to tell
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        kill_descendants(os.getpid())
        remove_folder(folder)
        os._exit(code)


def _read_job(channel: socket.socket) -> Job:
    content = frames.receive(channel)
    if content is None:
        raise EOFError("the host went away before it named the job")
    job: Job = pickle.loads(content)
    return job


def _see_through(channel: socket.socket, job: Job, folder: str) -> None:
    started = time.monotonic()
    bell = Bell()
    results, results_end = os.pipe()
    output, output_end = os.pipe()
    child = os.fork()
    if child == 0:
        bell.take_down()
        channel.close()
        os.close(results)
        os.close(output)
        be_the_job(job, results_end, output_end, folder)
    os.close(results_end)
    os.close(output_end)
    os.set_blocking(results, False)
    os.set_blocking(output, False)

    watch = _Watch(channel, bell, results, output, child, job, started)
    killed = watch.until_end()
    bell.take_down()
    if watch.exit_code is None:
        watch.look_for_the_last_time()
    _kill_group(child)
    try:
        if killed == "abandoned":
            return
        if watch.exit_code is None:
            kill(child)  # it may not lead a group yet
            _, wait_status = os.waitpid(child, 0)
            watch.exit_code = os.waitstatus_to_exitcode(wait_status)
        kill_descendants(os.getpid())
    finally:
        watch.shared.remove()
    watch.drain()
    remove_folder(folder)
    end = ProcessEnd(
        killed=killed,
        exit_code=watch.exit_code,
        seconds=time.monotonic() - started,
        output=bytes(watch.tail).decode("utf-8", "replace"),
        held_bytes=watch.held_bytes,
        processes=watch.processes,
    )
    channel.setblocking(True)
    channel.sendall(frames.pack_json(frames.END, asdict(end)))


def _kill_group(child: int) -> None:
    """Kill the job and its process group: also what has lost its parent, on systems where nobody adopts it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


class _Watch:
    """The loop that waits for the job's words, its end, its limits, or the host's going away."""

    def __init__(
        self, channel: socket.socket, bell: Bell, results: int, output: int, child: int, job: Job, started: float
    ) -> None:
        self.channel, self.bell, self.results, self.output, self.child = channel, bell, results, output, child
        self.deadline = started + (job.timeout_seconds or float("inf"))
        self.memory_bytes = job.memory_bytes or float("inf")
        self.shared = SharedMemory()
        self.exit_code: int | None = None
        """Of the job's process, once it has ended by itself."""
        self.tail = bytearray()
        self.held_bytes = 0
        self.processes = 1
        self.look_at = started

    def until_end(self) -> str | None:
        """None when the process ended by itself; else why it has to be killed."""
        selector = selectors.DefaultSelector()
        for source in (self.channel, self.bell.heard, self.results, self.output):
            selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select(SYSTEM.LOOK_SECONDS):
                if key.fileobj is self.bell.heard:
                    if self._has_ended():
                        return None
                elif key.fileobj is self.channel:
                    return "abandoned"
                elif not self._pump(key.fd):
                    selector.unregister(key.fd)
            now = time.monotonic()
            if now > self.deadline:
                return "timeout"
            if now >= self.look_at:
                self.look_at = now + SYSTEM.LOOK_SECONDS
                if self._holds_too_much():
                    return "memory"

    def _has_ended(self) -> bool:
        """Whether the job's process has ended, and not only another that it left behind."""
        self.bell.silence()
        pid, wait_status = os.waitpid(self.child, os.WNOHANG)
        if pid:
            self.exit_code = os.waitstatus_to_exitcode(wait_status)
        return bool(pid)

    def _holds_too_much(self) -> bool:
        """Whether the job and all below it hold more memory than they may, what they share included."""
        below = SYSTEM.all_below(os.getpid())
        self.processes = max(self.processes, len(below))
        shared_bytes = self.shared.look(below)
        self.held_bytes = SYSTEM.resident_bytes(below) + shared_bytes
        if self.held_bytes <= self.memory_bytes:
            return False
        # The quick sum counts a page once for each process that has it; ask more closely before killing.
        self.held_bytes = SYSTEM.own_bytes(below, shared_bytes)
        return self.held_bytes > self.memory_bytes

    def look_for_the_last_time(self) -> None:
        """Have all stand still and see what they hold: what was made since the last look is theirs too."""
        for _ in range(2):  # the second time for what was started meanwhile
            for pid in SYSTEM.all_below(os.getpid()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGSTOP)
        self.shared.look(SYSTEM.all_below(os.getpid()))

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
