"""Commands that read results folders: table, show, compare, plot and page. None of them trains a learner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import FilePath, OneName, format_option, names_option, plugin_options
from harness.cli.output import show_grid, show_table
from harness.errors import HarnessError
from harness.report.figures.drawing import DEFAULT_STYLE, FIGURE_STYLES
from harness.report.figures.kinds import FIGURE_KINDS
from harness.report.tables.render import FORMATS
from harness.report.tables.select import EXAMPLES
from harness.report.tables.table import ROW_HEADINGS
from harness.results.results import find_folders, read_results
from harness.stats import SPREADS, TEST_NAMES, TESTS
from harness.syntax.expression import split_list

if TYPE_CHECKING:
    from harness.host.discovery import Session

TEST_HELP = (
    "Statistical test that decides which learners differ.  auto: ttest, or mcnemar on a fixed split. "
    + " ".join(f"{name}: {test.valid}." for name, test in TESTS.items())
    + "  [default: the test of the experiment, or auto]"
)
SPREAD_HELP = "Number after ±. sd: standard deviation. t: Student's 95% interval. binomial: 95% interval of the papers."

BY_HELP = "Group rows by dataset (a row for each learner) or by learner (a row for each dataset)."


@click.command()
@click.argument("results", nargs=-1, required=True, type=FilePath())
@format_option
@names_option(
    "--metrics", kind="metrics", help="Show these metrics as columns, in this order.  [default: those of the run]"
)
@click.option("--by", type=click.Choice(list(ROW_HEADINGS)), default="dataset", show_default=True, help=BY_HELP)
@click.option("--mixed-machines", is_flag=True, help="Show times even if machines or thread counts differ.")
@click.option("--test", type=click.Choice(TEST_NAMES), help=TEST_HELP)
@click.option("--spread", type=click.Choice(list(SPREADS)), default="sd", show_default=True, help=SPREAD_HELP)
@click.option(
    "--sort", type=OneName("metrics"), metavar="METRIC", help="Sort rows by the mean of a metric, best first."
)
@click.option("--where", multiple=True, metavar="CONDITION", help=f"Compare only these rows: {EXAMPLES}. Repeatable.")
@click.option(
    "--best", type=OneName("metrics"), metavar="METRIC", help="Show only the learners that do not differ from the best."
)
@click.option("--matrix", is_flag=True, help="Print each pair of learners instead: trials won, differences.")
@click.option("--ranks", is_flag=True, help="Print average ranks over datasets instead (Friedman, Nemenyi).")
@click.option("--against", metavar="published|FILE.csv", help="Print published numbers beside these results instead.")
@plugin_options
def table(
    results: tuple[Path, ...],
    form: str,
    metrics: str | None,
    matrix: bool,
    ranks: bool,
    against: str | None,
    session: Session,
    debug: bool,
    **shape: Any,
) -> None:
    """Print the comparison table of results folders."""
    if matrix + ranks + (against is not None) > 1:
        raise HarnessError("--matrix, --ranks and --against each print another table", next_step="Give one of them.")
    opened = read_results(results, session)
    if against is not None:
        grids = [opened.against(against, metrics)]
    elif matrix:
        grids = opened.matrix(metrics, test=shape["test"])
    elif ranks:
        grids = opened.ranks(metrics)
    else:
        show_table(opened.table(metrics, **shape), form)
        return
    if matrix and FORMATS[form].for_programs:
        grids = grids[::2]  # the second table has the same values as text
    for place, grid in enumerate(grids):
        if place:
            click.echo()
        show_grid(grid, form)


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("label")
@click.option("--dataset", help="Show only trials on this dataset.")
@plugin_options
def show(results: Path, label: str, dataset: str | None, session: Session, debug: bool) -> None:
    """Show the trials of one learner: parameters, tuning, tracebacks, output.

    Failed trials come first. LABEL is the name of the learner in the table, such as pa or 'pa(C=0.1)'.
    """
    click.echo(read_results([results], session).show(label, dataset), nl=False)


@click.command()
@click.argument("first", type=FilePath())
@click.argument("second", type=FilePath())
@names_option("--metrics", kind="metrics", help="Compare these metrics.  [default: the columns of a table]")
@click.option("--learners", metavar="LABEL,LABEL", help="Compare a learner of the first folder with one of the second.")
@click.option("--instances", is_flag=True, help="Add McNemar's test on the test rows, from the saved ranks.")
@format_option
@plugin_options
def compare(
    first: Path,
    second: Path,
    metrics: str | None,
    learners: str | None,
    instances: bool,
    form: str,
    session: Session,
    debug: bool,
) -> None:
    """Compare two results folders: before and after a change.

    Give one folder twice to compare two of its learners: --learners pa,ooz.
    """
    before, after = read_results([first], session), read_results([second], session)
    found = before.compare(after, metrics=metrics, learners=_two(learners), instances=instances)
    show_grid(found.changes, form)
    if FORMATS[form].for_programs:  # one table in a file
        return
    click.echo()
    show_grid(found.settings, form)
    for line in found.alone:
        click.echo(line)


def _two(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = split_list(text)
    if len(names) != 2:
        raise HarnessError("expected two labels, one for each folder, such as pa,ooz", culprit=f"--learners {text}")
    return names[0], names[1]


DEFAULT_FILES = ("png", "svg")


def _x_help() -> str:
    choices = [f"{name}: {kind.x}" for name, kind in FIGURE_KINDS.items() if kind.x]
    return "Horizontal axis. " + "; ".join(choices) + ".  [default: pass; the one swept; classes; train]"


def _style_help() -> str:
    styles = [f"{name}: {style.summary}" for name, style in FIGURE_STYLES.items()]
    return f"Size of the figure and its letters. {'; '.join(styles)}."


@click.command()
@click.argument("results", nargs=-1, required=True, type=FilePath())
@click.option("--kind", type=click.Choice(list(FIGURE_KINDS)), required=True, help="Kind of figure; see above.")
@click.option("--metric", type=OneName("metrics"), help="Metric to draw.  [default: r1; scaling: train]")
@click.option("--x", "across", help=_x_help())
@click.option("--datasets", help="Draw only these datasets.  [default: all]")
@click.option("--learners", help="Draw only these learners, by label.  [default: all]")
@click.option(
    "--style", type=click.Choice(list(FIGURE_STYLES)), default=DEFAULT_STYLE, show_default=True, help=_style_help()
)
@click.option(
    "--out",
    multiple=True,
    type=FilePath(),
    help="File to write: .png, .svg or .pdf. Repeatable.  [default: RESULTS/KIND.png and .svg]",
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
    """Draw a figure from results folders.

    curve: the metric after each pass (run with --curves). sweep: by the value of a parameter. scaling: by the size of
    the data, with the slope. pareto: score against cost. cd: mean ranks over datasets and their critical difference.
    bar: learners side by side. coverage: accuracy on the most confident share of rows. frequency: by the number of
    training rows of a class. levels: by level of the taxonomy.
    """
    opened = read_results(results, session)
    drawing = opened.plot(kind, metric=metric, x=across, datasets=datasets, learners=learners)
    for path in out or [results[0] / f"{kind}.{form}" for form in DEFAULT_FILES]:
        replaced = path.exists()
        drawing.save(path, style=style)
        click.echo(f"wrote {path}{' (replaced)' if replaced else ''}", err=True)


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", default="report.html", show_default=True, type=click.Path(path_type=Path), help="File to write.")
@click.option("--title", default="Results", show_default=True, help="Title of the page.")
@click.option("--apart", is_flag=True, help="Give each folder its own table, with a menu to choose from.")
@click.option("--test", type=click.Choice(TEST_NAMES), help=TEST_HELP)
@click.option("--mixed-machines", is_flag=True, help="Show times even if machines or thread counts differ.")
@plugin_options
def page(
    results: tuple[Path, ...],
    out: Path,
    title: str,
    apart: bool,
    test: str | None,
    mixed_machines: bool,
    session: Session,
    debug: bool,
) -> None:
    """Write an interactive HTML page of results folders.

    The page has verdicts, a table to sort and filter, figures and failures. It is one file and needs no network.
    A folder of results folders counts as all of them.
    """
    from harness.results.pages import make_page  # noqa: PLC0415 (the other commands need no page)

    folders = find_folders(results)
    together = [[folder] for folder in folders] if apart else [folders]
    several = [read_results(members, session) for members in together]
    document = make_page(several, title=title, test=test, mixed_machines=mixed_machines)
    path = document.save(out)
    click.echo(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB). Open it in a browser.", err=True)
