"""`harness env`: the Python environments of learners with packages of their own."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from harness import api
from harness.cli.description import show_bytes
from harness.cli.lists import show_rows
from harness.cli.options import OneName, data_home_option, plugin_options
from harness.home import environments_root
from harness.wording import counted

if TYPE_CHECKING:
    from harness.api import Session

NAMES = click.argument("names", nargs=-1, required=True, type=OneName("learners"))
FOLDED = {"state": 12, "packages": 24, "learners": 20}


@click.group()
@data_home_option
def env() -> None:
    """List, build and remove the environments of learners with packages of their own."""


@env.command("list")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@plugin_options
def list_env(as_json: bool, session: Session, debug: bool) -> None:
    """List the environments that learners need, and whether they are there."""
    lines = api.describe_environments(session)
    if as_json:
        click.echo(json.dumps([asdict(line) for line in lines], indent=2))
        return
    if not lines:
        click.echo("no learner has packages of its own, and no environment is kept")
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
    show_rows(rows, FOLDED, ("packages", "bytes"), "--json has all.")
    click.echo(f"\nEnvironments are kept in {environments_root()}.", err=True)


@env.command()
@NAMES
@plugin_options
def build(names: tuple[str, ...], session: Session, debug: bool) -> None:
    """Build the environments of some learners, or of `all`, unless they are there."""
    built = api.build_environments(names, session, api.choose_progress(True, session))
    for name, ready in built.items():
        click.echo(f"{name}: {ready.name} ({counted(len(ready.packages), 'package')})")


@env.command()
@NAMES
@plugin_options
def remove(names: tuple[str, ...], session: Session, debug: bool) -> None:
    """Remove environments, by their own names or by those of learners."""
    for name in api.remove_environments(names, session):
        click.echo(f"removed {name}")
