"""`harness reproduce`: run an experiment of a paper, and show the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from harness.data.arrays import missing_data
from harness.errors import DataError, HarnessError, MissingData
from harness.executors.base import Executor
from harness.executors.local import TRIALS, start_executor
from harness.experiment.load import (
    COMMAND_LINE,
    RawExperiment,
    build,
    describe_left_out,
    experiment_path,
    published_path,
    quick_version,
    read_file,
    read_options,
    without_absent,
)
from harness.experiment.options import check_arguments, given_options
from harness.experiment.references import parse_dataset
from harness.experiment.resolve import Progress
from harness.experiment.schema import Experiment, RunOptions, dataset_groups
from harness.host.catalog import Catalog, find_metric
from harness.host.contract import DatasetSpec
from harness.host.discovery import Session, make_session
from harness.records.store import EXPERIMENT
from harness.report.figures.drawing import FILE_FORMATS
from harness.report.tables.published import against_grid, read_published
from harness.report.tables.render import FORMATS, Grid
from harness.results.results import QUICK, Results, read_results
from harness.runner.progress import choose_progress
from harness.runner.run import run_experiment
from harness.syntax.expression import split_list
from harness.text import choose


@dataclass(frozen=True)
class PaperExperiment:
    """An experiment of a paper, in full or in its quick version."""

    name: str
    experiment: Experiment
    raw: RawExperiment
    quick: bool = False
    left_out: str = ""
    """A description of the parts that the quick version omits."""


@dataclass(frozen=True)
class Reproduction:
    """The results of an experiment of a paper."""

    paper: PaperExperiment
    results: Results
    published: Grid | None
    """A table of published numbers beside ours; None if there are none."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Reasons by name for the datasets that our table lacks."""


def read_paper(
    name: str,
    catalog: Catalog,
    *,
    quick: bool = False,
    datasets: Sequence[str] = (),
    given: Mapping[str, Any] | None = None,
) -> PaperExperiment:
    """Return a registered experiment, or one in a file.

    Parameters
    ----------
    name : str
        The registered name or the path of a TOML file.
    catalog : Catalog
        The registered experiments and learners.
    quick : bool
        True for the quick version.
    datasets : sequence of str, default=()
        Labels of the datasets to keep; empty for all. The label of a grid keeps the members that the experiment has.
    given : mapping, optional
        Keys that replace those of the experiment.

    Raises
    ------
    HarnessError
        If the experiment is unknown or invalid, has no quick version, or lacks one of the datasets.
    """
    path = experiment_path(name, catalog)
    raw = without_absent(read_file(path), catalog)
    source = str(path)
    left_out = ""
    if quick:
        table = quick_version(raw, source)
        left_out = describe_left_out(raw, table, source, catalog)
    else:
        table = {key: value for key, value in raw.items() if key != "quick"}
    table |= given or {}
    if datasets:
        table["leave_out"] = _other_datasets(build(table, name, catalog), datasets)
    return PaperExperiment(name, build(table, name, catalog), RawExperiment(table, name), quick, left_out)


def _other_datasets(experiment: Experiment, names: Sequence[str]) -> list[str]:
    """Return the labels of the datasets that are not named. The label of a grid names members that are not left out."""
    labels = [(group, ref.label.text) for group, refs in dataset_groups(experiment).items() for ref in refs]
    known = {name: name for pair in labels for name in pair}
    for name in names:
        choose(known, name, "dataset of this experiment")
    left_out = experiment.leave_out
    named = {label for group, label in labels if label in names or (group in names and label not in left_out)}
    return [label for _, label in labels if label not in named]


def run_paper(
    paper: PaperExperiment, options: RunOptions, session: Session, executor: Executor, progress: Progress
) -> Reproduction:
    """Run an experiment of a paper.

    Parameters
    ----------
    paper : PaperExperiment
        The experiment, in full or in its quick version.
    options : RunOptions
        Options of the run. With `skip_missing_data`, missing datasets are skipped and listed.
    session : Session
        The plugins to use.
    executor : Executor
        Runs the trials.
    progress : Progress
        Shows the trials.
    """
    ran = run_experiment(paper.raw, options, session, executor, progress)
    absent = {**paper.experiment.absent, **{name: describe_missing_data(error) for name, error in ran.absent.items()}}
    published = _published(paper, ran.results, ran.absent, session.catalog)
    return Reproduction(paper, ran.results, published, absent)


def reproduce_paper(
    paper: PaperExperiment,
    given: Mapping[str, Any],
    session: Session,
    executor: Executor,
    *,
    source: str = COMMAND_LINE,
    progress: bool = True,
) -> Reproduction:
    """Run an experiment of a paper with the defaults of `harness reproduce`.

    By default, results are in `default_out` and missing datasets are skipped.

    Parameters
    ----------
    paper : PaperExperiment
        The experiment, in full or in its quick version.
    given : mapping of str to object
        Options that replace the defaults.
    session : Session
        The plugins to use.
    executor : Executor
        Runs the trials.
    source : str, default=COMMAND_LINE
        Origin of the options in error messages.
    progress : bool, default=True
        Whether progress is shown.
    """
    options = read_options({"out": default_out(paper), "skip_missing_data": True, **given}, source)
    shown = choose_progress(progress, session, paper.experiment.metrics)
    return run_paper(paper, options, session, executor, shown)


def reproduce(
    name: str,
    *,
    quick: bool = False,
    datasets: Sequence[str] | str = (),
    plugins_dirs: Iterable[str | PathLike[str]] = (),
    disabled_plugins: Iterable[str] = (),
    progress: bool = True,
    **options: Any,
) -> Reproduction:
    """Run an experiment of a paper and show the published numbers beside ours, as `harness reproduce` does.

    Parameters
    ----------
    name : str
        A registered experiment (`harness reproduce --list`), or a TOML file.
    quick : bool, default False
        Run the quick version. Its numbers are not comparable with the published ones.
    datasets : list of str or str, optional
        Run only these datasets of the experiment, by their labels.
    plugins_dirs : list of str or path, optional
        Also load the plugins in these folders.
    disabled_plugins : list of str, optional
        Ignore these plugins or distributions.
    progress : bool, default True
        Show progress.
    **options
        Options of `harness.run`, such as `jobs`, `timeout`, `memory`, `out`, `retry_failed` and `reuse`.

    Returns
    -------
    Reproduction
        `results` has our results, and `published` the published numbers beside ours.

    Examples
    --------
    >>> import harness
    >>> done = harness.reproduce("kdd2008-table1", quick=True)  # doctest: +SKIP
    >>> print(done.published)  # doctest: +SKIP
    """
    check_arguments("reproduce", options, Experiment, RunOptions)
    session = make_session(plugins_dirs, disabled_plugins)
    executor = start_executor(TRIALS, options.get("threads") or 1)
    try:
        kept = split_list(datasets) if isinstance(datasets, str) else datasets
        paper = read_paper(name, session.catalog, quick=quick, datasets=kept, given=given_options(options, Experiment))
        given = given_options(options, RunOptions)
        return reproduce_paper(paper, given, session, executor, source="harness.reproduce", progress=progress)
    finally:
        executor.close()


def reopen_paper(paper: PaperExperiment, folder: Path, session: Session) -> Reproduction:
    """Return an earlier reproduction from the records in its folder, without running trials or reading data.

    Parameters
    ----------
    paper : PaperExperiment
        The experiment, in full or in its quick version.
    folder : Path
        The results folder of the reproduction.
    session : Session
        The plugins that the results need.
    """
    results = read_results([folder], session, requested=paper.experiment.metrics)
    labels = {record.dataset_family for record in results.records}
    sources = {record.dataset_source for record in results.records}
    absent: dict[str, DataError] = {}
    for table in paper.experiment.datasets:
        name = table.label or table.source
        was_run = name in labels if table.label else name in sources
        spec = _spec_with_files(table.source, table.params, table.wrapped, session.catalog)
        if spec is not None and not was_run and name not in paper.experiment.leave_out:
            absent[name] = missing_data(spec, "it was not available")
    missing = {**paper.experiment.absent, **{name: describe_missing_data(error) for name, error in absent.items()}}
    return Reproduction(paper, results, _published(paper, results, absent, session.catalog), missing)


def _spec_with_files(
    source: str, params: Mapping[str, Any], wrapped: str | None, catalog: Catalog
) -> DatasetSpec | None:
    """Return the dataset whose files may be missing: a dataset or the one that it wraps; None if it has no files."""
    spec = next((entry.spec for entry in catalog.datasets if entry.spec.name == source), None)
    if spec is None:
        return None
    inner = wrapped or (params.get(spec.wraps) if spec.wraps else None)
    if inner is not None:
        ref = parse_dataset(str(inner))
        return _spec_with_files(ref.source, ref.params, ref.wrapped, catalog)
    return spec if spec.files or spec.obtain else None


def holds_quick_version(name: str, folder: Path, catalog: Catalog) -> bool:
    """Return whether a results folder has the quick version of an experiment.

    The number of trials decides, or the datasets left out if the quick version has as many trials: `--datasets` leaves
    out further ones.
    """
    path = experiment_path(name, catalog)
    raw = read_file(path)
    if "quick" not in raw or not (folder / EXPERIMENT).exists():
        return False
    stored, quick = read_file(folder / EXPERIMENT), quick_version(raw, str(path))
    differing = [key for key in ("trials", "leave_out") if quick.get(key) != raw.get(key)]
    return bool(differing) and stored.get(differing[0]) == quick.get(differing[0])


def default_out(paper: PaperExperiment) -> Path:
    """Return the default results folder of an experiment; the quick version has another one."""
    return Path("results") / (f"{paper.name}{QUICK}" if paper.quick else paper.name)


def describe_missing_data(error: DataError) -> str:
    """Return the error of a missing dataset and its next step in one line."""
    if isinstance(error, MissingData) and error.command:
        return f"{error.culprit} is missing. `{error.command}` provides it."
    return " ".join(str(error).split())


def _remedy(error: DataError) -> str:
    """Return the command that fetches the data, or else the start of the error, for a table cell."""
    return error.command if isinstance(error, MissingData) else error.trouble[:60]


def _published(
    paper: PaperExperiment, results: Results, absent: Mapping[str, DataError], catalog: Catalog
) -> Grid | None:
    path = published_path(paper.name, catalog)
    if path is None:
        return None
    numbers = read_published(path)
    metrics = {number.metric: find_metric(number.metric, catalog).spec for number in numbers}
    reasons = {name: f"data not available: {_remedy(error)}" for name, error in absent.items()}
    reasons |= dict.fromkeys(paper.experiment.absent, "not available")
    title = f"{paper.name}: published and ours"
    if paper.quick:
        title += " (QUICK: not to be compared)"
    grid = against_grid(numbers, results.lines(), metrics, title, reasons, run_only=paper.quick)
    return grid if grid.rows else None


@dataclass(frozen=True)
class KeptFigures:
    """The files of the figures, and a line for each figure that could not be drawn."""

    figures: tuple[Path, ...]
    troubles: tuple[str, ...]


def tables_of(done: Reproduction) -> dict[str, str]:
    """Return the tables of a reproduction in every format, by file name."""
    files = {}
    for name, form in FORMATS.items():
        if done.results.records:
            files[f"table.{form.ending}"] = done.results.table(test=done.paper.experiment.test).render(name)
        if done.published is not None:
            files[f"published.{form.ending}"] = done.published.render(name)
    return files


def keep_reproduction(done: Reproduction) -> KeptFigures:
    """Write the tables in every format and the figures of the experiment to the results folder."""
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
    """A registered experiment in a list: its expected minutes, its datasets, and a summary."""

    name: str
    minutes: float | None
    has_quick: bool
    has_published: bool
    datasets: tuple[str, ...]
    summary: str


def list_papers(catalog: Catalog) -> list[PaperListing]:
    """Return every registered experiment."""
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
