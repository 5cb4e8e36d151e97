"""`harness predict`: what a model says of a text, of a file of any size, or of what comes by standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness import api
from harness.api.row_reading import FORMATS
from harness.api.session import find_modules_of
from harness.cli.options import plugin_options
from harness.wording import counted

if TYPE_CHECKING:
    from harness.api import Model, Predicted, Session
    from harness.api.predicting import OnBatch


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("rows", required=False)
@click.option("--text", help="The column with the texts.  [default: that of the training data, text, or the only one]")
@click.option("--top", type=int, default=1, show_default=True, help="How many classes a row.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write.  [default: standard output]")
@click.option("--review", type=float, help="Rows with a confidence below this are for a person.")
@click.option("--review-out", type=click.Path(path_type=Path), help="Where those go.")
@click.option(
    "--format",
    "form",
    type=click.Choice(sorted(set(FORMATS.values()))),
    help="What ROWS holds, where its name does not say.",
)
@click.option("--encoding", default="utf-8", show_default=True, help="Of ROWS.")
@click.option("--trust", multiple=True, metavar="TYPE", help="A type that files of the model may hold.")
@plugin_options
def predict(
    model: Path,
    rows: str | None,
    trust: tuple[str, ...],
    session: Session,
    debug: bool,
    **asked: Any,
) -> None:
    """Say the class of a text, or of every row of a file, by a model.

    ROWS is a text, a file (.csv, .tsv, .jsonl, .parquet, .txt), or - for standard input.
    A file gets the columns class_1, score_1, ..., and confidence: of rows with .9 about 90% are right.
    """
    find_modules_of(session)
    opened = api.load_model(model, trusted=trust)
    if rows is not None and not _is_source(rows):
        _show_answer(opened, rows, asked["top"])
        return
    request = api.PredictionRequest(source=rows or "-", **asked)
    with _progress(asked["out"]) as on_batch:
        done = api.predict_rows(opened, request, on_batch)
    _tell(done, request.review_out)


def _is_source(rows: str) -> bool:
    """Whether it is a file, or is called like one, rather than a text."""
    return rows == "-" or Path(rows).is_file() or Path(rows.removesuffix(".gz")).suffix in FORMATS


def _show_answer(model: Model, text: str, top: int) -> None:
    answers = model.answer([text], top)
    names = [name for name in answers.names[0] if name]
    if not names:
        click.echo("no class: the model knows nothing in this text")
        return
    for place, name in enumerate(names):
        score = "" if answers.scores is None else f"  {answers.scores[0, place]:.4f}"
        confidence = f"  confidence {answers.confidence[0]:.2f}" if place == 0 else ""
        click.echo(f"{name}{score}{confidence}")


@contextmanager
def _progress(out: Path | None) -> Iterator[OnBatch]:
    """A bar at a terminal, where the answers do not go there themselves."""
    if out is None or not sys.stderr.isatty():
        yield lambda done, share: None
        return
    from rich.progress import Progress  # noqa: PLC0415 (only a terminal needs it)

    with Progress(transient=True) as bar:
        task = bar.add_task("coding", total=1.0)

        def on_batch(done: Predicted, share: float | None) -> None:
            bar.update(task, completed=share or 0.0, description=f"{done.rows:,} rows")

        yield on_batch


def _tell(done: Predicted, review_out: Path | None) -> None:
    told = f"{counted(done.rows, 'row')}, about {done.confidence:,.0f} right"
    if review_out is not None:
        told += f"; {done.review:,} for review in {review_out}"
    if done.unknown:
        told += f"; {counted(done.unknown, 'row has', 'rows have')} nothing that the model knows, and no class"
    click.echo(told, err=True)
