"""`harness table`: the comparison table of one or more results folders, from what is stored, with no training."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import NameList, plugin_options
from harness.errors import HarnessError
from harness.expression import split_list
from harness.host import Catalog, discover
from harness.metric import find_metric
from harness.stats import SPREADS, TESTS
from harness.tables.formats import FORMATS
from harness.tables.table import ROW_HEADINGS

if TYPE_CHECKING:
    from harness.contract import MetricSpec
    from harness.machine import Machine
    from harness.record import Record

TEST_HELP = "What tells learners apart: sign test, corrected resampled t-test, or wins in nine of ten trials."
SPREAD_HELP = "Behind the ±: standard deviation, Student's 95% interval, or the papers' binomial one."
QUICK = "-quick"
"""How the folder of a quick version ends."""


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="terminal", show_default=True)
@click.option("--metrics", type=NameList("metrics"), help="Columns, in this order.")
@click.option("--by", type=click.Choice(list(ROW_HEADINGS)), default="dataset", show_default=True)
@click.option("--mixed-machines", is_flag=True, help="Show times even where machines or threads differ.")
@click.option("--test", type=click.Choice(list(TESTS)), default="sign", show_default=True, help=TEST_HELP)
@click.option("--spread", type=click.Choice(list(SPREADS)), default="sd", show_default=True, help=SPREAD_HELP)
@click.option("--matrix", is_flag=True, help="Instead: trials won, tied and lost, each learner against each other one.")
@click.option("--ranks", is_flag=True, help="Instead: average ranks over data sets (Friedman, Nemenyi).")
@click.option("--against", metavar="published|FILE.csv", help="Instead: published numbers with ours beside them.")
@plugin_options
def table(
    results: tuple[Path, ...],
    metrics: str | None,
    folders: tuple[Path, ...],
    disabled: tuple[str, ...],
    debug: bool,
    matrix: bool,
    ranks: bool,
    against: str | None,
    **shape: Any,
) -> None:
    """Make the table of one or more results folders."""
    from harness.store import read_incompatible

    if matrix + ranks + (against is not None) > 1:
        raise HarnessError("--matrix, --ranks and --against are tables of their own: give one of them")
    records, machines = gather(results)
    catalog = discover(folders, disabled)
    names = split_list(metrics) if metrics else None
    columns = choose_columns(catalog, names, records)
    if against is not None:
        show_against(against, results, records, catalog, names, shape["form"])
    elif matrix or ranks:
        show_pairwise(records, columns if names else columns[:1], shape, matrix=matrix)
    else:
        incompatible = dict.fromkeys(line for folder in results for line in read_incompatible(folder))
        show_table(records, columns, machines, notes=list(incompatible), **shape)


def gather(results: tuple[Path, ...]) -> tuple[list[Record], dict[str, Machine]]:
    """The records and machines of some folders; of a trial found twice the first one counts."""
    from harness.store import read_machines, read_records

    records: dict[str, Record] = {}
    machines: dict[str, Machine] = {}
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
        return [find_metric(name, catalog).spec for name in names]
    shown = [entry.spec for entry in catalog.metrics if entry.spec.shown]
    if records is None or all(record.status != "ok" for record in records):
        return shown
    return [m for m in shown if any(record.scores.get(m.name) is not None for record in records)]


def show_table(
    records: list[Record],
    columns: list[MetricSpec],
    machines: dict[str, Machine],
    *,
    form: str = "terminal",
    by: str = "dataset",
    mixed_machines: bool = False,
    test: str = "sign",
    spread: str = "sd",
    notes: Sequence[str] = (),
) -> None:
    """Print the table of some records, with notes at its foot."""
    from harness.groups import group_records
    from harness.tables.render_terminal import table_to_terminal
    from harness.tables.table import make_table

    shape: dict[str, Any] = {"by": by, "mixed_machines": mixed_machines, "test": test, "spread": spread}
    made = make_table(group_records(records), columns, machines=machines, notes=notes, **shape)
    if form == "terminal":
        click.echo(table_to_terminal(made, colour=sys.stdout.isatty()), nl=False)
    else:
        click.echo(made.render(form), nl=False)


def show_pairwise(records: list[Record], columns: list[MetricSpec], shape: dict[str, Any], *, matrix: bool) -> None:
    """Print for each metric who beats whom, or the average ranks over data sets."""
    from harness.groups import group_records
    from harness.tables.pairwise import matrix_grid, ranks_grid

    lines = group_records(records)
    grids = [matrix_grid(lines, m, shape["test"]) if matrix else ranks_grid(lines, m) for m in columns]
    click.echo("\n".join(grid.render(shape["form"]) for grid in grids), nl=False)


def show_against(
    against: str, results: Sequence[Path], records: list[Record], catalog: Catalog, names: list[str] | None, form: str
) -> None:
    """Print the published numbers with ours beside them."""
    from harness.groups import group_records
    from harness.tables.against import against_grid
    from harness.tables.published import read_published

    path = find_published(results, catalog) if against == "published" else Path(against)
    wanted = None if names is None else {find_metric(name, catalog).spec.name for name in names}
    numbers = [number for number in read_published(path) if wanted is None or number.metric in wanted]
    metrics = {number.metric: find_metric(number.metric, catalog).spec for number in numbers}
    quick = any(folder.name.endswith(QUICK) for folder in results)
    title = f"{path.stem}{' (QUICK: not to be compared)' * quick}"
    grid = against_grid(numbers, group_records(records), metrics, title, run_only=quick)
    click.echo(grid.render(form), nl=False)


def find_published(results: Sequence[Path], catalog: Catalog) -> Path:
    """The published numbers of the experiment that a results folder was made by."""
    from harness.experiment.spec import read_file
    from harness.store import EXPERIMENT

    found = [read_file(folder / EXPERIMENT).get("name") for folder in results]
    names = [str(name) for name in found if name]
    for name in names:
        path = published_path(name, catalog)
        if path is not None:
            return path
    called = ", ".join(map(repr, names))
    why = (
        f"{called} is no registered experiment that has any"
        if names
        else "it was not made by an experiment that has a name"
    )
    raise HarnessError(
        f"no published numbers for {', '.join(map(str, results))}: {why}; `harness reproduce --list` shows the "
        "experiments that have some, and --against FILE.csv reads numbers of your own"
    )


def published_path(name: str, catalog: Catalog) -> Path | None:
    """The file of published numbers of a registered experiment, where it has one."""
    from importlib import resources

    for entry in catalog.experiments:
        if entry.spec.name == name and entry.spec.published:
            package, _, file = entry.spec.published.partition(":")
            return Path(str(resources.files(package) / file))
    return None
