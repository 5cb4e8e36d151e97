"""`harness suggest`: three learners worth a trial on some data, by what was measured on data like it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from tabulate import tabulate

from harness import api
from harness.cli.options import NameList, plugin_options
from harness.quantities import say

if TYPE_CHECKING:
    from harness.api import Session


@click.command()
@click.option(
    "--data", type=NameList("datasets"), required=True, help="A data set or a file: titles.csv, titles.csv(text=title)."
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@plugin_options
def suggest(data: str, as_json: bool, session: Session, debug: bool) -> None:
    """Propose three learners for some data, and say what they will cost."""
    found = api.suggest_for(data, session)
    if as_json:
        click.echo(json.dumps(asdict(found) | {"command": found.command}, indent=2))
        return
    click.echo(f"{found.data}: {found.facts.rows:,} rows, {found.facts.classes:,} classes.")
    click.echo(f"Most like it, of the data that learners were compared on: {', '.join(found.nearest)}.\n")
    rows = []
    for proposal in found.proposals:
        row = {
            "learner": proposal.learner,
            "why": proposal.reason,
            "R1 there": f"{proposal.r1:.3f}",
            "training, about": say(proposal.train_seconds, "seconds"),
            "an answer, about": say(proposal.answer_seconds, "seconds"),
        }
        rows.append(row)
    click.echo(tabulate(rows, "keys", tablefmt="simple", disable_numparse=True))
    click.echo(f"\nR1 is that on {found.proposals[0].dataset}, training in proportion to its rows. Try them:\n")
    click.echo(f"  {found.command}")
    if found.to_build:
        names = " ".join(found.to_build)
        click.echo(f"\nIt first installs, once, what these need in environments of their own: {names}")
