"""A client of a cluster: of one that is started here, of one that is there, or the one that the user has."""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cluster.places import Place
from harness.errors import HarnessError, SpecError

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 10.0


class Connection:
    """A client, and all that was started for it; closing ends what this started, and nothing else."""

    def __init__(self, client: Client, opened: ExitStack) -> None:
        self.client = client
        self._opened = opened

    @property
    def address(self) -> str:
        """Of the scheduler."""
        return str(self.client.scheduler.address) if self.client.scheduler else "its address"

    def close(self) -> None:
        self._opened.close()


def connect(place: Place | Client) -> Connection:
    """Connect to a cluster; HarnessError says who does not answer, and what to do."""
    try:
        from distributed import Client  # noqa: PLC0415 (an extra, which only clusters need)
    except ImportError as error:
        raise HarnessError(
            f"trials on a cluster need dask.distributed, which cannot be imported ({error})",
            next_step='pip install "manyclass-harness[dask]"',
        ) from error
    opened = ExitStack()
    if isinstance(place, Client):
        if place.asynchronous:
            raise SpecError("on: an asynchronous client cannot be waited for: give one made without asynchronous=True")
        return Connection(place, opened)
    if not isinstance(place, Place):
        raise SpecError(f"on: expected a text or a distributed.Client (got {type(place).__name__})")
    if place.kind == "local":
        address: Any = _start_local(place.workers, opened)
    elif place.kind == "scheduler-file":
        address = _address_in(Path(place.where))
    else:
        address = place.where
    if isinstance(address, str) and address.startswith("tls:"):
        _check_certificates(place)
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:  # nobody answers; or no address, or TLS without certificates
        opened.close()
        raise HarnessError(
            f"no scheduler answers at {place} ({type(error).__name__}: {error})",
            culprit="--on",
            next_step="start one with `dask scheduler`, or name another; nothing was run",
        ) from error
    opened.callback(client.close)
    return Connection(client, opened)


def _start_local(workers: int, opened: ExitStack) -> Any:
    """A cluster on this machine, one thread a worker: trials have processes of their own, and their own limits."""
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
    """HarnessError where dask has not been told by which certificates to speak to a scheduler."""
    from distributed import Security  # noqa: PLC0415 (see above)

    if Security().get_connection_args("client")["ssl_context"] is None:
        raise HarnessError(
            f"no certificates for {place} are set",
            culprit="--on",
            next_step="name them in dask's settings, distributed.comm.tls: ca-file, client.cert and client.key",
        )


def _address_in(file: Path) -> str:
    try:
        address = json.loads(file.read_text())["address"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HarnessError(
            f"{file} is no file of a scheduler's ({type(error).__name__}: {error})",
            culprit="--on",
            next_step=f"`dask scheduler --scheduler-file {file}` writes it",
        ) from error
    return str(address)
