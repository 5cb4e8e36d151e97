"""`Results`: the records of one or more results folders, with the tables, figures and pages made of them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, SpecError, StoreError
from harness.experiment.load import published_path, read_file
from harness.host.catalog import find_metric
from harness.host.contract import Labels, MetricSpec
from harness.host.discovery import Session, make_session
from harness.records.record import Record
from harness.records.store import (
    EXPERIMENT,
    MACHINES,
    RECORDS,
    no_results_in,
    open_store,
    read_incompatible,
    read_machines,
    read_records,
)
from harness.report.lines import Line, group_records
from harness.report.tables.select import choose_columns, keep_lines, lines_to_compare, only_with, parse_filter
from harness.report.tables.table import ComparisonTable, make_table
from harness.report.verdicts import RowHits, first_shared_records
from harness.stats import AUTO, TEST_NAMES
from harness.syntax.expression import split_list
from harness.system.machine import Machine
from harness.text import counted

# Most results are only shown as a table. Figures, pages, comparisons and saved ranks are imported where they are used.
if TYPE_CHECKING:
    from harness.report.figures.drawing import Drawing
    from harness.report.page import Page
    from harness.report.tables.render import Grid
    from harness.results.best import Best
    from harness.results.saved_ranks import Comparison, Rescored, SavedRanks


@dataclass(frozen=True)
class Failure:
    """A failed trial."""

    label: str
    dataset: str
    seed: int
    status: str
    message: str
    traceback: str
    output: str


@dataclass(frozen=True)
class Ranked:
    """The ranks of each test row of a trial, with its labels."""

    rows: Any
    """The test rows, as positions in the dataset."""
    truth: Labels
    """Their labels, as class positions."""
    ranks: Any
    """Class positions, best first, -1 pads."""
    class_names: tuple[str, ...]


def draw_lines(results: Results, lines: Sequence[Line], kind: str, metric: str | None, x: str | None) -> Drawing:
    """Draw a figure of some lines of results."""
    from harness.report.conditions import comparable  # noqa: PLC0415
    from harness.report.figures.kinds import FigureRequest, choose_kind  # noqa: PLC0415

    timed = [entry.spec for entry in results.session.catalog.unique_metrics() if entry.spec.timed]
    found = comparable(lines, timed, results.machines)
    try:
        chosen = choose_kind(kind, x)
        judged = results._find_metric(metric or chosen.metric)
        x = x or chosen.default_x
        x_metric = results._find_metric(x) if x and chosen.x_is_metric else None
        answers = results.saved_ranks.answers_of(found.lines) if chosen.shows_answers else {}
        return chosen.draw(FigureRequest(found.lines, judged, x, x_metric, answers))
    except HarnessError as error:
        if not found.notes:
            raise
        raise HarnessError(f"{error} ({' '.join(found.notes)})") from None


def find_folders(places: Iterable[Path]) -> list[Path]:
    """Return the results folders at some places."""
    found: dict[Path, None] = {}
    for place in places:
        below = [place] if (place / RECORDS).exists() else _folders_below(place)
        if not below:
            raise StoreError(
                f"{place} is not a results folder and holds none",
                next_step="`harness run ... --out FOLDER` writes one.",
            )
        found |= dict.fromkeys(below)
    return list(found)


def _folders_below(place: Path) -> list[Path]:
    """Folders with records and the machine that made them: a file of records alone may be another program's."""
    return sorted(path.parent for path in place.rglob(RECORDS) if (path.parent / MACHINES).exists())


Names = str | Iterable[str]
"""Several names: a list, or a text with commas."""
QUICK = "-quick"
"""The ending of the folder of a quick version."""


@dataclass(frozen=True)
class Results:
    """The results of one or more folders. Methods make tables, figures and pages of the records; none of them trains.

    Examples
    --------
    >>> import harness
    >>> results = harness.open_results("results/first")  # doctest: +SKIP
    >>> print(results.table("r1,train"))  # doctest: +SKIP
    >>> results.best("r1").fit("digits", out="digits.model")  # doctest: +SKIP
    """

    folders: tuple[Path, ...]
    records: tuple[Record, ...]
    machines: Mapping[str, Machine]
    incompatible: tuple[str, ...] = ()
    """Learners that could not run on some of the data, a line each."""
    session: Session = field(default_factory=Session, repr=False)
    requested: tuple[str, ...] | None = None
    """The metrics that the run named; tables show them by default."""
    folder_of: Mapping[str, Path] = field(default_factory=dict, repr=False)
    """The folder of each record, by its key."""
    test: str = AUTO
    """The test that the experiment names; by default the one that fits the split."""

    # -- tables

    def table(
        self,
        metrics: Names | None = None,
        *,
        by: str = "dataset",
        test: str | None = None,
        spread: str = "sd",
        mixed_machines: bool = False,
        sort: str | None = None,
        where: str | Iterable[str] = (),
        best: str | None = None,
    ) -> ComparisonTable:
        """Return the comparison table, with the best mean and means that a paired `test` cannot distinguish marked.

        Parameters
        ----------
        metrics : Names, optional
            Columns, as a list or separated by commas; by default the metrics that the run named.
        by : str, default="dataset"
            What the rows of a group have in common: "dataset", or another field of the lines.
        test : str, optional
            Name of a paired test; by default the one that the experiment names.
        spread : str, default="sd"
            The number after the ±: "sd", "t" or "binomial".
        mixed_machines : bool, default=False
            Whether times of different machines may be compared.
        sort : str, optional
            Metric by whose mean the rows are ordered.
        where : str or iterable of str, default=()
            Conditions on the lines: "dataset=digits", "kind=tree", "C=0.1", "r1>0.5".
        best : str, optional
            Metric of which only the best row of each dataset is kept.
        """
        lines = self.lines()
        conditions = [where] if isinstance(where, str) else list(where)
        kept = keep_lines(lines, map(parse_filter, conditions), self.session.catalog)
        notes = list(self.incompatible)
        if len(kept) < len(lines):
            notes.append(f"Compared: {len(kept)} of {counted(len(lines), 'line')}, where {', '.join(conditions)}.")
        columns, test = self.columns(metrics), test or self.test
        return make_table(
            kept,
            columns,
            by=by,
            mixed_machines=mixed_machines,
            machines=self.machines,
            test=test,
            hits=self.row_hits(kept, columns, test),
            spread=spread,
            sort=self._find_metric(sort) if sort else None,
            best=self._find_metric(best) if best else None,
            notes=notes,
            folder=self.place(),
        )

    def matrix(self, metrics: Names | None = None, *, test: str | None = None) -> list[Grid]:
        """Return two grids of pairs of learners for each metric: trials won, and mean differences.

        Parameters
        ----------
        metrics : str or list of str, optional
            Metrics; by default the first that a table shows.
        test : str, optional
            Statistical test, as for `harness table --test`; by default that of the experiment.
        """
        from harness.report.tables.pairwise import compare_pairs, differences_grid, matrix_grid  # noqa: PLC0415

        columns, test = self._columns_or_first(metrics), test or self.test
        lines = lines_to_compare(self.lines(), columns, self.machines)
        hits = self.row_hits(lines, columns, test)
        grids = []
        for metric in columns:
            pairs = compare_pairs(lines, metric, test, hits)
            for draw in (matrix_grid, differences_grid):
                grids.append(draw(pairs, metric, test, folder=self.place()))
        return grids

    def place(self) -> str:
        """Return the first folder as commands in footnotes name it: `results/NAME` where that is its place."""
        if not self.folders:
            return ""
        folder = self.folders[0]
        return f"results/{folder.name}" if folder.parent.name == "results" else str(folder)

    def row_hits(self, lines: Sequence[Line], columns: Sequence[MetricSpec], test: str) -> RowHits:
        """Return the hits on test rows that McNemar's test compares, as far as ranks are saved."""
        records = first_shared_records(lines, columns, test)
        return self.saved_ranks.row_hits(records) if records else {}

    def ranks(self, metrics: Names | None = None) -> list[Grid]:
        """Return a grid with the average ranks of the learners over datasets for each metric (Friedman, Nemenyi).

        Parameters
        ----------
        metrics : str or list of str, optional
            Metrics; by default the first that a table shows.
        """
        from harness.report.tables.pairwise import ranks_grid  # noqa: PLC0415

        columns = self._columns_or_first(metrics)
        lines = lines_to_compare(self.lines(), columns, self.machines)
        return [ranks_grid(lines, metric) for metric in columns]

    def against(self, published: str | PathLike[str] = "published", metrics: Names | None = None) -> Grid:
        """Return published numbers beside those of the results.

        Parameters
        ----------
        published : str or path, default="published"
            A CSV file, or "published" for the numbers of the registered experiment, which must have some.
        metrics : str or list of str, optional
            Metrics; by default all published ones.
        """
        from harness.report.tables.published import against_grid, read_published  # noqa: PLC0415

        catalog = self.session.catalog
        path = self._find_published() if published == "published" else Path(published)
        numbers = read_published(path)
        if metrics is not None:
            wanted = {metric.name for metric in self.columns(metrics)}
            numbers = [number for number in numbers if number.metric in wanted]
        specs = {number.metric: find_metric(number.metric, catalog).spec for number in numbers}
        quick = any(folder.name.endswith(QUICK) for folder in self.folders)
        title = f"{path.stem} (QUICK: not to be compared)" if quick else path.stem
        return against_grid(numbers, self.lines(), specs, title, run_only=quick)

    def frame(self) -> Any:
        """Return a pandas data frame with a row for each trial, and a column for each field, metric and parameter."""
        from harness.report.tables.render import records_frame  # noqa: PLC0415 (brings pandas, which only this needs)

        return records_frame(self.records)

    def lines(self) -> list[Line]:
        """Return the records by configured learner and prepared dataset; tables and figures start from these."""
        return group_records(self.records)

    def answer(self) -> list[str]:
        """Return two sentences for each dataset: which learners to take, and the statistical verdict on the best one.

        More than three datasets have two sentences together. Empty if only one learner ran.
        """
        from harness.report.answer import describe_answer  # noqa: PLC0415 (tables do without it)
        from harness.report.conditions import comparable  # noqa: PLC0415 (the same)
        from harness.results.pages import offered_metrics  # noqa: PLC0415 (the same)

        columns, lines = self.columns(), self.lines()
        if not columns:
            return []
        compared = comparable(lines, columns, self.machines)
        hits = self.row_hits(lines, columns, self.test)
        return describe_answer(compared.lines, columns, self.test, hits, offered_metrics(self)[0])

    def columns(self, metrics: Names | None = None) -> list[MetricSpec]:
        """Return the metrics of these names, or those that a table shows by default."""
        return choose_columns(self.session.catalog, _names(metrics) or self.requested, self.records)

    def _columns_or_first(self, metrics: Names | None) -> list[MetricSpec]:
        columns = self.columns(metrics)
        return columns if metrics else columns[:1]

    # -- figures

    def plot(
        self,
        kind: str,
        *,
        metric: str | None = None,
        x: str | None = None,
        datasets: Names | None = None,
        learners: Names | None = None,
    ) -> Drawing:
        """Draw a figure. A notebook shows it, and `save(path)` writes it to a file.

        Parameters
        ----------
        kind : str
            The kind of figure, as for `harness plot --kind`.
        metric : str, optional
            The metric on the vertical axis; by default that of the kind.
        x : str, optional
            The metric, parameter or size on the horizontal axis; by default that of the kind.
        datasets, learners : Names, optional
            Names in tables; by default all.

        Raises
        ------
        HarnessError
            If the records lack what the figure shows.
        """
        chosen = only_with(only_with(list(self.records), "dataset", _names(datasets)), "label", _names(learners))
        return draw_lines(self, group_records(chosen), kind, metric, x)

    def page(self, *, title: str = "Results", test: str | None = None, mixed_machines: bool = False) -> Page:
        """Return the results as a page for the browser: `results.page().save("report.html")`.

        Parameters
        ----------
        title : str, default="Results"
            Title of the page.
        test : str, optional
            Statistical test, as for `harness table --test`; by default that of the experiment.
        mixed_machines : bool, default=False
            True to show times even if machines or thread counts differ.
        """
        from harness.results.pages import make_page  # noqa: PLC0415

        return make_page([self], title=title, test=test, mixed_machines=mixed_machines)

    def _find_metric(self, name: str) -> MetricSpec:
        return find_metric(name, self.session.catalog).spec

    # -- more

    def compare(
        self,
        other: Results,
        *,
        metrics: Names | None = None,
        learners: tuple[str, str] | None = None,
        instances: bool = False,
    ) -> Comparison:
        """Return the changes from these results to others, with paired tests and the settings that differ.

        Parameters
        ----------
        other : Results
            The results after the change.
        metrics : str or list of str, optional
            Metrics; by default those that a table shows.
        learners : tuple of str, optional
            A learner of these results and the one of `other` to compare it with.
        instances : bool, default=False
            True to add McNemar's test on the test rows, from saved ranks.

        Raises
        ------
        HarnessError
            If no learner was run on the same data in both.
        """
        from harness.results.saved_ranks import compare_results  # noqa: PLC0415

        return compare_results(self, other, _names(metrics), learners, instances)

    def rescore(self, metrics: Names, *, again: bool = False) -> Results:
        """Compute metrics from saved ranks, store them in the folders, and return the results with them.

        Parameters
        ----------
        metrics : str or list of str
            Metrics to compute.
        again : bool, default=False
            True to compute them again for records that have them.
        """
        self.rescore_folders(metrics, again=again)
        fresh = read_results(self.folders, self.session)
        return replace(fresh, requested=self.requested)

    def rescore_folders(self, metrics: Names, *, again: bool = False) -> Rescored:
        """Compute metrics from saved ranks, store them in the folders, and return how many records changed."""
        from harness.results.saved_ranks import (  # noqa: PLC0415
            Rescored,
            describe_missing_curves,
            metric_executor,
            rescore,
        )

        catalog = self.session.catalog
        chosen = [find_metric(name, catalog) for name in _names(metrics) or ()]
        totals = Rescored(0, 0, 0, ())
        for folder in self.folders:
            with open_store(folder) as store, metric_executor(chosen, self.session.folders) as executor:
                found = rescore(store, chosen, self.saved_ranks.data, executor, again=again)
                curves = describe_missing_curves(store.records.values(), [entry.spec.name for entry in chosen])
            trouble = (*totals.trouble, *found.trouble, *([curves] if curves else []))
            totals = Rescored(
                totals.changed + found.changed, totals.kept + found.kept, totals.failed + found.failed, trouble
            )
        return totals

    def best(self, metric: str = "r1", *, dataset: str | None = None, split: str | None = None) -> Best:
        """Return the learner, as configured, with the best mean of a metric on a dataset.

        Parameters
        ----------
        metric : str, default="r1"
            The metric that decides.
        dataset : str, optional
            Name of the dataset in tables; needed if the results have several.
        split : str, optional
            The split as a text; needed if the results have several.

        Raises
        ------
        HarnessError
            If there are several datasets or splits, or no finished trials.
        """
        from harness.results.best import find_best  # noqa: PLC0415

        return find_best(self, self._find_metric(metric), dataset, split)

    def failures(self) -> list[Failure]:
        """Return the failed trials, each with its message, its traceback and the end of its output."""
        failed = [record for record in self.records if record.status != "ok"]
        return [Failure(r.label, r.dataset, r.seed, r.status, r.message, r.traceback, r.output) for r in failed]

    def show(self, label: str, dataset: str | None = None) -> str:
        """Return a description of a learner's trials, failed ones first: parameters, tuning, tracebacks, output.

        Parameters
        ----------
        label : str
            The learner's name in tables.
        dataset : str, optional
            Only trials on this dataset.
        """
        from harness.report.tables.table import describe_line  # noqa: PLC0415

        chosen = only_with(only_with(list(self.records), "label", [label]), "dataset", [dataset] if dataset else None)
        parts = [describe_line(line, self.columns(), self.machines) for line in group_records(chosen)]
        return "\n".join(parts)

    def ranked(self, record: Record) -> Ranked:
        """Return the saved ranks of a finished trial with the rows and labels that they belong to.

        Parameters
        ----------
        record : Record
            A record of these results with the status "ok".
        """
        from harness.data.split import part_data  # noqa: PLC0415

        data = self.saved_ranks.data(record)
        _, rows = part_data(record.split, data, record.seed)
        ranking = self.saved_ranks.ranking(record)
        return Ranked(rows, data.y[rows], ranking.ranks, data.class_names)

    @cached_property
    def saved_ranks(self) -> SavedRanks:
        """The reader of saved ranks; it reads each trial and each dataset once."""
        from harness.experiment.resolve import preparer  # noqa: PLC0415
        from harness.results.saved_ranks import SavedRanks  # noqa: PLC0415

        return SavedRanks(self.folder_of, self.session.catalog, preparer(self.session))

    def _find_published(self) -> Path:
        """Return the file of published numbers of the experiment of a folder."""
        names = [name for name in map(experiment_name, self.folders) if name]
        for name in names:
            path = published_path(name, self.session.catalog)
            if path is not None:
                return path
        if names:
            why = f"{', '.join(map(repr, names))} has none as a registered experiment"
        else:
            why = "it was not made by a named experiment"
        raise HarnessError(
            f"no published numbers for {', '.join(map(str, self.folders))}: {why}. `harness reproduce --list` lists "
            "experiments with published numbers. --against FILE.csv reads numbers of your own."
        )

    def __len__(self) -> int:
        return len(self.records)

    def __str__(self) -> str:
        where = ", ".join(map(str, self.folders))
        return f"{self.table()}\nResults in {where}" if self.records else f"no results yet in {where}"

    def _repr_html_(self) -> str:
        where = html.escape(", ".join(map(str, self.folders)))
        body = self.table()._repr_html_() if self.records else ""
        return f"{body}<p>Results in {where}</p>"


def open_results(
    *folders: str | PathLike[str],
    plugins_dirs: Iterable[str | PathLike[str]] = (),
    disabled_plugins: Iterable[str] = (),
) -> Results:
    """Return the results in one or more folders.

    Parameters
    ----------
    *folders : str or PathLike
        Results folders. If several of them have the same trial, the first one counts.
    plugins_dirs : iterable of str or PathLike, default=()
        Folders with further plugins, whose metrics and datasets the results may need.
    disabled_plugins : iterable of str, default=()
        Names of plugins or distributions to leave out.

    Examples
    --------
    >>> import harness
    >>> results = harness.open_results("results/first", "results/second")  # doctest: +SKIP
    >>> print(results.table("r1,train"))  # doctest: +SKIP
    """
    if not folders:
        raise HarnessError("open_results needs a folder, such as results/mine")
    return read_results([Path(folder) for folder in folders], make_session(plugins_dirs, disabled_plugins))


def read_results(
    folders: Sequence[Path],
    session: Session,
    *,
    records: Sequence[Record] | None = None,
    requested: tuple[str, ...] | None = None,
) -> Results:
    """Return the results in some folders, or only some of their records."""
    found: dict[str, Record] = {}
    folder_of: dict[str, Path] = {}
    machines: dict[str, Machine] = {}
    incompatible: dict[str, None] = {}
    for folder in folders:
        if not (folder / RECORDS).exists():
            raise no_results_in(folder)
        machines |= read_machines(folder)
        incompatible |= dict.fromkeys(read_incompatible(folder))
        for record in read_records(folder) if records is None else records:
            if found.setdefault(record.key, record) is record:
                folder_of[record.key] = folder
    named = {named_test(folder) for folder in folders}
    return Results(
        tuple(folders),
        tuple(found.values()),
        machines,
        tuple(incompatible),
        session,
        requested,
        folder_of,
        named.pop() if len(named) == 1 else AUTO,
    )


def experiment_name(folder: Path) -> str | None:
    """Return the name of the experiment of a results folder; None if it has none."""
    name = read_file(folder / EXPERIMENT).get("name")
    return str(name) if name else None


def named_test(folder: Path) -> str:
    """Return the test that the experiment of a folder names, or "auto"."""
    try:
        named = str(read_file(folder / EXPERIMENT).get("test", AUTO))
    except SpecError:  # results of other programs have records alone
        return AUTO
    return named if named in TEST_NAMES else AUTO


def _names(names: Names | None) -> list[str] | None:
    if names is None:
        return None
    return split_list(names) if isinstance(names, str) else list(names)
