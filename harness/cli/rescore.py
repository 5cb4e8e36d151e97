"""`harness rescore`: metrics thought of later, from the saved ranks of a results folder, without training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import api
from harness.cli.options import FilePath, names_option, plugin_options
from harness.wording import counted

if TYPE_CHECKING:
    from harness.api import Session


@click.command()
@click.argument("results", type=FilePath())
@names_option("--metrics", kind="metrics", required=True, help="What to compute: r3,macro_f1,'mrr(depth=10)'.")
@click.option("--again", is_flag=True, help="Also where a record has the value already.")
@plugin_options
def rescore(results: Path, metrics: str, again: bool, session: Session, debug: bool) -> None:
    """Compute metrics from saved ranks and keep them in the records.

    The true classes are drawn again from the data set and the split; data that has changed since is refused.
    """
    opened = api.read_results([results], session)
    names = ", ".join(metric.name for metric in opened.columns(metrics))
    rescored = opened.rescore_folders(metrics, again=again)
    click.echo(f"{names}: computed for {counted(rescored.changed, 'trial')}, {rescored.kept} had it already")
    if rescored.failed:
        click.echo(f"{counted(rescored.failed, 'failed trial has', 'failed trials have')} no ranks: left alone")
    for line in rescored.trouble:
        click.echo(f"warning: {line}", err=True)
