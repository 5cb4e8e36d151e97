"""Experiments of papers: run on the data at hand, with the published numbers beside ours, and kept in every format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.api.request import RawExperiment, experiment_path, published_path
from harness.api.results import QUICK, Results, read_results
from harness.api.running import RunOptions, run_raw
from harness.api.session import Session
from harness.catalog import Catalog
from harness.errors import DataError, HarnessError, MissingData
from harness.executors.base import Executor
from harness.experiment.building import build, quick_version, read_file, tell_left_out
from harness.experiment.learner_groups import without_absent
from harness.experiment.schema import Experiment
from harness.figures.file_formats import FILE_FORMATS
from harness.home import missing_data
from harness.metric import find_metric
from harness.progress import Progress
from harness.tables.against import against_grid
from harness.tables.formats import FORMATS
from harness.tables.grid import Grid
from harness.tables.published import read_published


@dataclass(frozen=True)
class PaperExperiment:
    """An experiment of a paper as it is about to run, whole or in its quick version."""

    name: str
    experiment: Experiment
    raw: RawExperiment
    quick: bool = False
    left_out: str = ""
    """What the quick version does without, in words."""


@dataclass(frozen=True)
class Reproduction:
    """What there is after a paper's experiment was run."""

    paper: PaperExperiment
    results: Results
    published: Grid | None
    """Published numbers beside ours; None where there are none to show."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Data sets that are not in the table of ours, with the reason."""


def read_paper(
    name: str, catalog: Catalog, *, quick: bool = False, given: Mapping[str, Any] | None = None
) -> PaperExperiment:
    """A registered experiment, or one in a file, with what is `given` laid over it."""
    path = experiment_path(name, catalog)
    raw = without_absent(read_file(path), catalog)
    source = str(path)
    left_out = ""
    if quick:
        table = quick_version(raw, source)
        left_out = tell_left_out(raw, table, source, catalog)
    else:
        table = {key: value for key, value in raw.items() if key != "quick"}
    table |= given or {}
    return PaperExperiment(name, build(table, name, catalog), RawExperiment(table, name), quick, left_out)


def run_paper(
    paper: PaperExperiment, options: RunOptions, session: Session, executor: Executor, progress: Progress
) -> Reproduction:
    """Run it, going on without data that is not at hand."""
    ran = run_raw(paper.raw, options, session, executor, progress)
    absent = {**paper.experiment.absent, **{name: tell_absent(error) for name, error in ran.absent.items()}}
    published = _published(paper, ran.results, ran.absent, session.catalog)
    return Reproduction(paper, ran.results, published, absent)


def reopen_paper(paper: PaperExperiment, folder: Path, session: Session) -> Reproduction:
    """What was run before, from its records alone: nothing is run, and no data has to be at hand."""
    results = read_results([folder], session, asked=paper.experiment.metrics)
    labels = {record.dataset_family for record in results.records}
    sources = {record.dataset_source for record in results.records}
    absent: dict[str, DataError] = {}
    for table in paper.experiment.datasets:
        known = [entry.spec for entry in session.catalog.datasets if entry.spec.name == table.source]
        was_run = table.label in labels if table.label else table.source in sources
        if known and not was_run:
            absent[table.label or table.source] = missing_data(known[0], "it was not at hand")
    told = {**paper.experiment.absent, **{name: tell_absent(error) for name, error in absent.items()}}
    return Reproduction(paper, results, _published(paper, results, absent, session.catalog), told)


def default_out(paper: PaperExperiment) -> Path:
    """Where its results go unless told."""
    return Path("results") / (f"{paper.name}{QUICK}" if paper.quick else paper.name)


def tell_absent(error: DataError) -> str:
    """Why a data set is not there and what to do, in a line; the addresses of its files are for `data info`."""
    told = f"{error.complaint}; {error.next_step}" if error.next_step else error.complaint
    return " ".join(told.split())


def _way_out(error: DataError) -> str:
    """What fits into a cell: the command that brings the data, or else the beginning of what is wrong."""
    return error.command if isinstance(error, MissingData) else error.trouble[:60]


def _published(
    paper: PaperExperiment, results: Results, absent: Mapping[str, DataError], catalog: Catalog
) -> Grid | None:
    path = published_path(paper.name, catalog)
    if path is None:
        return None
    numbers = read_published(path)
    metrics = {number.metric: find_metric(number.metric, catalog).spec for number in numbers}
    reasons = {name: f"data not available: {_way_out(error)}" for name, error in absent.items()}
    reasons |= dict.fromkeys(paper.experiment.absent, "not available")
    title = f"{paper.name}: published and ours"
    if paper.quick:
        title += " (QUICK: not to be compared)"
    grid = against_grid(numbers, results.lines(), metrics, title, reasons, run_only=paper.quick)
    return grid if grid.rows else None


@dataclass(frozen=True)
class KeptFigures:
    """The files that were drawn, and what could not be drawn from these records, a line each."""

    figures: tuple[Path, ...]
    troubles: tuple[str, ...]


def tables_of(done: Reproduction) -> dict[str, str]:
    """The tables in every format, by the name of the file that each is kept in."""
    files = {}
    for name, form in FORMATS.items():
        if done.results.records:
            files[f"table.{form.ending}"] = done.results.table().render(name)
        if done.published is not None:
            files[f"published.{form.ending}"] = done.published.render(name)
    return files


def keep_reproduction(done: Reproduction) -> KeptFigures:
    """Keep the tables in every format, and the figures that the experiment asks for, beside the records."""
    folder = done.results.folders[0]
    for name, text in tables_of(done).items():
        (folder / name).write_text(text, encoding="utf-8")
    figures: list[Path] = []
    troubles: list[str] = []
    for figure in done.paper.experiment.figures:
        try:
            drawing = done.results.plot(figure.kind, metric=figure.metric, x=figure.x)
        except HarnessError as error:
            troubles.append(f"figure {figure.file_stem}: {error}")
            continue
        for ending in FILE_FORMATS:
            path = folder / f"{figure.file_stem}.{ending}"
            drawing.save(path)
            figures.append(path)
    return KeptFigures(tuple(figures), tuple(troubles))


@dataclass(frozen=True)
class PaperListing:
    """A registered experiment, with what it takes."""

    name: str
    minutes: float | None
    has_quick: bool
    has_published: bool
    datasets: tuple[str, ...]
    summary: str


def list_papers(catalog: Catalog) -> list[PaperListing]:
    """Every registered experiment."""
    listed = []
    for entry in catalog.experiments:
        path = experiment_path(entry.spec.name, catalog)
        raw = without_absent(read_file(path), catalog)
        experiment = build(raw, str(path), catalog)
        sources = dict.fromkeys(table.source for table in experiment.datasets)
        listed.append(
            PaperListing(
                name=entry.spec.name,
                minutes=experiment.minutes,
                has_quick=bool(raw.get("quick")),
                has_published=bool(entry.spec.published),
                datasets=tuple(sources),
                summary=entry.spec.summary,
            )
        )
    return listed
