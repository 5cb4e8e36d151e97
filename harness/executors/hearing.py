"""The host's side of one running job: what is heard of it, and what follows from that when it has ended."""

from __future__ import annotations

import json
import signal
import socket
from dataclasses import dataclass, field, replace
from typing import Any

from harness.executors import frames
from harness.executors.base import Job, JobEnd, JobStatus, OnPhase
from harness.executors.frames import ProcessEnd


@dataclass
class RunningJob:
    """What has been heard of a job, and of the supervisor that watches it."""

    job: Job
    attempt: int = 1
    begun: bool = False
    reader: frames.FrameReader = field(default_factory=frames.FrameReader)
    words: frames.FrameReader = field(default_factory=frames.FrameReader)
    """The job's own frames, apart from the supervisor's: what a job breaks off or garbles spoils nothing else."""
    garbled: bool = False
    phase: str = ""
    answer: Any = None
    answered: bool = False
    blob: bytes | None = None
    end: ProcessEnd | None = None


def listen(channel: socket.socket, running: RunningJob, on_phase: OnPhase | None) -> bool:
    """Take in what has come; whether there may be more."""
    try:
        data = channel.recv(1 << 20)
    except ConnectionResetError:
        data = b""
    for tag, content in running.reader.feed(data):
        running.begun = True
        if tag == frames.END:
            running.end = ProcessEnd(**json.loads(content))
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
                phases.append(running.phase)
            elif tag == frames.BLOB:
                running.blob = content
            elif tag == frames.RESULT:
                running.answer, running.answered = json.loads(content), True
    except (ValueError, RecursionError):  # no frame, no text, no JSON, or JSON too deep to be read
        running.garbled = True
    return phases


def conclude(running: RunningJob) -> JobEnd:
    """How a job ended, from all that was heard."""
    end = running.end
    if end is None:
        return JobEnd("crash", message="the process that watched the trial was killed", phase=running.phase)
    status, message = _judge(running, end)
    whole = JobEnd(status, running.answer, running.blob, message, running.phase, end.seconds, end.output, end.processes)
    return whole if status == "ok" else replace(whole, answer=None, blob=None)


def _judge(running: RunningJob, end: ProcessEnd) -> tuple[JobStatus, str]:
    where = f" during {running.phase}" if running.phase else ""
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
        return "crash", f"what the process reported{where} cannot be read: something else wrote on its line"
    return "crash", f"the process ended with exit code {end.exit_code}{where} and gave no result"


def _name_signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name} (the machine may have run out of memory)" if name == "SIGKILL" else name
