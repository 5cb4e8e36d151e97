"""The environments that trials run in on a worker: found, or built there, with the versions that the host has."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator

from harness.cluster.messages import Order, WantedEnvironment
from harness.environments.building import build_environment
from harness.environments.environment import Environment, ReadyEnvironment, environment_for
from harness.errors import HarnessError
from harness.home import environments_root, not_writable


def have_environments(order: Order, say: Callable[[str], None]) -> dict[str, ReadyEnvironment]:
    """The environment of the order's own group, where it has one; HarnessError where it cannot be had or differs."""
    wanted = order.environments.get(order.job.group)
    if wanted is None:
        return {}
    environment = environment_for(wanted.asked)
    assert environment is not None
    ready = environment.find()
    if ready is None:
        say("building its environment")
        with _alone(environment):
            ready = build_environment(environment, say, wanted.packages)
    differing = _differences(wanted, ready)
    if differing and not order.allow_differences:
        raise HarnessError(
            f"its environment for {order.job.group} has {', '.join(differing)}",
            next_step=(
                "remove it there with `harness env remove`, so that it is built like the host's, "
                "or allow it with --allow-differences"
            ),
        )
    return {order.job.group: ready}


def _differences(wanted: WantedEnvironment, ready: ReadyEnvironment) -> list[str]:
    differing = []
    for package, version in wanted.packages.items():
        found = ready.packages.get(package, "absent")
        if found != version:
            differing.append(f"{package} {found}, and the host's has {version}")
    return differing


@contextlib.contextmanager
def _alone(environment: Environment) -> Iterator[None]:
    """Build one at a time: workers that share a data home would else all build the same."""
    try:
        environments_root().mkdir(parents=True, exist_ok=True)
        with open(environments_root() / f".{environment.name}.lock", "a") as lock:
            with contextlib.suppress(OSError):  # a file system without locks: then several build, and one is kept
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise not_writable(error) from error
