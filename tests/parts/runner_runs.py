"""Trials run into a store, as tests of the runner do."""

from harness.progress import Silence
from harness.runner import Conditions, run_trials

CONDITIONS = Conditions(threads=1, jobs=1, timeout_seconds=60.0, memory_bytes=None, machine_id="m")


def run_all(trials, catalog, executor, store, progress=None):
    metrics = [entry.spec for entry in catalog.metrics]
    run_trials(trials, metrics, CONDITIONS, executor, store, progress or Silence())
