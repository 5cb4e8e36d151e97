"""Jobs of `jobs.py`, as an executor gets them, and how one of them ended."""

from pathlib import Path

from harness.executors.base import Job

JOBS = Path(__file__).with_name("jobs.py").read_text()


def job(name, *, timeout=60.0, memory=None, **payload):
    return Job(f"jobs:{name}", payload, timeout, memory)


def run(executor, name, *, timeout=60.0, memory=None, phases=None, **payload):
    on_phase = None if phases is None else lambda _, phase: phases.append(phase)
    ((_, end),) = executor.run([job(name, timeout=timeout, memory=memory, **payload)], on_phase=on_phase)
    return end
