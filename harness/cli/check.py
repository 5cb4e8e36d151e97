"""`harness check NAME`: the public conformance suite on a learner, a data set or a metric, each check on its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from harness import api
from harness.cli.options import OneName, plugin_options
from harness.experiment.units import parse_duration

if TYPE_CHECKING:
    from harness.api import Session

WORDS = {"ok": "ok", "failed": "FAIL", "skipped": "n/a"}


@click.command()
@click.argument("name", type=OneName("learners", "datasets", "metrics"))
@click.option("--timeout", default="60s", show_default=True, help="For each check.")
@plugin_options
def check(name: str, timeout: str, session: Session, debug: bool) -> int:
    """Run the conformance suite on a learner, a data set or a metric.

    A learner may also be module:Class, a data set a file such as ./titles.csv.
    """
    try:
        seconds = parse_duration(timeout)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--timeout") from None
    checked = api.find_checked(name, session.catalog)
    click.echo(f"{checked.kind} {name} ({checked.entry.origin})")
    counts: Counter[str] = Counter()
    for result in api.run_checks(checked, session, seconds):
        word = WORDS[result.status]
        counts[word] += 1
        why = f": {result.reason}" if result.reason else ""
        click.echo(f"  {word:<5} {result.name.replace('_', ' ')}{why}")
    click.echo(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["FAIL"] else 0
