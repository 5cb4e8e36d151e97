"""`harness plot`: a figure of one or more results folders, from what is stored, with no training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import api
from harness.cli.options import FilePath, OneName, plugin_options
from harness.figures.kinds import FIGURE_KINDS
from harness.figures.styles import DEFAULT_STYLE, FIGURE_STYLES

if TYPE_CHECKING:
    from harness.api import Session

DEFAULT_FILES = ("png", "svg")


def _x_help() -> str:
    choices = [f"{name}: {kind.x}" for name, kind in FIGURE_KINDS.items() if kind.x]
    return "; ".join(choices) + ".  [default: pass; the one swept; classes; train]"


def _style_help() -> str:
    told = [f"{name}: {style.summary}" for name, style in FIGURE_STYLES.items()]
    return f"Sizes for where it is shown; {'; '.join(told)}."


@click.command()
@click.argument("results", nargs=-1, required=True, type=FilePath())
@click.option("--kind", type=click.Choice(list(FIGURE_KINDS)), required=True, help="What to draw.")
@click.option("--metric", type=OneName("metrics"), help="What to measure by.  [default: r1; scaling: train]")
@click.option("--x", "across", help=_x_help())
@click.option("--datasets", help="Only these data sets.")
@click.option("--learners", help="Only these learners, by their labels.")
@click.option(
    "--style", type=click.Choice(list(FIGURE_STYLES)), default=DEFAULT_STYLE, show_default=True, help=_style_help()
)
@click.option(
    "--out",
    multiple=True,
    type=FilePath(),
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
    style: str,
    out: tuple[Path, ...],
    session: Session,
    debug: bool,
) -> None:
    """Draw a figure of one or more results folders.

    curve: by pass (run with --curves). sweep: by a parameter. scaling: by the size of the data, with the slope.
    pareto: score against cost. cd: mean ranks over data sets and their critical difference. bar: side by side.
    coverage: accuracy on the share of rows that a learner is surest of. frequency: by how many training rows a class
    has. levels: by level of the class tree.
    """
    opened = api.read_results(results, session)
    drawing = opened.plot(kind, metric=metric, x=across, datasets=datasets, learners=learners)
    for path in out or [results[0] / f"{kind}.{form}" for form in DEFAULT_FILES]:
        was_there = path.exists()
        drawing.save(path, style=style)
        instead = " in the place of the one that was there; --out names another file" if was_there else ""
        click.echo(f"wrote {path}{instead}", err=True)
