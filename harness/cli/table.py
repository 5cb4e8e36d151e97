"""`harness table`: the comparison table of one or more results folders, from what is stored, with no training."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import NameList, plugin_options
from harness.expression import split_list
from harness.host import Catalog, discover

if TYPE_CHECKING:
    from harness.contract import MetricSpec
    from harness.record import Record
    from harness.table import By

FORMATS = ("terminal", "markdown", "latex", "csv", "json", "html")


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), default="terminal", show_default=True)
@click.option("--metrics", type=NameList("metrics"), help="Columns, in this order.")
@click.option("--by", type=click.Choice(["dataset", "learner"]), default="dataset", show_default=True)
@click.option("--mixed-machines", is_flag=True, help="Show times even where machines or threads differ.")
@plugin_options
def table(
    results: tuple[Path, ...],
    form: str,
    metrics: str | None,
    by: By,
    mixed_machines: bool,
    folders: tuple[Path, ...],
    disabled: tuple[str, ...],
    debug: bool,
) -> None:
    """Make the table of one or more results folders."""
    records, machines = gather(results)
    columns = choose_columns(discover(folders, disabled), split_list(metrics) if metrics else None, records)
    show_table(records, columns, machines, form=form, by=by, mixed_machines=mixed_machines)


def gather(results: tuple[Path, ...]) -> tuple[list[Record], dict[str, Any]]:
    """The records and machines of some folders; of a trial found twice the first one counts."""
    from harness.store import read_machines, read_records

    records: dict[str, Record] = {}
    machines: dict[str, Any] = {}
    for folder in results:
        machines |= read_machines(folder)
        for record in read_records(folder):
            records.setdefault(record.key, record)
    return list(records.values()), machines


def choose_columns(
    catalog: Catalog, names: Sequence[str] | None, records: Sequence[Record] | None = None
) -> list[MetricSpec]:
    """The metrics named; or those shown by default, less those that none of the records has a value for."""
    if names:
        return [catalog.metric(name).spec for name in names]
    shown = [entry.spec for entry in catalog.metrics if entry.spec.shown]
    if records is None or all(record.status != "ok" for record in records):
        return shown
    return [m for m in shown if any(record.scores.get(m.name) is not None for record in records)]


def show_table(
    records: list[Record],
    columns: list[MetricSpec],
    machines: dict[str, Any],
    *,
    form: str = "terminal",
    by: By = "dataset",
    mixed_machines: bool = False,
) -> None:
    """Print the table of some records."""
    from harness.render import RENDERERS, render_terminal
    from harness.table import make_table

    made = make_table(records, columns, by=by, mixed_machines=mixed_machines, machines=machines)
    if form == "terminal":
        click.echo(render_terminal(made, colour=sys.stdout.isatty()), nl=False)
    else:
        click.echo(RENDERERS[form](made), nl=False)
