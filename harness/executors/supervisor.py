"""The supervisor of one job: it forks the job's process, enforces the limits, and reports how the process ended.

The supervisor becomes the parent of processes that the job leaves behind. At the end it kills them, and removes the
temporary folder and the shared memory of the job. If the host ends, the channel to it closes, and the supervisor kills
the job. At the end of the file are the functions that kill and reap processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import secrets
import selectors
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import NoReturn

from harness.executors import wire
from harness.executors.base import TUNING, Job, Sealable
from harness.executors.wire import ProcessEnd
from harness.files.home import data_home
from harness.host.introspection import import_target
from harness.system import SYSTEM

OUTPUT_KEPT = 64 * 1024
"""The number of bytes that are kept of the job's output, from its end."""


def supervise(channel: socket.socket) -> NoReturn:
    """Read a job from the channel, run it, report its end to the host, and exit.

    A fork server calls this in a forked process, which never returns to the code of the server.
    """
    code = 0
    folder = trial_folder(os.getpid())
    try:
        os.mkdir(folder, 0o700)  # first: servers recognise supervisors of other servers by it
        os.setsid()
        reaps_all = SYSTEM.adopt_orphans()
        channel.sendall(wire.pack(wire.PID, str(os.getpid()).encode()))
        job = _read_job(channel)
        _run(channel, job, folder, _read_file(channel, job), reaps_all=reaps_all)
    except (ConnectionError, EOFError):
        pass  # the host has ended
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        kill_descendants(os.getpid())
        remove_trial_folder(folder)
        os._exit(code)


def _read_job(channel: socket.socket) -> Job:
    """Wait for the job and return it; EOFError if the host ends first."""
    content = wire.receive(channel)
    if content is None:
        raise EOFError("the host went away before it sent the job")
    job: Job = pickle.loads(content)
    return job


def _read_file(channel: socket.socket, job: Job) -> int | None:
    """Return the file descriptor that the host sends after a job with a sealed payload; None for other jobs."""
    if not isinstance(job.payload, Sealable):
        return None
    message, handles, _, _ = socket.recv_fds(channel, 1, 1)
    if not message:
        raise EOFError("the host went away before it sent the file")
    return handles[0]


def _run(channel: socket.socket, job: Job, folder: str, file: int | None, *, reaps_all: bool) -> None:
    """Fork the job's process, watch it until its end, clean up, and report the end to the host.

    `reaps_all` states whether this process becomes the parent of all processes that the job leaves behind.
    """
    started = time.monotonic()
    child_signal = ChildSignal()
    results, results_end = os.pipe()
    output, output_end = os.pipe()
    tuning, tuning_end = os.pipe()
    child = os.fork()
    if child == 0:
        child_signal.close()
        channel.close()
        os.close(results)
        os.close(output)
        os.close(tuning)
        if file is not None:
            job = replace(job, payload=job.payload.with_file(file))
        run_job(job, results_end, output_end, tuning_end, folder)
    if file is not None:
        os.close(file)
    os.close(results_end)
    os.close(output_end)
    os.close(tuning_end)
    os.set_blocking(results, False)
    os.set_blocking(output, False)
    watch = _Watch(channel, child_signal, results, output, tuning, child, job, started)
    killed = watch.wait()
    child_signal.close()
    _clean_up(watch, child, is_abandoned=killed == "abandoned")
    if killed != "abandoned":
        watch.drain()
        remove_trial_folder(folder)
        channel.setblocking(True)
        end = watch.end(killed, started)
        if reaps_all:
            end = replace(end, cpu_seconds=_reaped_cpu_seconds())
        channel.sendall(wire.pack_json(wire.END, asdict(end)))


def _clean_up(watch: _Watch, child: int, *, is_abandoned: bool) -> None:
    """Kill all processes of the job, and remove its shared memory."""
    if watch.exit_code is None:
        watch.stop_and_look()
    _kill_group(child)
    try:
        if is_abandoned:
            return  # `supervise` kills the remaining processes
        if watch.exit_code is None:
            kill(child)  # if it was just forked, it does not lead a process group yet
            _, wait_status = os.waitpid(child, 0)
            watch.exit_code = os.waitstatus_to_exitcode(wait_status)
        kill_descendants(os.getpid())
    finally:
        watch.shared.remove()


def _kill_group(child: int) -> None:
    """Kill the job's process group. On systems that cannot adopt orphans, this reaches orphans of the job too."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _reaped_cpu_seconds() -> float:
    """Return the CPU time of all children that this process has reaped, and of those that they have reaped."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


class _Watch:
    """Watches a job: passes on its messages, and detects its end, an exceeded limit, or the end of the host."""

    def __init__(
        self,
        channel: socket.socket,
        child_signal: ChildSignal,
        results: int,
        output: int,
        tuning: int,
        child: int,
        job: Job,
        started: float,
    ) -> None:
        self.channel, self.child_signal, self.child = channel, child_signal, child
        self.results, self.output, self.tuning = results, output, tuning
        self.timeout_seconds = float("inf") if job.timeout_seconds is None else job.timeout_seconds
        self.deadline = started + job.most_seconds
        self.memory_bytes = job.memory_bytes or float("inf")
        self.shared = SharedMemory()
        self.exit_code: int | None = None
        """The exit code of the job's process; None until the process is reaped."""
        self.tail = bytearray()
        self.held_bytes = 0
        self.processes = 1
        self.look_at = started

    def wait(self) -> str | None:
        """Wait until the job's process ends or must be killed.

        Returns
        -------
        str or None
            None if the process has ended. Otherwise the reason to kill it: "timeout", "memory", or "abandoned" if the
            host has ended or does not want the job any more.
        """
        selector = selectors.DefaultSelector()
        for source in (self.channel, self.child_signal.socket, self.results, self.output, self.tuning):
            selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select(SYSTEM.LOOK_SECONDS):
                if key.fileobj is self.child_signal.socket:
                    if self._has_ended():
                        return None
                elif key.fileobj is self.channel:
                    return "abandoned"
                elif key.fd == self.tuning:  # the job has closed the pipe: tuning is over
                    selector.unregister(key.fd)
                    self.deadline = min(self.deadline, time.monotonic() + self.timeout_seconds)
                elif not self._pump(key.fd):
                    selector.unregister(key.fd)
            now = time.monotonic()
            if now > self.deadline:
                return "timeout"
            if now >= self.look_at:
                self.look_at = now + SYSTEM.LOOK_SECONDS
                if self._exceeds_memory():
                    return "memory"

    def stop_and_look(self) -> None:
        """Stop all processes of the job, and look once more for shared memory that they have created."""
        for _ in range(2):  # the second round reaches processes that were started during the first
            for pid in SYSTEM.all_below(os.getpid()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGSTOP)
        self.shared.look(SYSTEM.all_below(os.getpid()))

    def drain(self) -> None:
        """Read everything that the pipes hold. Do not wait for their end: a remaining process may keep them open."""
        for handle in (self.results, self.output):
            while self._pump(handle):
                pass

    def end(self, killed: str | None, started: float) -> ProcessEnd:
        """Return the report on the end of the process, which must have been reaped."""
        assert self.exit_code is not None
        return ProcessEnd(
            killed=killed,
            exit_code=self.exit_code,
            seconds=time.monotonic() - started,
            output=bytes(self.tail).decode("utf-8", "replace"),
            held_bytes=self.held_bytes,
            processes=self.processes,
        )

    def _has_ended(self) -> bool:
        """Return whether the job's first process has ended. SIGCHLD also announces the ends of adopted processes."""
        self.child_signal.clear()
        pid, wait_status = os.waitpid(self.child, os.WNOHANG)
        if pid:
            self.exit_code = os.waitstatus_to_exitcode(wait_status)
        return bool(pid)

    def _exceeds_memory(self) -> bool:
        """Return whether the job and its descendants exceed the memory limit, shared memory included."""
        below = SYSTEM.all_below(os.getpid())
        self.processes = max(self.processes, len(below))
        shared_bytes = self.shared.look(below)
        self.held_bytes = SYSTEM.resident_bytes(below) + shared_bytes
        if self.held_bytes <= self.memory_bytes:
            return False
        # This sum counts a shared page once per process. Before killing the job, compute the exact sum, which is slow.
        self.held_bytes = SYSTEM.own_bytes(below, shared_bytes)
        return self.held_bytes > self.memory_bytes

    def _pump(self, handle: int) -> bool:
        """Read from a pipe once: pass results on to the host, and keep the last part of the output.

        Returns
        -------
        bool
            False if the pipe is empty or closed.
        """
        try:
            data = os.read(handle, 1 << 16)
        except BlockingIOError:
            return False
        if handle == self.results:
            self.channel.sendall(wire.pack(wire.WORDS, data))
        else:
            self.tail += data
            del self.tail[:-OUTPUT_KEPT]
        return bool(data)


# -- shared memory ---------------------------------------------------------------------------------------------------

MOST_LOOKS = 100
"""After so many looks at which no process of the job has a file open, the file counts as another program's."""


class SharedMemory:
    """The shared memory of one job.

    The system does not record which process created a file of shared memory. A file counts as the job's if it is newer
    than this object, and if a process of the job had it open at some look. Other files are never removed.
    """

    def __init__(self) -> None:
        self._before = SYSTEM.list_shared()
        self._own: dict[str, int] = {}
        self._looks: Counter[str] = Counter()

    def look(self, pids: Sequence[int]) -> int:
        """Find new shared memory of these processes; return the size of all shared memory of the job in bytes.

        Parameters
        ----------
        pids : sequence of int
            The processes of the job that exist now.
        """
        unknown = set()
        for name in SYSTEM.list_shared() - self._before - self._own.keys():
            if self._looks[name] < MOST_LOOKS:
                unknown.add(name)
        if unknown:
            self._looks.update(unknown)
            for name in unknown & SYSTEM.held_shared(pids):
                identity = SYSTEM.identify_shared(name)
                if identity is not None:
                    self._own[name] = identity
        return SYSTEM.size_shared(self._own)

    def remove(self) -> None:
        """Remove the job's files. A file is left alone if it has replaced a file of the job under the same name."""
        own = {name for name, identity in self._own.items() if SYSTEM.identify_shared(name) == identity}
        SYSTEM.remove_shared(own)


# -- inside of the job's process -------------------------------------------------------------------------------------

FAILED = 70
"""The exit code of a job's process whose function raised an error."""
TEMPORARY = ("TMPDIR", "TMP", "TEMP", "JOBLIB_TEMP_FOLDER", "MPLCONFIGDIR")
"""Environment variables for the folder of temporary files. Without its variable, joblib would use shared memory."""


def run_job(job: Job, results: int, output: int, tuning: int, folder: str) -> NoReturn:
    """Call the job's function in this process, write its answer to a pipe, and exit.

    Parameters
    ----------
    job : Job
        The job.
    results : int
        The descriptor of the pipe for phases and the answer.
    output : int
        The descriptor of the pipe for text that the job prints.
    tuning : int
        The descriptor of a pipe that is closed when tuning ends. The supervisor then starts the time limit of the job.
    folder : str
        The folder for temporary files.
    """
    _isolate(output, folder)
    is_hidden = True
    if job.hidden or job.read_only:
        writable = (folder, str(data_home()), *job.writable)
        is_hidden = SYSTEM.hide_folders(job.hidden, job.shown, job.read_only, writable)
        os.chdir(folder)  # a relative path must not lead to the results
    job_pid = os.getpid()
    most_bytes = wire.most_bytes_of(job.blob_bytes)

    def send(tag: bytes, content: bytes) -> None:
        if len(content) > most_bytes[tag]:
            raise ValueError(f"the answer has {len(content):,} bytes, more than the limit of {most_bytes[tag]:,}")
        if os.getpid() == job_pid:  # a process that the job has forked may also reach this line
            write_all(results, wire.pack(tag, content))

    is_tuning = True

    def enter(phase: str) -> None:
        nonlocal is_tuning
        send(wire.PHASE, phase.encode())
        if is_tuning and not phase.startswith(TUNING):
            is_tuning = False
            os.close(tuning)

    code = 0
    try:
        if not is_hidden:
            send(wire.VISIBLE, b"")
        run = import_target(job.target)
        answer, blob = run(job.payload, enter)
        # The answer is sent last. If it arrives, everything has arrived.
        if blob is not None:
            send(wire.BLOB, blob)
        send(wire.RESULT, json.dumps(answer).encode())
    except BaseException:
        traceback.print_exc()
        code = FAILED
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _isolate(output: int, folder: str) -> None:
    """Separate this process from its parent: new session, temporary folder, empty input, and output to a pipe."""
    os.setsid()
    SYSTEM.die_with_parent()
    SYSTEM.offer_as_victim()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ |= dict.fromkeys(TEMPORARY, folder)
    tempfile.tempdir = folder
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)


def write_all(handle: int, data: bytes) -> None:
    """Write all data to a file descriptor. A single `os.write` may write only a part, for example to a full pipe."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


RUN_ID = secrets.token_hex(8)
"""A random name for this run. A server and all processes that it forks have the same one."""


def trial_folder(supervisor: int) -> str:
    """Return the path of the folder for the temporary files of a job.

    Parameters
    ----------
    supervisor : int
        The pid of the job's supervisor. It is part of the path, so if the supervisor is killed, its server knows which
        folder to remove.
    """
    return os.path.join(tempfile.gettempdir(), f"harness-trial-{RUN_ID}-{supervisor}")


def kill(pid: int) -> None:
    """Kill a process, if it still exists and belongs to this user."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_tree(pid: int) -> None:
    """Kill a process and all its descendants. The process is killed first, since it could start more."""
    descendants = SYSTEM.all_below(pid)
    for victim in (pid, *descendants):
        kill(victim)


def kill_descendants(pid: int) -> None:
    """Kill and reap the descendants of this process, until none is left.

    Parameters
    ----------
    pid : int
        The pid of this process, which alone can reap its children.
    """
    while descendants := SYSTEM.all_below(pid):
        for victim in descendants:
            kill(victim)
        reap()
        time.sleep(0.001)


def reap() -> dict[int, int]:
    """Reap all children of this process that have ended, without waiting, and return their exit codes by pid."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
    return ended


def remove_trial_folder(folder: str) -> None:
    """Remove a folder with everything in it, even in read-only folders; errors are ignored."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # most jobs leave no files: this is faster than rmtree
        return
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.isdir(folder) and not os.path.islink(folder):
        for below, _, _ in os.walk(folder):
            with contextlib.suppress(OSError):
                os.chmod(below, stat.S_IRWXU)
        shutil.rmtree(folder, ignore_errors=True)


class ChildSignal:
    """Turns SIGCHLD into an event for selectors: `socket` becomes readable when a child of this process ends.

    A process can have only one such object. A forked child must close its copy.
    """

    def __init__(self) -> None:
        self.socket, self._writer = socket.socketpair()
        self.socket.setblocking(False)
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only signals with a handler reach the socket

    def clear(self) -> None:
        """Empty the socket; it becomes readable again when the next child ends."""
        with contextlib.suppress(BlockingIOError):
            while self.socket.recv(1 << 12):
                pass

    def close(self) -> None:
        """Restore the default handling of SIGCHLD, and close the socket."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.socket.close()
        self._writer.close()
