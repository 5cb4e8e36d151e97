"""What runs on a worker: it finds what a trial needs, gives it to a station, and ends it when nobody waits for it."""

from __future__ import annotations

import os
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from distributed import Status, Worker, get_worker

from harness.cluster.housing import have_environments
from harness.cluster.messages import Order, pack_answer, pack_end, read_order
from harness.cluster.parcels import Parcel, find
from harness.cluster.stations import Station, stations_of
from harness.errors import HarnessError
from harness.executors.base import Job, JobEnd, Workplace
from harness.trials.trial import TrialJob
from harness.wording import in_a_line

LOOK_SECONDS = 0.2
"""How often it is looked whether anybody still waits for a trial, and whether it has come to another phase."""
RESOURCE = "trial"
"""What a worker offers that takes several trials at once: dask worker --resources "trial=2"."""
MESSAGE_LENGTH = 500
GONE = "nobody waits for it, or the worker is leaving"
AT_WORK = (Status.running, Status.paused, Status.closing_gracefully)
"""What a worker is that still does what it was given."""


def slots_of(worker: Worker) -> int:
    """How many trials a worker takes at once: one, unless it offers more and has the threads to look after them."""
    offered, threads = int(worker.state.total_resources.get(RESOURCE, 1)), int(worker.state.nthreads)
    return max(1, min(offered, threads))


def run_order(content: bytes) -> bytes:
    """The task that a worker is given: run one trial, through the local executor, and tell what came of it."""
    worker = get_worker()
    watch = _Watch(worker, worker.get_current_task())
    stations = stations_of(worker.id, slots_of(worker))
    station = None
    while station is None and watch.is_wanted():
        station = stations.take(LOOK_SECONDS)
    if station is None:
        return pack_answer("gone", message=GONE)
    try:  # from here on no other trial is timed at this place: what has to be read or built disturbs nobody
        return _run_at(station, read_order(content), watch)
    except Exception as error:  # a trial has a process of its own: whatever is raised here is this worker's trouble
        return pack_answer("unable", message=in_a_line(f"{type(error).__name__}: {error}", MESSAGE_LENGTH))
    finally:
        stations.free.put(station)


def _run_at(station: Station, order: Order, watch: _Watch) -> bytes:
    found = {parcel: find(parcel) for parcel in (*order.parcels, *order.code)}
    lacking = [parcel.name for parcel, folder in found.items() if folder is None]
    if lacking:
        return pack_answer("lacking", lacking=lacking)
    folders = {parcel: folder for parcel, folder in found.items() if folder is not None}
    try:
        environments = have_environments(order, watch.say_later)
    except HarnessError as error:
        return pack_answer("unable", message=str(error))
    workplace = Workplace(
        preload=order.preload,
        threads=order.threads,
        path=tuple(str(folders[parcel]) for parcel in order.code),
        interpreters={group: str(ready.python) for group, ready in environments.items()},
    )
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    load = os.getloadavg()[0]
    running = station.start(_moved(order.job, folders), workplace, watch.say_later)
    end = _follow(running, station, watch, order)
    if end is None:
        return pack_answer("gone", message=GONE)
    own = environments.get(order.job.group)
    return pack_end(end, started=begun, load=load, packages=dict(own.packages) if own else {})


def _moved(job: Job, folders: dict[Parcel, Path]) -> Job:
    """The job with the folders of this machine in the place of the host's."""
    here = {parcel.source: str(folder) for parcel, folder in folders.items()}
    payload = job.payload
    if not isinstance(payload, TrialJob):
        return job
    trial = payload.trial
    trial = replace(
        trial,
        data_folder=here.get(trial.data_folder, trial.data_folder),
        represented_folder=here.get(trial.represented_folder, ""),
    )
    return replace(job, payload=replace(payload, trial=trial))


def _follow(running: Future[JobEnd], station: Station, watch: _Watch, order: Order) -> JobEnd | None:
    """How the job ended; None where it was given up."""
    given_up = False
    while True:
        try:
            end = running.result(timeout=LOOK_SECONDS)
        except TimeoutError:
            watch.tell(order)
            if not watch.is_wanted():
                given_up = True
                station.abandon()
            continue
        if not given_up:
            return end
        station.cool_down()  # its host has gone, and will not come back for it
        return None


class _Watch:
    """What is known of one task: whether anybody waits for it, and the phase that the trial is in."""

    def __init__(self, worker: Worker, key: Any) -> None:
        self.worker, self.key = worker, key
        self.phase = self.told = "start"  # the host takes it to have begun

    def is_wanted(self) -> bool:
        """Whether the scheduler still wants the result: a host that ends, or is killed, takes its tasks back."""
        task = self.worker.state.tasks.get(self.key)
        return self.worker.status in AT_WORK and task is not None and task.state in ("executing", "long-running")

    def say_later(self, phase: str) -> None:
        """Remember the phase; most last so short that nobody could read them."""
        self.phase = phase

    def tell(self, order: Order) -> None:
        """Tell the host what the trial does now, where it does something else than before."""
        if self.phase != self.told:
            self.told = self.phase
            self.worker.log_event(order.topic, {"attempt": order.attempt, "phase": self.phase})
