"""`harness reproduce`: run an experiment of a paper on the data at hand; the published numbers stand beside ours."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.executing import COMMON, Ran, end_code, execute, experiment_path
from harness.cli.options import OneName, plugin_options
from harness.cli.plot import draw_records
from harness.cli.table import QUICK, choose_columns, show_table
from harness.errors import HarnessError, SpecError
from harness.figures.file_formats import FILE_FORMATS
from harness.host import Catalog, discover
from harness.tables.formats import FORMATS
from harness.wording import counted

if TYPE_CHECKING:
    from harness.experiment.spec import Experiment
    from harness.tables.grid import Grid


@click.command()
@click.argument("name", required=False, type=OneName("experiments"))
@click.option("--list", "listed", is_flag=True, help="List what can be reproduced, how long it takes, and stop.")
@click.option("--quick", is_flag=True, help="A small version, in under two minutes.")
@click.option("--jobs", type=int, help="Trials at once; times are clean only with 1.  [default: 1]")
@click.option("--timeout", help="Kill a trial after this time: 90s, 10m, 2h.")
@click.option("--memory", help="Kill a trial above this resident memory: 512MB, 4GB.")
@click.option("--out", type=click.Path(path_type=Path), help="Results folder.  [default: results/NAME]")
@click.option("--retry-failed", is_flag=True, help="Run failed trials again.")
@click.option("--reuse", multiple=True, type=click.Path(path_type=Path), help="Take finished trials from this folder.")
@plugin_options
def reproduce(
    name: str | None,
    listed: bool,
    quick: bool,
    folders: tuple[Path, ...],
    disabled: tuple[str, ...],
    debug: bool,
    **flags: Any,
) -> int:
    """Run an experiment of a paper and put the published numbers beside ours.

    Data sets that are not at hand stand in the table with the reason. The same command again resumes.
    """
    from harness.executors.local import LocalExecutor
    from harness.experiment.resolve import resolve
    from harness.experiment.spec import build

    catalog = discover(folders, disabled)
    if listed:
        return show_list(catalog)
    if name is None:
        raise SpecError("reproduce what? `harness reproduce --list` shows what there is")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill ends like Ctrl-C
    raw, left_out = _read(name, quick, flags, catalog)
    experiment = build(raw, name)
    resolved = resolve(experiment, catalog)
    _estimate(experiment, quick)
    flags["out"] = flags["out"] or Path("results") / f"{name}{QUICK * quick}"
    with LocalExecutor(preload=None, threads=experiment.threads, common=COMMON) as executor:
        executor.prepare(
            preload=[module for learner in resolved.learners for module in learner.preload],
            threads=experiment.threads,
            path=[str(folder.resolve()) for folder in folders],
        )
        ran = execute(resolved, catalog, raw, executor, flags, without_absent=True)
    _report(name, experiment, ran, catalog, quick, left_out)
    return end_code(ran) if ran.records else 1


def _read(name: str, quick: bool, flags: dict[str, Any], catalog: Catalog) -> tuple[dict[str, Any], str]:
    """The experiment as one raw table, and what its quick version does without."""
    from harness.experiment.spec import quick_version, read_file, tell_left_out

    path = experiment_path(name, catalog)
    raw = read_file(path)
    chosen = quick_version(raw, str(path)) if quick else {key: value for key, value in raw.items() if key != "quick"}
    left_out = tell_left_out(raw, chosen, str(path)) if quick else ""
    return chosen | {key: flags[key] for key in ("jobs", "timeout", "memory") if flags[key] is not None}, left_out


def _estimate(experiment: Experiment, quick: bool) -> None:
    """Say how long it will take, before it begins."""
    if quick:
        click.echo("The quick version: its numbers are not those to compare with the published ones.", err=True)
    elif experiment.minutes:
        click.echo(
            f"This took about {counted(f'{experiment.minutes:g}', 'minute')} on two cores with the data that was at "
            "hand; it can be interrupted, and the same command goes on from there. --quick runs a small version.",
            err=True,
        )


# -- telling ---------------------------------------------------------------------------------------------------------


def show_list(catalog: Catalog) -> int:
    """Print every registered experiment, with what it takes."""
    from tabulate import tabulate

    from harness.experiment.spec import build, read_file

    rows = []
    for entry in catalog.experiments:
        path = experiment_path(entry.spec.name, catalog)
        raw = read_file(path)
        experiment = build(raw, str(path))
        rows.append(
            {
                "name": entry.spec.name,
                "minutes": f"{experiment.minutes:g}" if experiment.minutes else "-",
                "quick": "yes" if raw.get("quick") else "-",
                "published": "yes" if entry.spec.published else "-",
                "data sets": ", ".join(dict.fromkeys(dataset.wanted for dataset in experiment.datasets)),
                "summary": entry.spec.summary,
            }
        )
    widths = [None, None, None, None, 28, 48]
    click.echo(tabulate(rows, headers="keys", tablefmt="simple", maxcolwidths=widths, disable_numparse=True))
    return 0


def _report(name: str, experiment: Experiment, ran: Ran, catalog: Catalog, quick: bool, left_out: str) -> None:
    """Print the tables, and keep them in every format, with the figures, beside the records."""
    click.echo()
    columns = choose_columns(catalog, experiment.metrics, ran.records)
    if ran.records:
        show_table(ran.records, columns, ran.machines, notes=ran.incompatible)
        _keep_table(ran, columns)
    grid = _against(name, experiment, ran, catalog, quick=quick)
    if grid is not None:
        _keep_grid(grid, ran.folder)
    for dataset, reason in {**experiment.absent, **ran.absent}.items():
        first, *others = reason.splitlines()
        told = f"{first}; {others[-1]}" if others else first  # the addresses between them are for `data info`
        click.echo(f"\n{dataset} is not in the table of ours: {told}", err=True)
    if left_out:
        click.echo(f"\nThe quick version: {left_out}.", err=True)
    for path in _draw(experiment, ran, catalog):
        click.echo(f"wrote {path}", err=True)
    click.echo(f"\nResults are in {ran.folder}.", err=True)


def _against(name: str, experiment: Experiment, ran: Ran, catalog: Catalog, *, quick: bool) -> Grid | None:
    """Published numbers beside ours, printed; None where there are none to show."""
    from harness.cli.table import published_path
    from harness.groups import group_records
    from harness.metric import find_metric
    from harness.tables.against import against_grid
    from harness.tables.published import read_published

    path = published_path(name, catalog)
    if path is None:
        return None
    numbers = read_published(path)
    metrics = {number.metric: find_metric(number.metric, catalog).spec for number in numbers}
    reasons = {dataset: f"data not available: {_next_step(text)}" for dataset, text in ran.absent.items()}
    reasons |= dict.fromkeys(experiment.absent, "not available")
    title = f"{name}: published and ours" + (" (QUICK: not to be compared)" if quick else "")
    grid = against_grid(numbers, group_records(ran.records), metrics, title, reasons, run_only=quick)
    if not grid.rows:
        return None
    click.echo()
    click.echo(grid.render(), nl=False)
    return grid


def _next_step(reason: str) -> str:
    """The command that an error about missing data names, which fits into a cell; else the error's first words."""
    commands = [part for part in reason.split("`") if part.startswith("harness data")]
    return commands[0] if commands else reason.split(": ", 1)[-1][:60]


def _keep_table(ran: Ran, columns: Any) -> None:
    from harness.groups import group_records
    from harness.tables.table import make_table

    made = make_table(group_records(ran.records), columns, machines=ran.machines, notes=ran.incompatible)
    for form in FORMATS.values():
        (ran.folder / f"table.{form.ending}").write_text(form.render_table(made), encoding="utf-8")


def _keep_grid(grid: Grid, folder: Path) -> None:
    for form in FORMATS.values():
        (folder / f"published.{form.ending}").write_text(form.render_grid(grid), encoding="utf-8")


def _draw(experiment: Experiment, ran: Ran, catalog: Catalog) -> list[Path]:
    """The figures that the experiment asks for; one that cannot be drawn from these records is told, not fatal."""
    written = []
    for figure in experiment.figures:
        try:
            drawing = draw_records(figure.kind, ran.records, figure.metric, figure.x, catalog)
        except HarnessError as error:
            click.echo(f"figure {figure.name}: {error}", err=True)
            continue
        for ending in FILE_FORMATS:
            written.append(drawing.save(ran.folder / f"{figure.name}.{ending}"))
    return written
