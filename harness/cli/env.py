"""Commands about the Python environments of learners that need packages of their own: list, build and remove."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click

from harness.cli.data import show_bytes
from harness.cli.options import OneName, data_home_option, plugin_options
from harness.cli.output import show_rows
from harness.environments.environment import (
    Environment,
    EnvironmentManifest,
    ReadyEnvironment,
    check_kept,
    describe_state,
    environment_for,
    list_environments,
    remove_environment,
)
from harness.errors import HarnessError, SpecError
from harness.experiment.load import ALL
from harness.experiment.resolve import Progress, find_or_build_environment
from harness.files.home import environments_root
from harness.host.catalog import Catalog
from harness.host.discovery import Session
from harness.runner.progress import choose_progress
from harness.text import counted


@dataclass(frozen=True)
class EnvironmentLine:
    """An environment, its state, and the learners that run in it."""

    name: str
    state: str
    asked: tuple[str, ...]
    learners: tuple[str, ...]
    n_bytes: int = 0


def describe_environments(session: Session) -> list[EnvironmentLine]:
    """Return the environments that learners need, then the unused ones."""
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
        line = EnvironmentLine(environment.name, describe_state(environment), asked, tuple(sorted(names)), n_bytes)
        lines.append(line)
    for name, other in kept.items():
        lines.append(EnvironmentLine(name, _describe_unused(other.manifest), other.manifest.asked, (), other.n_bytes))
    return lines


def _describe_unused(manifest: EnvironmentManifest) -> str:
    """Return why no learner uses an environment; another installation may share the data home."""
    if manifest.prefix not in ("", sys.prefix):
        return f"belongs to {manifest.prefix}"
    return "unused"


def build_environments(names: Sequence[str], session: Session, progress: Progress) -> dict[str, ReadyEnvironment]:
    """Build missing environments of learners.

    Parameters
    ----------
    names : names of learners; `all` means all learners that have an environment.
    session : Session
        Installed plugins.
    progress : Progress
        Receives a line for each environment.

    Returns
    -------
    dict
        The environment of each learner.

    Raises
    ------
    HarnessError
        If an environment cannot be built, after the others were built; names each of them.
    """
    wanted = {name: _environment_of(name, session.catalog) for name in spell_out_all(names, session.catalog)}
    ready: dict[str, ReadyEnvironment] = {}
    failed: dict[str, HarnessError] = {}
    for name, environment in wanted.items():
        if environment.name in failed:  # failed for another learner
            continue
        try:
            ready[name] = find_or_build_environment(environment, [name], build=True, say=progress.say)
        except HarnessError as error:
            failed[environment.name] = error
            progress.say(error.complaint)
    if failed:
        raise _all_of(list(failed.values()), built=len({one.name for one in ready.values()}))
    return ready


def _environment_of(name: str, catalog: Catalog) -> Environment:
    environment = environment_for(catalog.learner(name).spec.environment)
    if environment is None:
        raise SpecError("needs no environment", culprit=f"learner {name!r}")
    return environment


def _all_of(errors: Sequence[HarnessError], *, built: int) -> HarnessError:
    """Return one error for several."""
    if len(errors) == 1 and not built:
        return errors[0]
    lines = "\n".join(str(error) for error in errors)
    return HarnessError(f"{counted(len(errors), 'environment')} could not be built; {built} are ready\n{lines}")


def spell_out_all(names: Sequence[str], catalog: Catalog) -> list[str]:
    """Return the names, with `all` replaced by all learners that have an environment.

    Parameters
    ----------
    names : sequence of str
        Names of learners, or `all`.
    catalog : Catalog
        The registered learners.
    """
    if ALL not in names:
        return list(names)
    in_need = [entry.spec.name for entry in catalog.learners if entry.spec.environment]
    return list(dict.fromkeys([*(name for name in names if name != ALL), *sorted(in_need)]))


def remove_environments(names: Sequence[str], session: Session) -> list[str]:
    """Remove environments, by their names or by names of learners, and return the names of the environments.

    Parameters
    ----------
    names : sequence of str
        Names of environments or of learners.
    session : Session
        The plugins that register the learners.

    Raises
    ------
    HarnessError
        If a name is unknown. No environment is removed then.
    """
    doomed = list(dict.fromkeys(_name_of(name, session.catalog) for name in names))
    for name in doomed:
        check_kept(name)  # all names are checked before the first removal
    for name in doomed:
        remove_environment(name)
    return doomed


def _name_of(text: str, catalog: Catalog) -> str:
    """Return the name of the learner's environment; the text itself if no learner has this name."""
    for entry in catalog.learners:
        environment = environment_for(entry.spec.environment)
        if entry.spec.name == text and environment is not None:
            return environment.name
    return text


NAMES = click.argument("names", nargs=-1, required=True, type=OneName("learners"))
FOLDED = {"state": 12, "packages": 24, "learners": 20}


@click.group()
@data_home_option
def env() -> None:
    """List, build and remove the Python environments of learners that need one."""


@env.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plugin_options
def list_env(as_json: bool, session: Session, debug: bool) -> None:
    """List environments, their state and the learners that use them."""
    lines = describe_environments(session)
    if as_json:
        click.echo(json.dumps([asdict(line) for line in lines], indent=2))
        return
    if not lines:
        click.echo("No learner needs an environment, and none is kept.")
        return
    rows = []
    for line in lines:
        row = {
            "environment": line.name,
            "state": line.state,
            "packages": ", ".join(line.asked),
            "learners": ", ".join(line.learners),
            "bytes": show_bytes(line.n_bytes) if line.n_bytes else "",
        }
        rows.append(row)
    show_rows(rows, FOLDED, ("packages", "bytes"), "Use --json for all.")
    click.echo(f"\nFolder: {environments_root()}", err=True)


@env.command()
@NAMES
@plugin_options
def build(names: tuple[str, ...], session: Session, debug: bool) -> None:
    """Build the missing environments of learners; `all` means all learners."""
    built = build_environments(names, session, choose_progress(True, session))
    for name, ready in built.items():
        click.echo(f"{name}: {ready.name} ({counted(len(ready.packages), 'package')})")


@env.command()
@NAMES
@plugin_options
def remove(names: tuple[str, ...], session: Session, debug: bool) -> None:
    """Remove environments, by their names or by the names of learners."""
    for name in remove_environments(names, session):
        click.echo(f"removed {name}")
