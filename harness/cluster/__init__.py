"""The cluster executor: runs trials on the workers of a Dask cluster, where the local executor enforces all limits.

The host is the machine on which the user starts a run. There, `open_cluster` connects to a cluster: a new one on this
machine, a running one, or that of a given client. `executor` handles events in a loop, `queue` holds the jobs, and
`workers` is the registry of workers. On a worker, `worker` runs jobs. `transfer` calls functions on workers, sends
artifacts and stores them. Both sides use `messages`. Only this package imports dask.distributed, and only for runs on a
cluster.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cluster.messages import Requirements
from harness.errors import HarnessError, SpecError
from harness.executors.base import Executor
from harness.syntax.values import Place

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 10.0
"""The time that a scheduler has to accept the connection."""


@contextmanager
def open_cluster(place: Place | Client, requirements: Requirements, say: Callable[[str], None]) -> Iterator[Executor]:
    """Connect to a cluster, yield an executor for its workers, and close both at the end.

    Parameters
    ----------
    place : Place or distributed.Client
        The cluster.
    requirements : Requirements
        The code, environments and versions that workers need.
    say : callable
        Called with each warning, a line of text.

    Raises
    ------
    HarnessError
        If dask is not installed, or if the scheduler cannot be reached.
    """
    connection = connect(place)
    try:
        from harness.cluster.executor import ClusterExecutor  # noqa: PLC0415 (imports dask, which is an extra)

        executor = ClusterExecutor(connection, requirements, say)
    except BaseException:
        connection.close()
        raise
    try:
        yield executor
    finally:
        executor.close()


class Connection:
    """A client of a cluster, with the resources that were opened for it.

    Parameters
    ----------
    client : distributed.Client
        The client.
    opened : ExitStack
        Closes the client and the cluster, if `connect` has created them.
    """

    def __init__(self, client: Client, opened: ExitStack) -> None:
        self.client = client
        self._opened = opened

    @property
    def address(self) -> str:
        """The address of the scheduler, for messages."""
        return str(self.client.scheduler.address) if self.client.scheduler else "its address"

    def close(self) -> None:
        """Close the client and the cluster that `connect` has created. A client of the user stays open."""
        self._opened.close()


def connect(place: Place | Client) -> Connection:
    """Connect to a cluster, and start it first if `place` is local.

    Parameters
    ----------
    place : Place or distributed.Client
        The cluster. A client must be synchronous.

    Raises
    ------
    HarnessError
        If dask is not installed, if the scheduler cannot be reached, or if certificates are missing.
    SpecError
        If `place` is an asynchronous client, or has another type.
    """
    try:
        from distributed import Client  # noqa: PLC0415 (an extra, which only clusters need)
    except ImportError as error:
        raise HarnessError(
            f"trials on a cluster need dask.distributed, which cannot be imported ({error})",
            next_step='Run `pip install "manyclass-harness[dask]"`.',
        ) from error
    opened = ExitStack()
    if isinstance(place, Client):
        if place.asynchronous:
            raise SpecError("on: an asynchronous client cannot be used: create it without asynchronous=True")
        return Connection(place, opened)
    if not isinstance(place, Place):
        raise SpecError(f"on: expected a text or a distributed.Client (got {type(place).__name__})")
    address = _find_address(place, opened)
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:  # no reply, an invalid address, or TLS without certificates
        opened.close()
        raise HarnessError(
            f"no scheduler answers at {place} ({type(error).__name__}: {error})",
            culprit="--on",
            next_step="Start one with `dask scheduler`, or name another. Nothing was run.",
        ) from error
    opened.callback(client.close)
    return Connection(client, opened)


def _find_address(place: Place, opened: ExitStack) -> Any:
    """Return the address of a scheduler, or a new cluster on this machine; `Client` accepts both."""
    if place.kind == "local":
        return _start_local(place.workers, opened)
    address = _read_scheduler_file(Path(place.where)) if place.kind == "scheduler-file" else place.where
    if address.startswith("tls:"):
        _check_certificates(place)
    return address


def _start_local(workers: int, opened: ExitStack) -> Any:
    """Start a cluster on this machine. One thread per worker is enough, since trials run in separate processes."""
    from distributed import LocalCluster  # noqa: PLC0415 (see above)

    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
    )
    opened.callback(cluster.close)
    return cluster


def _check_certificates(place: Place) -> None:
    """Raise HarnessError if Dask's settings name no certificates."""
    from distributed import Security  # noqa: PLC0415 (see above)

    if Security().get_connection_args("client")["ssl_context"] is None:
        raise HarnessError(
            f"no certificates for {place} are set",
            culprit="--on",
            next_step="Name them in Dask's settings: ca-file, client.cert and client.key of distributed.comm.tls.",
        )


def _read_scheduler_file(file: Path) -> str:
    """Return the address in a scheduler file; HarnessError if the file is missing or invalid."""
    try:
        address = json.loads(file.read_text())["address"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HarnessError(
            f"{file} is not a scheduler file ({type(error).__name__}: {error})",
            culprit="--on",
            next_step=f"`dask scheduler --scheduler-file {file}` writes it.",
        ) from error
    return str(address)
