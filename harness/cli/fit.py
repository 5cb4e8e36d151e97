"""`harness fit`: a learner trained on all rows of some data, kept in a folder, for `harness predict`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import api
from harness.cli.options import NameList, OneName, plugin_options
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.api import FitRequest, Model, Session


@click.command()
@click.argument("learner", required=False, type=OneName("learners"))
@click.option("--data", type=NameList("datasets"), help="A data set or a file: titles.csv, titles.csv(text=title).")
@click.option("--representation", help="What the learner sees of the rows: words, chars, tfidf.  [default: the data's]")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder that the model is kept in.")
@click.option("--from", "results", type=click.Path(path_type=Path), help="Fit the best learner of this results folder.")
@click.option("--best", type=OneName("metrics"), default="r1", show_default=True, help="With --from: best by what.")
@click.option("--dataset", help="With --from: on which data set, where there are several.")
@click.option("--split", help="With --from: by which split, where there are several.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the rows held out and of the learner.")
@plugin_options
def fit(
    learner: str | None,
    data: str | None,
    representation: str | None,
    out: Path,
    results: Path | None,
    best: str,
    dataset: str | None,
    split: str | None,
    seed: int,
    session: Session,
    debug: bool,
) -> None:
    """Train a learner on all rows of some data and keep it as a model.

    A fifth of the rows is held out first, to say what accuracy to expect and to calibrate the confidence.
    """
    if results is not None:
        if learner is not None:
            raise HarnessError("--from FOLDER brings its learner: leave the learner out", culprit=learner)
        asked = api.read_results([results], session).best(best, dataset=dataset, split=split).request(data)
        asked = replace(asked, representation=representation or asked.representation)
        click.echo(f"{asked.learner}: {asked.expected.known_from if asked.expected else ''}", err=True)
    else:
        asked = _named(learner, data, representation, seed)
    model = api.fit_request(asked, session, out, say=lambda line: click.echo(line, err=True))
    _tell(model, out)


def _named(learner: str | None, data: str | None, representation: str | None, seed: int) -> FitRequest:
    if learner is None or data is None:
        raise HarnessError("nothing to fit: give a learner and --data, or --from a results folder")
    return api.FitRequest(learner=learner, data=data, representation=representation, seed=seed)


def _tell(model: Model, out: Path) -> None:
    known, trained = model.manifest.expected, model.manifest.data
    click.echo(
        f"{out}: {model.manifest.learner.name} on {trained.rows:,} rows of {trained.classes:,} classes", err=True
    )
    if known.accuracy is not None:
        click.echo(f"expected accuracy {known.accuracy:.3f} ({known.known_from})", err=True)
    error = model.manifest.reliability["expected_calibration_error"]
    click.echo(f"confidence by {model.manifest.calibrator['kind']} regression, off by {error:.3f} on average", err=True)
