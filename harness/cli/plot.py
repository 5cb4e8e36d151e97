"""`harness plot`: a figure of one or more results folders, from what is stored, with no training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import OneName, plugin_options
from harness.cli.table import gather
from harness.errors import HarnessError
from harness.host import discover

KINDS = ("curve", "sweep", "scaling", "pareto", "cd", "bar")
SIZES = {"classes": "n_classes", "examples": "n_train", "features": "n_features"}


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(KINDS), required=True, help="What to draw.")
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
    from harness.figures.draw import save_figure

    records, _ = gather(results)
    records = _only(_only(records, "dataset", datasets), "label", learners)
    drawing = make_drawing(kind, records, metric, across, discover(folders, disabled))
    for path in out or [results[0] / f"{kind}.{form}" for form in ("png", "svg")]:
        save_figure(drawing, path)
        click.echo(f"wrote {path}", err=True)


def make_drawing(kind: str, records: Any, metric: str | None, across: str | None, catalog: Any) -> Any:
    """The panels or the diagram that were asked for, their metrics looked up."""
    from harness.figures import panels
    from harness.figures.diagram import Diagram
    from harness.metric import find_metric
    from harness.tables.groups import lines_of
    from harness.tables.pairwise import rank_learners

    judged = find_metric(metric or ("train" if kind == "scaling" else "r1"), catalog).spec
    if kind == "curve":
        return panels.curve_panels(records, judged, find_metric(across, catalog).spec if across else None)
    if kind == "sweep":
        return panels.sweep_panels(records, judged, across)
    if kind == "scaling":
        if across is not None and across not in SIZES:
            raise HarnessError(f"--x {across}: expected one of {', '.join(SIZES)}")
        return panels.scaling_panels(records, judged, SIZES[across or "classes"])
    if kind == "pareto":
        return panels.pareto_panels(records, judged, find_metric(across or "train", catalog).spec)
    if kind == "cd":
        return Diagram(panels.title_of(judged), rank_learners(lines_of(records), judged))
    return panels.bar_panels(records, judged)


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
