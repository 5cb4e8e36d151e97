"""Environments by the learners that they are for: what is kept, building ahead of a run, removing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from harness.api.session import Session
from harness.catalog import Catalog
from harness.environments.environment import Environment, Manifest, ReadyEnvironment, environment_for, tell_state
from harness.environments.keeping import check_kept, list_environments, remove_environment
from harness.errors import HarnessError, SpecError
from harness.experiment.housing import have_environment
from harness.experiment.learner_groups import ALL
from harness.progress import Progress
from harness.wording import counted


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
        lines.append(EnvironmentLine(name, _tell_unused(other.manifest), other.manifest.asked, (), other.n_bytes))
    return lines


def _tell_unused(manifest: Manifest) -> str:
    """Why no learner of this session is there for an environment: other installations may share the data home."""
    if manifest.prefix not in ("", sys.prefix):
        return f"of another Python, {manifest.prefix}"
    return "not needed"


def build_environments(names: Sequence[str], session: Session, progress: Progress) -> dict[str, ReadyEnvironment]:
    """The environments of these learners, by learner, built where they are not there; `all` stands for all of them.

    One that cannot be built keeps no other from being built: HarnessError tells of all of those in the end.
    """
    wanted = {name: _environment_of(name, session.catalog) for name in spell_out_all(names, session.catalog)}
    ready: dict[str, ReadyEnvironment] = {}
    failed: dict[str, HarnessError] = {}
    for name, environment in wanted.items():
        if environment.name in failed:  # another learner's as well
            continue
        try:
            ready[name] = have_environment(environment, [name], may_build=True, say=progress.say)
        except HarnessError as error:
            failed[environment.name] = error
            progress.say(error.complaint)
    if failed:
        raise _all_of(list(failed.values()), built=len({one.name for one in ready.values()}))
    return ready


def _environment_of(name: str, catalog: Catalog) -> Environment:
    environment = environment_for(catalog.learner(name).spec.environment)
    if environment is None:
        raise SpecError("needs no environment: it runs as it is", culprit=f"learner {name!r}")
    return environment


def _all_of(errors: Sequence[HarnessError], *, built: int) -> HarnessError:
    """One error in the place of several."""
    if len(errors) == 1 and not built:
        return errors[0]
    told = "\n".join(str(error) for error in errors)
    return HarnessError(f"{counted(len(errors), 'environment')} could not be built; {built} are there\n{told}")


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
        check_kept(name)  # before any of them goes
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
