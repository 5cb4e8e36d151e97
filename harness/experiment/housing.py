"""The environments that an experiment's learners run in: found, or built where that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
                needy = [inner.ref.name for inner in chain if inner.entry.spec.environment]
                ready[environment.name] = have_environment(environment, needy, may_build=may_build, say=say)
    return replace(resolved, environments=ready)


def have_environment(
    environment: Environment, learners: Sequence[str], *, may_build: bool, say: Callable[[str], None]
) -> ReadyEnvironment:
    """The environment of a learner, or of several that are inside each other.

    HarnessError where it is not there and may not or cannot be built.
    """
    ready = environment.find()
    if ready is not None:
        return ready
    together = " and ".join(learners)
    culprit = f"learner {together!r}"
    if not may_build:
        # What several of them need together is no learner's own, and only a run of them asks for it.
        builder = f"`harness env build {learners[0]}`" if len(learners) == 1 else "a run without --no-build"
        raise HarnessError(
            f"needs an environment with {', '.join(environment.asked)}, which is not built",
            culprit=culprit,
            next_step=f"{builder} builds it",
        )
    say(f"{together} needs packages of its own")
    try:
        return build_environment(environment, say)
    except HarnessError as error:
        raise error.within(culprit) from None
