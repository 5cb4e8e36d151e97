"""`harness plot`: a figure of one or more results folders, from what is stored, with no training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import OneName, plugin_options
from harness.cli.table import gather
from harness.errors import HarnessError
from harness.figures.kinds import FIGURE_KINDS
from harness.host import discover


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(list(FIGURE_KINDS)), required=True, help="What to draw.")
@click.option("--metric", type=OneName("metrics"), help="What to measure by.  [default: r1; scaling: train]")
@click.option(
    "--x",
    "across",
    help="curve: a metric instead of passes; sweep: the parameter; scaling: classes, examples or features; "
    "pareto: the cost.  [default: pass; the one swept; classes; train]",
)
@click.option("--datasets", help="Only these data sets.")
@click.option("--learners", help="Only these learners, by their labels.")
@click.option(
    "--out",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Files to write: .png, .svg or .pdf.  [default: RESULTS/KIND.png and .svg]",
)
@plugin_options
def plot(
    results: tuple[Path, ...],
    kind: str,
    metric: str | None,
    across: str | None,
    datasets: str | None,
    learners: str | None,
    out: tuple[Path, ...],
    folders: tuple[Path, ...],
    disabled: tuple[str, ...],
    debug: bool,
) -> None:
    """Draw a figure of one or more results folders.

    curve: by pass (run with --curves). sweep: by a parameter. scaling: by the size of the data, with the slope.
    pareto: score against cost. cd: mean ranks over data sets and their critical difference. bar: side by side.
    """
    records, _ = gather(results)
    records = _only(_only(records, "dataset", datasets), "label", learners)
    drawing = draw_records(kind, records, metric, across, discover(folders, disabled))
    for path in out or [results[0] / f"{kind}.{form}" for form in ("png", "svg")]:
        drawing.save(path)
        click.echo(f"wrote {path}", err=True)


def draw_records(kind: str, records: Any, metric: str | None, across: str | None, catalog: Any) -> Any:
    """The panels or the diagram that were asked for, their metrics looked up."""
    from harness.figures import kinds
    from harness.groups import group_records
    from harness.metric import find_metric

    def find(name: str) -> Any:
        return find_metric(name, catalog).spec

    return kinds.make_drawing(kind, group_records(records), find, metric=metric, x=across)


def _only(records: list[Any], field: str, names: str | None) -> list[Any]:
    """The records whose field is one of these names; a name that none has is an error."""
    if names is None:
        return records
    from harness.expression import split_list

    wanted, known = split_list(names), {getattr(record, field) for record in records}
    for name in wanted:
        if name not in known:
            raise HarnessError(f"there is no {field} {name!r} in these results: {', '.join(sorted(known))}")
    return [record for record in records if getattr(record, field) in wanted]
