"""Environments by the learners that they are for: what is kept, building ahead of a run, removing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.api.session import Session
from harness.catalog import Catalog
from harness.environments.environment import ReadyEnvironment, environment_for, tell_state
from harness.environments.keeping import list_environments, remove_environment
from harness.errors import SpecError
from harness.experiment.housing import have_environment
from harness.experiment.learner_groups import ALL
from harness.progress import Progress


@dataclass(frozen=True)
class EnvironmentLine:
    """An environment, whether it is there or could be, and who runs in it."""

    name: str
    state: str
    asked: tuple[str, ...]
    learners: tuple[str, ...]
    n_bytes: int = 0


def describe_environments(session: Session) -> list[EnvironmentLine]:
    """Those that learners need, and then those that are kept and that nobody needs any more."""
    users: dict[tuple[str, ...], list[str]] = {}
    for entry in session.catalog.learners:
        environment = environment_for(entry.spec.environment)
        if environment is not None:
            users.setdefault(environment.asked, []).append(entry.spec.name)
    kept = {one.name: one for one in list_environments()}
    lines = []
    for asked, names in sorted(users.items()):
        environment = environment_for(asked)
        assert environment is not None
        found = kept.pop(environment.name, None)
        n_bytes = found.n_bytes if found else 0
        line = EnvironmentLine(environment.name, tell_state(environment), asked, tuple(sorted(names)), n_bytes)
        lines.append(line)
    for name, other in kept.items():
        lines.append(EnvironmentLine(name, "not needed", other.manifest.asked, (), other.n_bytes))
    return lines


def build_environments(names: Sequence[str], session: Session, progress: Progress) -> dict[str, ReadyEnvironment]:
    """The environments of these learners, by learner, built where they are not there; `all` stands for all of them."""
    ready = {}
    for name in spell_out_all(names, session.catalog):
        environment = environment_for(session.catalog.learner(name).spec.environment)
        if environment is None:
            raise SpecError("needs no environment: it runs as it is", culprit=f"learner {name!r}")
        ready[name] = have_environment(environment, name, may_build=True, say=progress.say)
    return ready


def spell_out_all(names: Sequence[str], catalog: Catalog) -> list[str]:
    """The names, with every learner that has packages of its own in the place of `all`."""
    if ALL not in names:
        return list(names)
    in_need = [entry.spec.name for entry in catalog.learners if entry.spec.environment]
    return list(dict.fromkeys([*(name for name in names if name != ALL), *sorted(in_need)]))


def remove_environments(names: Sequence[str], session: Session) -> list[str]:
    """Remove environments by their names, or by those of learners; gives the names of what was removed."""
    doomed = list(dict.fromkeys(_name_of(name, session.catalog) for name in names))
    for name in doomed:
        remove_environment(name)
    return doomed


def _name_of(text: str, catalog: Catalog) -> str:
    """The environment of a learner of this name, else the text itself."""
    for entry in catalog.learners:
        environment = environment_for(entry.spec.environment)
        if entry.spec.name == text and environment is not None:
            return environment.name
    return text
