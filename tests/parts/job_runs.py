"""Jobs of `jobs.py` for an executor, and their outcomes."""

from pathlib import Path

from internals import Job, expand_imports

JOBS = expand_imports(Path(__file__).with_name("jobs.py").read_text())


def job(name, *, timeout=60.0, memory=None, tuning_seconds=0.0, **payload):
    return Job(f"jobs:{name}", payload, timeout, memory, tuning_seconds=tuning_seconds)


def run(executor, name, *, timeout=60.0, memory=None, phases=None, **payload):
    on_phase = None if phases is None else lambda _, phase: phases.append(phase)
    ((_, end),) = executor.run([job(name, timeout=timeout, memory=memory, **payload)], on_phase=on_phase)
    return end
