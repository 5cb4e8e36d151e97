"""Commands that make and use a model: fit, predict, update, serve and model.

`predict` starts often, and sooner if the imports of the other commands are inside of them.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import NameList, OneName, plugin_options
from harness.cli.output import print_note, print_warning, reader_width
from harness.errors import HarnessError, ModelError
from harness.files.atomic import write_file
from harness.host.discovery import find_modules_of
from harness.models.answers import AnswerOptions, check_answers
from harness.models.held_out import describe_confidence, describe_few_rows
from harness.models.model import open_model
from harness.models.predict import PredictionRequest, predict_rows
from harness.sdk.reading.tables import FORMATS, format_of_name
from harness.text import counted

if TYPE_CHECKING:
    from harness.host.discovery import Session
    from harness.models.fit import FitRequest
    from harness.models.model import Model
    from harness.models.predict import OnBatch, Predicted
    from harness.models.update import Updated


COLLECTED_OBJECTS = 100_000
"""New objects after which the garbage collector visits them. Rows that are read are many, and not garbage."""
SWITCH_SECONDS = 0.0001
"""Longest wait of a thread for another one. A compiled kernel that has ended would wait 50 times as long by default."""
MOST_LABELS = 5
"""Value of --top with --threshold."""
TRUST_HELP = "Trust this type of another package in the model: module.Class. Repeatable."
_TEXT = click.option("--text", help="Text column, or several: title+body.  [default: the columns of the training data]")
_READING = (
    click.option(
        "--format",
        "form",
        type=click.Choice(sorted(set(FORMATS.values()))),
        help="Format of ROWS.  [default: detected; one text a line for .txt and standard input]",
    ),
    click.option("--delimiter", help="Column delimiter of ROWS.  [default: detected]"),
    click.option(
        "--header/--no-header",
        default=None,
        help="The first line of ROWS has column names, or not.  [default: as in training]",
    ),
    click.option(
        "--encoding",
        help="Encoding of ROWS, such as latin-1.  [default: its byte order mark, or as in training, or UTF-8]",
    ),
    click.option("--trust", multiple=True, metavar="TYPE", help=TRUST_HELP),
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the format of ROWS, and --trust, to a command that reads rows for a model."""
    for option in reversed(_READING):
        command = option(command)
    return command


@click.command()
@click.argument("learner", required=False, type=OneName("learners"))
@click.option(
    "--data", type=NameList("datasets"), help="Dataset or file to train on: titles.csv, 'titles.csv(text=title)'."
)
@click.option("--representation", help="Representation of the rows: words, chars, tfidf.  [default: the dataset's own]")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="New folder for the model.")
@click.option(
    "--from", "results", type=click.Path(path_type=Path), help="Train the best learner of this results folder."
)
@click.option(
    "--best",
    type=OneName("metrics"),
    default="r1",
    show_default=True,
    help="With --from: the metric that decides which learner is best.",
)
@click.option("--dataset", help="With --from: the dataset, if the folder has several.")
@click.option("--split", help="With --from: the split, if the folder has several.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Random seed of the learner and of the held-out rows."
)
@click.option("--keep-rows", is_flag=True, help="Keep the training rows, for `harness predict --explain`.")
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
    keep_rows: bool,
    session: Session,
    debug: bool,
) -> None:
    """Train a learner on all rows of a dataset and save the model.

    First the learner is trained on four fifths of the rows. The other fifth shows the accuracy to expect and
    calibrates the confidence.
    """
    from harness.models.fit import fit_request  # noqa: PLC0415 (predictions start sooner without it)
    from harness.results.results import read_results  # noqa: PLC0415 (as above)

    if results is not None:
        if learner is not None:
            raise HarnessError("--from chooses the learner", culprit=learner, next_step="Remove it, or remove --from.")
        request = read_results([results], session).best(best, dataset=dataset, split=split).request(data)
        request = replace(request, representation=representation or request.representation)
        click.echo(f"{request.learner}: {request.expected.known_from if request.expected else ''}", err=True)
    else:
        request = _named(learner, data, representation, seed)
    request = replace(request, keep_rows=keep_rows)
    model = fit_request(request, session, out, say=lambda line: click.echo(line, err=True))
    _report_fit(model, out)


def _named(learner: str | None, data: str | None, representation: str | None, seed: int) -> FitRequest:
    if learner is None or data is None:
        raise HarnessError("nothing to fit", next_step="Give a learner and --data, or --from RESULTS.")
    from harness.models.fit import FitRequest  # noqa: PLC0415 (predictions start sooner without it)

    return FitRequest(learner=learner, data=data, representation=representation, seed=seed)


def _report_fit(model: Model, out: Path) -> None:
    known, trained = model.manifest.expected, model.manifest.data
    click.echo(
        f"wrote {out}: {model.manifest.learner.name}, trained on {trained.rows:,} rows of {trained.classes:,} classes",
        err=True,
    )
    if known.accuracy is not None:
        click.echo(f"expected accuracy {known.accuracy:.3f} ({known.known_from})", err=True)
    manifest = model.manifest
    click.echo(describe_confidence(manifest.calibrator, manifest.reliability, manifest.held_out), err=True)
    few = describe_few_rows(manifest.reliability)
    if few:
        print_warning(few)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("rows", required=False)
@_TEXT
@click.option("--top", type=int, help="Number of classes to predict for each row.  [default: 1; 5 with --threshold]")
@click.option(
    "--backoff",
    type=float,
    metavar="CONFIDENCE",
    help="Predict the deepest taxonomy node that is this sure, such as 0.9.",
)
@click.option(
    "--threshold",
    type=float,
    metavar="CONFIDENCE",
    help="Predict all classes that are this sure, if rows have several labels.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write; its ending sets the format.  [default: standard output]",
)
@click.option("--review", type=float, help="Send rows with a confidence below this to --review-out.")
@click.option("--review-out", type=click.Path(path_type=Path), help="File for rows that a person should check.")
@click.option("--explain", is_flag=True, help="Show what each word of a text adds, and the nearest training rows.")
@reading_options
@plugin_options
def predict(
    model: Path,
    rows: str | None,
    explain: bool,
    trust: tuple[str, ...],
    session: Session,
    debug: bool,
    **options: Any,
) -> None:
    """Predict classes for a text or for each row of a file.

    ROWS is a text, a file (.csv, .tsv, .jsonl, .parquet, .txt), or - for standard input. The output has the columns
    of the file, then class_1, score_1, ..., and confidence. Of rows with a confidence of 0.9, about 90% are right.
    """
    find_modules_of(session)
    opened = open_model(model, session, trust)
    if options["top"] is None:
        options["top"] = 1 if options["threshold"] is None else MOST_LABELS
    elif options["top"] > len(opened.classes):
        print_note(f"--top {options['top']} is more than the {counted(len(opened.classes), 'class')} of the model.")
    if rows is not None and not _is_source(rows):
        _show_text(opened, rows, AnswerOptions(options["top"], options["backoff"], options["threshold"]))
        found = opened.explain(rows) if explain else None
        if found is not None and found.best is not None:
            click.echo(f"\n{found}")
        return
    if explain:
        raise HarnessError("explains one text, not a file", culprit="--explain", next_step="Give a text in quotes.")
    request = PredictionRequest(source=rows or "-", **options)
    gc.freeze()  # else the garbage collector visits the imported modules again and again, for a fifth of the time
    gc.set_threshold(COLLECTED_OBJECTS)
    sys.setswitchinterval(SWITCH_SECONDS)
    with _progress(options["out"]) as on_batch:
        done = predict_rows(opened, request, on_batch)
    _report_predictions(done, request)
    if request.backoff is None and request.threshold is None:
        _note_confidence(opened)


def _is_source(rows: str) -> bool:
    """Return whether ROWS is a file, or has the name of one, and not a text."""
    return rows == "-" or os.path.isfile(rows) or (len(rows) < 256 and format_of_name(rows) is not None)


def _show_text(model: Model, text: str, options: AnswerOptions) -> None:
    """Print the answer for one text."""
    check_answers(model, options)
    if options.backoff is not None:
        node = model.back_off([text], options.backoff)
        click.echo(f"{node.names[0]}  depth {node.depth[0]}  confidence {node.confidence[0]:.2f}")
        return
    if options.threshold is None:
        _show_classes(model, text, options.top)
        _note_confidence(model)
        return
    labels = model.label_sets([text], options.threshold, min(options.top, len(model.classes)))
    for name, score, sure in zip(labels.names[0], labels.scores[0], labels.confidence[0], strict=True):
        if name:
            click.echo(f"{name}  {score:.4f}  confidence {sure:.2f}")
    if not labels.names[0, 0]:
        click.echo(f"no class has a confidence of {options.threshold:g} or more")


def _show_classes(model: Model, text: str, top: int) -> None:
    answers = model.answer([text], min(top, len(model.classes)))
    names = [name for name in answers.names[0] if name]
    if not names:
        click.echo("no class: the text has no known words")
        return
    for place, name in enumerate(names):
        score = "" if answers.scores is None else f"  {answers.scores[0, place]:.4f}"
        confidence = ""
        if answers.confidence is not None and place == 0:
            confidence = f"  confidence {answers.confidence[0]:.2f}"
        click.echo(f"{name}{score}{confidence}")


def _note_confidence(model: Model) -> None:
    """Print a note if the model gives no confidence, or the same for every row."""
    manifest = model.manifest
    if not model.classifier.has_scores:
        accuracy = manifest.expected.accuracy
        known = "" if accuracy is None else f" About {accuracy:.0%} of the rows are right."
        print_note(f"no confidence: {manifest.learner.name} has no scores.{known}")
    elif manifest.calibrator["kind"] == "constant":
        print_note(f"{describe_confidence(manifest.calibrator, manifest.reliability, manifest.held_out)}.")


@contextmanager
def _progress(out: Path | None) -> Iterator[OnBatch]:
    """Show a progress bar at a terminal, unless the predictions go to standard output."""
    if out is None or not sys.stderr.isatty():
        yield lambda done, share: None
        return
    from rich.progress import Progress  # noqa: PLC0415 (only a terminal needs it)

    with Progress(transient=True) as bar:
        task = bar.add_task("predicting", total=1.0)

        def on_batch(done: Predicted, share: float | None) -> None:
            bar.update(task, completed=share or 0.0, description=f"{done.rows:,} rows")

        yield on_batch


def _report_predictions(done: Predicted, request: PredictionRequest) -> None:
    click.echo(f"read {counted(done.rows, 'row')} as {done.read_as}", err=True)
    answers = done.rows
    if request.backoff is not None:
        click.echo(f"below the root: {done.answered:,} of {counted(done.rows, 'row')}", err=True)
    if request.threshold is not None:
        answers = done.answered
        click.echo(f"predicted {counted(answers, 'label')} for {counted(done.rows, 'row')}", err=True)
    if done.confidence is not None:
        click.echo(f"expected to be right: about {done.confidence:,.0f} of {answers:,}", err=True)
    if request.review_out is not None:
        click.echo(f"for review: {counted(done.review, 'row')} in {request.review_out}", err=True)
    if done.unknown:
        print_warning(f"{counted(done.unknown, 'row has', 'rows have')} no known words and got no class.")


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("rows", required=False)
@click.option("--label", help="Label column.  [default: the column of the training data]")
@click.option("--out", type=click.Path(path_type=Path), help="New folder for the result.  [default: replace MODEL]")
@click.option("--undo", is_flag=True, help="Restore the version before the last update.")
@_TEXT
@reading_options
@plugin_options
def update(
    model: Path,
    rows: str | None,
    undo: bool,
    trust: tuple[str, ...],
    session: Session,
    debug: bool,
    **options: Any,
) -> None:
    """Update a model with the labelled rows of a file, new classes included.

    A learner with partial_fit continues training. Any other learner is trained again with old and new rows.
    """
    from harness.models.labelled import UpdateRequest  # noqa: PLC0415 (predictions start sooner without it)
    from harness.models.update import undo_update, update_model  # noqa: PLC0415 (as above)

    if undo:
        if rows is not None:
            raise HarnessError("--undo takes no rows", culprit=rows, next_step="Remove it, or remove --undo.")
        trained = undo_update(model).data
        click.echo(f"restored {model}: trained on {trained.rows:,} rows of {trained.classes:,} classes", err=True)
        return
    if rows is None:
        raise HarnessError("no rows to update with", next_step="Name a file of new rows, or use --undo.")
    request = UpdateRequest(model=model, source=rows, trusted=trust, **options)
    done = update_model(request, session, say=lambda line: click.echo(line, err=True))
    _report_update(done, options["out"] or model, replaced=options["out"] is None)


def _report_update(done: Updated, place: Path, *, replaced: bool) -> None:
    from harness.models.update import FEWEST_MEASURED  # noqa: PLC0415 (predictions start sooner without it)

    trained, last = done.model.manifest.data, done.update
    name = done.model.manifest.learner.name
    click.echo(f"wrote {place}: {name}, trained on {trained.rows:,} rows of {trained.classes:,} classes", err=True)
    if last.before is not None and last.after is not None:
        click.echo(
            f"accuracy on {last.held_out:,} held-out new rows: {last.before:.3f} before, {last.after:.3f} after",
            err=True,
        )
    else:
        few = f"{counted(last.held_out, 'held-out new row')}, expected {FEWEST_MEASURED} or more"
        click.echo(f"accuracy not measured: too few new rows ({few})", err=True)
    if done.calibrated_on:
        kind, error = done.model.manifest.calibrator["kind"], done.model.manifest.reliability
        method = f"{kind} regression on {counted(done.calibrated_on, 'held-out row')}"
        click.echo(f"confidence: {method}, mean calibration error {error['expected_calibration_error']:.3f}", err=True)
    else:
        click.echo("confidence: calibrated as before the update, since too few new rows were held out", err=True)
    if replaced:
        click.echo(f"`harness update {place} --undo` restores the version before", err=True)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Number of processes.")
@click.option(
    "--token", envvar="HARNESS_TOKEN", help="Token that clients must send.  [default: HARNESS_TOKEN, or none]"
)
@click.option("--trust", multiple=True, metavar="TYPE", help=TRUST_HELP)
@plugin_options
def serve(
    model: Path,
    host: str,
    port: int,
    workers: int,
    token: str | None,
    trust: tuple[str, ...],
    session: Session,
    debug: bool,
) -> None:
    """Serve a model over HTTP.

    POST /predict takes {"texts": ["..."], "top": 3}. GET / is a page to try it, /docs describes the interface,
    /health, /model and /metrics describe the service.
    """
    try:
        from harness.models.serve import ServeSettings  # noqa: PLC0415 (an extra)
        from harness.models.serve import serve as serve_model  # noqa: PLC0415 (as above)
    except ImportError as error:
        raise HarnessError(
            f"{error.name} is not installed",
            culprit="harness serve",
            next_step='Run `pip install "manyclass-harness[serve]"`.',
        ) from None
    find_modules_of(session)
    folders = tuple(str(folder.resolve()) for folder in session.folders)
    settings = ServeSettings(str(model), host, port, workers, token or "", trust=trust, plugins_dirs=folders)
    if settings.is_open:
        print_warning(f"{host} is open to other machines without a token. Set --token.")
    serve_model(settings, say=lambda line: click.echo(line, err=True))


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="HTML file to write.")
@click.option("--debug", is_flag=True, help="Print the traceback of an error.")
def model(model: Path, html: Path | None, debug: bool) -> None:
    """Describe a model: learner, data, accuracy, confusions, reliability and use."""
    from harness.models.card import card_to_html, card_to_text, read_card  # noqa: PLC0415 (only this command needs it)

    card = read_card(model)
    if html is None:
        click.echo(card_to_text(card, reader_width()), nl=False)
        return
    if html.is_dir() or not html.parent.is_dir():
        problem = "is a folder" if html.is_dir() else f"there is no folder {html.parent}"
        raise ModelError(problem, culprit=f"--html {html}", next_step="Name a file, such as card.html.")
    replaced = html.exists()
    write_file(html, card_to_html(card))
    click.echo(f"wrote {html}{' (replaced)' if replaced else ''}", err=True)
