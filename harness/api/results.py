"""Results: the records of one or more folders, and all that can be made of them without training."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from harness.api.best import Best, find_best
from harness.api.columns import choose_columns
from harness.api.comparing import Comparison, compare_results
from harness.api.paging import make_page
from harness.api.plotting import draw_lines
from harness.api.preparing import preparer
from harness.api.request import published_path
from harness.api.selecting import lines_to_compare, only_with
from harness.api.session import Session, make_session
from harness.api.single_trials import Failure, Ranked
from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.experiment.building import read_file
from harness.expression import split_list
from harness.figures.drawing import Drawing
from harness.groups import Line, group_records
from harness.machine import Machine
from harness.metric import find_metric
from harness.page import Page
from harness.record import Record
from harness.rescore import Rescored, dataset_opener, ranks_of, rescore, tell_curves
from harness.store import EXPERIMENT, RECORDS, no_results_in, open_store, read_incompatible, read_machines, read_records
from harness.tables.against import against_grid
from harness.tables.choosing import keep_lines, parse_condition
from harness.tables.details import describe_line
from harness.tables.grid import Grid
from harness.tables.pairwise import matrix_grid, ranks_grid
from harness.tables.published import read_published
from harness.tables.table import Table, make_table
from harness.trials.splitting import part_data
from harness.wording import counted

Names = str | Iterable[str]
"""Several names: a list, or a text with commas."""
QUICK = "-quick"
"""How the folder of a quick version ends."""


@dataclass(frozen=True)
class Results:
    """Records and where they are kept. What is made of them is made anew with each call; nothing here trains."""

    folders: tuple[Path, ...]
    records: tuple[Record, ...]
    machines: Mapping[str, Machine]
    incompatible: tuple[str, ...] = ()
    """Learners that could not run on some of the data, a line each."""
    session: Session = field(default_factory=Session, repr=False)
    asked: tuple[str, ...] | None = None
    """The metrics that were asked for, which tables show unless told otherwise."""
    folder_of: Mapping[str, Path] = field(default_factory=dict, repr=False)
    """The folder of each record, by its key."""

    # -- tables

    def table(
        self,
        metrics: Names | None = None,
        *,
        by: str = "dataset",
        test: str = "sign",
        spread: str = "sd",
        mixed_machines: bool = False,
        sort: str | None = None,
        where: str | Iterable[str] = (),
        best: str | None = None,
    ) -> Table:
        """The comparison table; the best, and what a paired `test` cannot tell from it, is marked.

        `sort` and `best` name a metric: rows by its mean, and of these the best alone. `where` says which lines are
        compared at all: "dataset=digits", "kind=tree", "C=0.1", "r1>0.5".
        """
        lines = self.lines()
        conditions = [where] if isinstance(where, str) else list(where)
        kept = keep_lines(lines, map(parse_condition, conditions), self._find_metric)
        notes = list(self.incompatible)
        if len(kept) < len(lines):
            notes.append(f"Compared: {len(kept)} of {counted(len(lines), 'line')}, where {', '.join(conditions)}.")
        return make_table(
            kept,
            self.columns(metrics),
            by=by,
            mixed_machines=mixed_machines,
            machines=self.machines,
            test=test,
            spread=spread,
            sort=self._find_metric(sort) if sort else None,
            best=self._find_metric(best) if best else None,
            notes=notes,
        )

    def matrix(self, metrics: Names | None = None, *, test: str = "sign") -> list[Grid]:
        """For each metric, R1 unless named: trials won, tied and lost, each learner against each other one."""
        columns = self._columns_or_first(metrics)
        lines = lines_to_compare(self.lines(), columns, self.machines)
        return [matrix_grid(lines, metric, test) for metric in columns]

    def ranks(self, metrics: Names | None = None) -> list[Grid]:
        """For each metric, R1 unless named: average ranks over data sets (Friedman, Nemenyi)."""
        columns = self._columns_or_first(metrics)
        lines = lines_to_compare(self.lines(), columns, self.machines)
        return [ranks_grid(lines, metric) for metric in columns]

    def against(self, published: str | PathLike[str] = "published", metrics: Names | None = None) -> Grid:
        """Published numbers with ours beside them: those of the experiment that was run, or of a CSV file."""
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
        """A pandas data frame: one row a trial, one column a field, one column a metric and a parameter."""
        from harness.tables.frame import records_frame  # noqa: PLC0415 (brings pandas, which only this needs)

        return records_frame(self.records)

    def lines(self) -> list[Line]:
        """The records by learner, as set up, and data set, as prepared: what every table and figure starts from."""
        return group_records(self.records)

    def columns(self, metrics: Names | None = None) -> list[MetricSpec]:
        """The metrics of these names, or those that a table shows by default."""
        return choose_columns(self.session.catalog, _names(metrics) or self.asked, self.records)

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
        """A figure, which shows itself in a notebook and has `save(path)`: by its kind, as `harness plot`."""
        chosen = only_with(only_with(list(self.records), "dataset", _names(datasets)), "label", _names(learners))
        return draw_lines(self, group_records(chosen), kind, metric, x)

    def page(self, *, title: str = "Results", test: str = "sign", mixed_machines: bool = False) -> Page:
        """All of it to look at in a browser: `results.page().save("report.html")`."""
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
        """What changed from these results to others, with paired tests and the settings that differ."""
        return compare_results(self, other, _names(metrics), learners, instances)

    def rescore(self, metrics: Names, *, again: bool = False) -> Results:
        """Compute metrics from saved ranks, keep them in the folders, and give the results with them."""
        self.rescore_folders(metrics, again=again)
        fresh = read_results(self.folders, self.session)
        return replace(fresh, asked=self.asked)

    def rescore_folders(self, metrics: Names, *, again: bool = False) -> Rescored:
        """Compute metrics from saved ranks and keep them in the folders; gives what became of the records."""
        catalog = self.session.catalog
        chosen = [find_metric(name, catalog) for name in _names(metrics) or ()]
        totals = Rescored(0, 0, 0, ())
        for folder in self.folders:
            with open_store(folder) as store:
                found = rescore(store, chosen, dataset_opener(catalog, preparer(self.session)), again=again)
                curves = tell_curves(store.records.values(), [entry.spec.name for entry in chosen])
            trouble = (*totals.trouble, *found.trouble, *([curves] if curves else []))
            totals = Rescored(
                totals.changed + found.changed, totals.kept + found.kept, totals.failed + found.failed, trouble
            )
        return totals

    def best(self, metric: str = "r1", *, dataset: str | None = None, split: str | None = None) -> Best:
        """The learner, as set up, with the best mean of a metric on a data set: `results.best("r1").fit(data)`."""
        return find_best(self, self._find_metric(metric), dataset, split)

    def failures(self) -> list[Failure]:
        """The trials that failed, each with its message, traceback and the end of what it printed."""
        failed = [record for record in self.records if record.status != "ok"]
        return [Failure(r.label, r.dataset, r.seed, r.status, r.message, r.traceback, r.output) for r in failed]

    def show(self, label: str, dataset: str | None = None) -> str:
        """All that is known of a learner's trials, those that failed first: parameters, tuning, tracebacks, output."""
        chosen = only_with(only_with(list(self.records), "label", [label]), "dataset", [dataset] if dataset else None)
        parts = [describe_line(line, self.columns(), self.machines) for line in group_records(chosen)]
        return "\n".join(parts)

    def ranked(self, record: Record) -> Ranked:
        """The saved ranks of a finished trial with the rows and labels that they belong to."""
        data = dataset_opener(self.session.catalog, preparer(self.session))(record)
        _, rows = part_data(record.split, data, record.seed)
        ranking = ranks_of(self.folder_of[record.key], record)
        return Ranked(rows, data.y[rows], ranking.ranks, data.class_names)

    def _find_published(self) -> Path:
        """The published numbers of the experiment that a folder was made by."""
        names = [name for name in map(experiment_name, self.folders) if name]
        for name in names:
            path = published_path(name, self.session.catalog)
            if path is not None:
                return path
        if names:
            why = f"{', '.join(map(repr, names))} is no registered experiment that has any"
        else:
            why = "it was not made by an experiment that has a name"
        raise HarnessError(
            f"no published numbers for {', '.join(map(str, self.folders))}: {why}; `harness reproduce --list` shows "
            "the experiments that have some, and --against FILE.csv reads numbers of your own"
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
    """The results in one or more folders; of a trial found twice the first one counts."""
    if not folders:
        raise HarnessError("open_results needs a folder, such as results/mine")
    return read_results([Path(folder) for folder in folders], make_session(plugins_dirs, disabled_plugins))


def read_results(
    folders: Sequence[Path],
    session: Session,
    *,
    records: Sequence[Record] | None = None,
    asked: tuple[str, ...] | None = None,
) -> Results:
    """What is kept in some folders, or only these records of it."""
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
    return Results(tuple(folders), tuple(found.values()), machines, tuple(incompatible), session, asked, folder_of)


def experiment_name(folder: Path) -> str | None:
    """The name of the experiment that a folder was made by, where it has one."""
    name = read_file(folder / EXPERIMENT).get("name")
    return str(name) if name else None


def _names(names: Names | None) -> list[str] | None:
    if names is None:
        return None
    return split_list(names) if isinstance(names, str) else list(names)
