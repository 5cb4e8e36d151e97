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
        click.echo(json.dumps(asdict(found) | {"command": found.command, "is_guess": found.is_guess}, indent=2))
        return
    click.echo(f"{found.data}: {found.facts.rows:,} rows, {found.facts.classes:,} classes.")
    click.echo(f"Most like it, of the data that learners were compared on: {', '.join(found.nearest)}.")
    if found.is_guess:
        click.echo("None of it is much like this data, so that all below is a guess.")
    there = list(dict.fromkeys(proposal.dataset for proposal in found.proposals))
    rows = []
    for proposal in found.proposals:
        where = {} if len(there) == 1 else {"on": proposal.dataset}
        row = {
            "learner": proposal.learner,
            "why": proposal.reason,
            "R1": f"{proposal.r1:.3f}",
            **where,
            "behind": f"{proposal.behind:.3f}",
            "one training": say(proposal.train_seconds, "seconds"),
            "an answer": say(proposal.answer_seconds, "seconds"),
        }
        rows.append(row)
    click.echo(f"\n{tabulate(rows, 'keys', tablefmt='simple', disable_numparse=True)}\n")
    click.echo(f"R1 and times: on {', '.join(there)}, training in proportion to rows; more classes take longer.")
    click.echo("Behind: the highest R1, on average over the data sets named above, the nearest counting most.")
    trained = say(found.command_seconds, "seconds")
    click.echo(f"Try them, with the parameters that were chosen there, in about {trained} of training in all:\n")
    click.echo(f"  {found.command}")
    if found.to_build:
        names = " ".join(found.to_build)
        click.echo(f"\nIt first installs, once, what these need in environments of their own: {names}")
