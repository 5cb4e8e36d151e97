"""The environments that an experiment's learners run in: found, or built where that is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.environments.building import build_environment
from harness.environments.environment import Environment, ReadyEnvironment
from harness.errors import HarnessError
from harness.experiment.resolve import Resolved, environment_of


def with_environments(resolved: Resolved, *, may_build: bool, say: Callable[[str], None]) -> Resolved:
    """The same experiment, with the environment of every learner that needs one."""
    ready: dict[str, ReadyEnvironment] = {}
    for learner in resolved.learners:
        for chain in learner.chains():
            environment = environment_of(chain)
            if environment is not None and environment.name not in ready:
                ready[environment.name] = have_environment(environment, learner.ref.name, may_build=may_build, say=say)
    return replace(resolved, environments=ready)


def have_environment(
    environment: Environment, learner: str, *, may_build: bool, say: Callable[[str], None]
) -> ReadyEnvironment:
    """The environment of a learner; HarnessError where it is not there and may not or cannot be built."""
    ready = environment.find()
    if ready is not None:
        return ready
    culprit = f"learner {learner!r}"
    if not may_build:
        raise HarnessError(
            f"needs an environment with {', '.join(environment.asked)}, which is not built",
            culprit=culprit,
            next_step=f"`harness env build {learner}` builds it",
        )
    say(f"{learner} needs packages of its own")
    try:
        return build_environment(environment, say)
    except HarnessError as error:
        raise error.within(culprit) from None
