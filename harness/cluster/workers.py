"""The registry of workers: it checks every worker before its first job, and excludes workers that cannot run jobs.

When a worker joins, the host requests a description, sends code that the worker lacks, and compares versions and code
with its own. The worker is then *usable*, or it is *set aside* and gets no jobs. There are two reasons for the latter:
the worker *differs* from the host, which makes results incomparable, or it cannot run jobs at all, for example because
its data home is not writable.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.cluster.messages import Assignment, Requirements, WorkerDescription, WorkerGone, read_description
from harness.cluster.transfer import Caller, TransferRefused, Transfers
from harness.cluster.worker import Reference, describe_code, describe_worker, find_differences
from harness.errors import HarnessError
from harness.executors.base import Site
from harness.system.machine import describe_versions
from harness.text import in_a_line

CHECKERS = 32
"""The number of workers that are checked at the same time. A worker that does not reply must not delay the others."""
MESSAGE_LENGTH = 500
"""Longer messages of errors are cut."""


@dataclass
class WorkerState:
    """A worker that may run jobs."""

    address: str
    description: WorkerDescription
    differing: Mapping[str, str] = field(default_factory=dict)
    """By name, the digests of code that differs from the host's, if differences are allowed."""
    has_finished_a_job: bool = False
    """True if a job has ended on this worker."""
    artifacts: set[str] = field(default_factory=set)
    """The names of artifacts that jobs have read on this worker."""

    def has_all(self, assignment: Assignment) -> bool:
        """Return whether earlier jobs have read all artifacts of an assignment on this worker."""
        return all(artifact.name in self.artifacts for artifact in assignment.artifacts)

    @property
    def name(self) -> str:
        """The name of the worker, followed by its address if the two differ."""
        name = self.description.name
        return name if name == self.address else f"{name} ({self.address})"

    @property
    def slots(self) -> int:
        """The number of jobs that the worker runs at the same time."""
        return self.description.slots

    @property
    def kind(self) -> str:
        """The kind of the worker's machine, which is the model name of its processor."""
        return self.description.machine.processor


@dataclass(frozen=True)
class WorkerChecked:
    """An event: a worker was checked. If there is neither a `worker` nor a `problem`, it did not reply."""

    address: str
    worker: WorkerState | None = None
    problem: str = ""
    """The reason why the worker is set aside."""
    differs: bool = False
    """True if the problem is a difference from the host."""


class WorkerRegistry:
    """The workers of a cluster that one run knows.

    Parameters
    ----------
    caller : Caller
        Calls functions on workers.
    transfers : Transfers
        Sends code to workers.
    requirements : Requirements
        The code that a worker needs, and the code by which it is compared with the host.
    report : callable
        Called with a `WorkerChecked` for each new worker, in another thread. Pass the event to `add`.
    """

    def __init__(
        self,
        caller: Caller,
        transfers: Transfers,
        requirements: Requirements,
        report: Callable[[WorkerChecked], None],
    ) -> None:
        self._caller, self._transfers, self._requirements, self._report = caller, transfers, requirements, report
        self.usable: dict[str, WorkerState] = {}
        """By address, the workers that can run jobs."""
        self._aside: dict[str, str] = {}
        """By address, the reasons why workers are set aside."""
        self._differing: set[str] = set()
        """The addresses of workers that are set aside because they differ from the host."""
        self._known: set[str] = set()
        self._may_check = threading.BoundedSemaphore(CHECKERS)

    def update(self, addresses: Iterable[str]) -> list[WorkerState]:
        """Start checks of new workers, and remove workers that have left the cluster.

        Parameters
        ----------
        addresses : iterable of str
            The addresses of all workers that the scheduler knows.

        Returns
        -------
        list of WorkerState
            The usable workers that have left. Their jobs are lost.
        """
        present = set(addresses)
        lost = [self.usable.pop(address) for address in set(self.usable) - present]
        for address in set(self._aside) - present:
            del self._aside[address]
        self._known &= present
        self._differing &= present
        for address in sorted(present - self._known):
            self._known.add(address)
            threading.Thread(target=self._check, args=(address,), name="harness-check", daemon=True).start()
        return lost

    def is_checking(self) -> bool:
        """Return whether a check of a worker has not ended yet."""
        return bool(self._known - set(self.usable) - set(self._aside))

    def add(self, checked: WorkerChecked) -> None:
        """Add a worker that was checked, as usable or set aside, unless it has left in the meantime."""
        if checked.address not in self._known:
            return
        if checked.worker is not None:
            self.usable[checked.address] = checked.worker
        elif checked.problem:
            self._aside[checked.address] = checked.problem
            if checked.differs:
                self._differing.add(checked.address)
        else:
            self._known.remove(checked.address)  # `update` checks it again if it is still there

    def check_start(self) -> None:
        """Raise HarnessError if workers differ from the host, or if all present workers are set aside."""
        differing = sorted(set(self._aside) & self._differing)
        if differing:
            raise HarnessError(
                self._describe(differing),
                next_step="Install the same versions on all workers, or allow differences with --allow-differences.",
            )
        if self._aside and not self.usable:
            raise HarnessError(
                f"no worker can run trials\n{self._describe(sorted(self._aside))}",
                culprit="--on",
                next_step="Repair these workers, or start others. Nothing was run.",
            )

    def _describe(self, addresses: Iterable[str]) -> str:
        return "\n".join(f"worker {address}: {self._aside[address]}" for address in addresses)

    def set_aside(self, worker: WorkerState, reason: str) -> None:
        """Exclude a usable worker from further jobs.

        Parameters
        ----------
        worker : WorkerState
            A usable worker.
        reason : str
            The reason, which messages show.
        """
        self.usable.pop(worker.address, None)
        self._aside[worker.address] = reason

    def site_of(self, worker: WorkerState) -> Site:
        """Return the description of a worker for the records of its jobs.

        Its `at_once` is the sum of the slots of all usable workers on the same machine.

        Parameters
        ----------
        worker : WorkerState
            A worker that has run a job.
        """
        slots: Counter[str] = Counter()
        for other in self.usable.values():
            slots[other.description.host] += other.slots
        description = worker.description
        versions = {**description.versions, **worker.differing}
        return Site(worker.name, description.machine, versions, at_once=max(1, slots[description.host]))

    # -- in a thread for each worker ---------------------------------------------------------------------------------

    def _check(self, address: str) -> None:
        """Check one worker, and report the result."""
        try:
            with self._may_check:
                worker = self._compare(address, self._describe_worker(address))
            self._report(WorkerChecked(address, worker))
        except (WorkerGone, OSError):  # the worker has left, or the scheduler is lost, which `WorkerMonitor` detects
            self._report(WorkerChecked(address))
        except (TransferRefused, _Unusable) as error:
            self._report(WorkerChecked(address, problem=str(error)))
        except (HarnessError, ValueError) as error:
            self._report(WorkerChecked(address, problem=str(error), differs=True))
        except Exception as error:  # without a report, the run would wait for this worker forever
            problem = in_a_line(f"{type(error).__name__}: {error}", MESSAGE_LENGTH)
            self._report(WorkerChecked(address, problem=problem, differs=True))

    @cached_property
    def _reference(self) -> Reference:
        """The versions and the code of this host."""
        return Reference(describe_versions(), describe_code(self._requirements.targets))

    def _describe_worker(self, address: str) -> WorkerDescription:
        """Return the description of a worker; send the code that it lacks before."""
        description = self._request_description(address)
        if description.lacking:
            lacking = [artifact for artifact in self._requirements.code if artifact.name in description.lacking]
            self._transfers.send(description.home, address, lacking)
            description = self._request_description(address)
        if description.lacking:
            raise _Unusable(f"it did not store the artifacts that it received: {', '.join(description.lacking)}")
        return description

    def _request_description(self, address: str) -> WorkerDescription:
        """Request a description from a worker; _Unusable if it reports a problem."""
        answer = self._caller.call(address, describe_worker, self._requirements.targets, self._requirements.code)
        description = read_description(answer)
        if description.problem:
            raise _Unusable(description.problem)
        return description

    def _compare(self, address: str, description: WorkerDescription) -> WorkerState:
        """Return the state of a new worker; HarnessError lists differences from the host that are not allowed."""
        reference = self._reference
        differences = find_differences(reference, description)
        if not differences:
            return WorkerState(address, description)
        if not self._requirements.allow_differences:
            raise HarnessError(f"has {', '.join(differences)}", culprit=description.name)
        other = {name: digest for name, digest in description.code.items() if reference.code.get(name) != digest}
        return WorkerState(address, description, {f"code of {name}": digest for name, digest in other.items()})


class _Unusable(HarnessError):
    """Raised for a worker that cannot run jobs, for another reason than a difference from the host."""
