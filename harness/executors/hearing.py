"""The host's side of one running job: what is heard of it, and what follows from that when it has ended."""

from __future__ import annotations

import json
import signal
import socket
import time
from dataclasses import dataclass, field, replace
from typing import Any

from harness.executors import frames
from harness.executors.base import Job, JobEnd, JobStatus, OnPhase
from harness.executors.frames import ProcessEnd
from harness.system import SYSTEM
from harness.wording import in_a_line

MESSAGE_LENGTH = 200


BEGIN_SECONDS = 30.0
"""How long a supervisor may take to say that it is there: long after a server that works would have forked it."""
GRACE_SECONDS = 10.0
"""How long a supervisor may take after its job's time limit to say that it ended it, and how long it may be stopped."""
MOST_PHASES = 10_000


@dataclass
class RunningJob:
    """What has been heard of a job, and of the supervisor that watches it."""

    job: Job
    attempt: int = 1
    handed_over: float = field(default_factory=time.monotonic)
    supervisor: int | None = None
    """Its process, once it has said so: from then on the job has begun."""
    reader: frames.FrameReader = field(default_factory=frames.FrameReader)
    words: frames.FrameReader = field(init=False)
    """The job's own frames, apart from the supervisor's: what a job breaks off or garbles spoils nothing else."""
    garbled: str = ""
    """Why what the job says cannot be understood."""
    phase: str = ""
    phases: int = 0
    answer: Any = None
    answered: bool = False
    blob: bytes | None = None
    end: ProcessEnd | None = None
    stopped_at: float | None = None
    """Since when its supervisor has been seen stopped at every look."""

    def __post_init__(self) -> None:
        self.words = frames.FrameReader(frames.most_bytes_of(self.job.blob_bytes))

    @property
    def overdue_at(self) -> float:
        """When something must have been heard: a supervisor that is stopped keeps no limits, and nobody else does."""
        if self.supervisor is None:
            return self.handed_over + BEGIN_SECONDS
        limit_at = self.handed_over + (self.job.timeout_seconds or float("inf"))
        stopped_at = float("inf") if self.stopped_at is None else self.stopped_at
        return min(limit_at, stopped_at) + GRACE_SECONDS

    def look(self, now: float) -> None:
        """Put down whether its supervisor has been stopped: then it is silent, and without a time limit for ever."""
        if self.supervisor is None or not SYSTEM.is_stopped(self.supervisor):
            self.stopped_at = None
        elif self.stopped_at is None:
            self.stopped_at = now


def listen(channel: socket.socket, running: RunningJob, on_phase: OnPhase | None) -> bool:
    """Take in what has come; whether there may be more."""
    try:
        data = channel.recv(1 << 20)
    except ConnectionResetError:
        data = b""
    for tag, content in running.reader.feed(data):
        if tag == frames.END:
            running.end = ProcessEnd(**json.loads(content))
        elif tag == frames.PID:
            running.supervisor = int(content)
        elif tag == frames.WORDS:
            for phase in _take(content, running):
                if on_phase:
                    on_phase(running.job, phase)
    return bool(data) and running.end is None


def _take(words: bytes, running: RunningJob) -> list[str]:
    """Take in what the job says, until it cannot be understood; gives the phases that it named."""
    phases: list[str] = []
    if running.garbled:
        return phases
    try:
        for tag, content in running.words.feed(words):
            if tag == frames.PHASE:
                running.phase = content.decode()
                running.phases += 1
                phases.append(running.phase)
                if running.phases > MOST_PHASES:
                    raise ValueError(f"more than {MOST_PHASES:,} phases")
            elif tag == frames.BLOB:
                running.blob = content
            elif tag == frames.RESULT:
                running.answer, running.answered = json.loads(content), True
    except (ValueError, RecursionError) as error:  # no frame, one too large, no text, no JSON, or JSON too deep
        running.garbled = in_a_line(str(error), MESSAGE_LENGTH)
    return phases


def give_up(running: RunningJob) -> JobEnd:
    """How a job ended whose supervisor has not kept the time limit: it was stopped, or had no part in a processor."""
    seconds, limit = time.monotonic() - running.handed_over, running.job.timeout_seconds
    status: JobStatus = "crash"
    message = f"killed{_where(running)}: its supervisor had been stopped"
    if limit is not None and seconds > limit:
        status, message = (
            "timeout",
            f"killed{_where(running)}: over the limit of {limit:g} s, and its supervisor had been stopped",
        )
    return JobEnd(status, message=message, phase=running.phase, seconds=seconds)


def conclude(running: RunningJob) -> JobEnd:
    """How a job ended, from all that was heard."""
    end = running.end
    if end is None:
        return JobEnd("crash", message="the process that watched the trial was killed", phase=running.phase)
    status, message = _judge(running, end)
    whole = JobEnd(status, running.answer, running.blob, message, running.phase, end.seconds, end.output, end.processes)
    return whole if status == "ok" else replace(whole, answer=None, blob=None)


def _judge(running: RunningJob, end: ProcessEnd) -> tuple[JobStatus, str]:
    where = _where(running)
    if running.answered and not running.garbled and not end.killed:
        return "ok", ""
    if end.killed == "timeout":
        return "timeout", f"killed{where}: over the limit of {running.job.timeout_seconds:g} s"
    if end.killed == "memory":
        limit = (running.job.memory_bytes or 0) / 1e6
        return "memory", f"killed{where}: {end.held_bytes / 1e6:.0f} MB resident, limit {limit:.0f} MB"
    if end.exit_code < 0:
        return "crash", f"ended by {_name_signal(-end.exit_code)}{where}"
    if running.garbled:
        return "crash", f"what the process reported{where} cannot be read: {running.garbled}"
    return "crash", f"the process ended with exit code {end.exit_code}{where} and gave no result"


def _where(running: RunningJob) -> str:
    return f" during {running.phase}" if running.phase else ""


def _name_signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name} (the machine may have run out of memory)" if name == "SIGKILL" else name
