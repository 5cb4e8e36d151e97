"""`harness new`: a package for a learner, a data set, a metric or an experiment, ready to install."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import api
from harness.cli.options import plugin_options

if TYPE_CHECKING:
    from harness.api import Session


@click.command()
@click.argument("kind", metavar="|".join(api.KINDS_OF_PACKAGES), type=click.Choice(list(api.KINDS_OF_PACKAGES)))
@click.argument("name")
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="Where to write it.  [default: ./NAME]")
@plugin_options
def new(kind: str, name: str, out: Path | None, session: Session, debug: bool) -> None:
    """Write a new package for whatever a plugin brings, ready to install.

    It has its hook, its tests, a README and a file for CI, and holds a small example that works: `harness check NAME
    --plugins-dir DIR` passes at once.
    """
    for path in api.new_package(kind, name, out, session.catalog):
        click.echo(f"wrote {path}", err=True)
    folder = out or Path(name)
    click.echo(f"Next: harness check {name} --plugins-dir {folder}; then see {folder / 'README.md'}.")
