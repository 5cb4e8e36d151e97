"""Work on the saved ranks of trials: compute further metrics without training, and compare two results folders.

True labels are not saved with the ranks. They are read from the dataset, whose fingerprint must match the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import issparse

from harness.data.arrays import Header, is_complete, open_dataset, read_header
from harness.data.split import draw_labelled
from harness.errors import DataError, HarnessError
from harness.executors.base import Executor
from harness.executors.local import loading_executor
from harness.experiment.references import DatasetRef
from harness.experiment.resolve import ResolvedDataset, resolve_dataset
from harness.files.home import parsed_root
from harness.host.catalog import Catalog, Entry, is_foreign
from harness.host.contract import Dataset, MetricSpec, Outcome
from harness.records.record import Record, checksum_of_ranks
from harness.records.store import Store, read_ranks
from harness.report.figures.panels import Answers
from harness.report.lines import Line
from harness.report.tables.compare import (
    ReadHits,
    changes_grid,
    describe_lines,
    find_changes,
    pair_lines,
    settings_grid,
)
from harness.report.tables.render import Grid
from harness.report.tables.select import choose_columns
from harness.report.verdicts import RowHits, is_fixed
from harness.sdk.outcomes import RiskCurve, by_class, gaps_of, risk_curve
from harness.syntax.values import Label
from harness.trials.outcome import Ranking, first_is_true, known_depth, outcome_of
from harness.trials.predict import ranking_from_bytes
from harness.trials.score import Scorer

if TYPE_CHECKING:
    from harness.results.results import Results

OpenData = Callable[[Record], Dataset]
"""Function that opens the dataset of a trial."""


@dataclass(frozen=True)
class Rescored:
    """Numbers of records that rescoring changed, kept or skipped."""

    changed: int
    kept: int
    """Records that had all the values already."""
    failed: int
    """Failed trials, which have no ranks."""
    trouble: tuple[str, ...]
    """Messages on metrics that could not be computed."""


def rescore(
    store: Store,
    metrics: Sequence[Entry[MetricSpec]],
    open_data: OpenData,
    executor: Executor | None = None,
    *,
    again: bool = False,
) -> Rescored:
    """Compute metrics for every finished trial that lacks them, and append the updated records.

    All checks run before the first record is written. After an interruption, a second call continues with the trials
    that still lack a metric.

    Parameters
    ----------
    store : Store
        The open results folder.
    metrics : sequence of Entry of MetricSpec
        The metrics to compute.
    open_data : OpenData
        Opens the dataset of a trial.
    executor : Executor, optional
        Runs metrics that come from other plugins.
    again : bool, default=False
        Whether to compute metrics again for trials that have them.

    Raises
    ------
    HarnessError
        If the saved ranks cannot give a metric, or if a dataset is missing or has changed.
    """
    records = list(store.records.values())
    done = [record for record in records if record.status == "ok"]
    todo = []
    for record in done:
        lacking = lacking_in(record, metrics, again=again)
        if lacking:
            todo.append((record, lacking))
    for record, lacking in todo:
        check_depth(record, [entry.spec for entry in lacking], store.folder)
        open_data(record)
    trouble: list[str] = []
    changed = 0
    for record, lacking in todo:
        changed += _add_scores(store, record, Scorer(lacking, executor), open_data, trouble)
    return Rescored(changed, len(done) - len(todo), len(records) - len(done), tuple(trouble))


@contextmanager
def metric_executor(metrics: Iterable[Entry[MetricSpec]], folders: Iterable[Path]) -> Iterator[Executor | None]:
    """Yield an executor that loads the plugins in `folders` if a metric needs one, else None.

    Parameters
    ----------
    metrics : iterable of Entry of MetricSpec
        The metrics to compute.
    folders : iterable of Path
        Folders with further plugins.
    """
    if not any(map(is_foreign, metrics)):
        yield None
        return
    with loading_executor(folders) as executor:
        yield executor


def fill_in(
    store: Store,
    keys: Iterable[str],
    metrics: Sequence[Entry[MetricSpec]],
    open_data: OpenData,
    executor: Executor | None = None,
) -> Rescored:
    """Compute missing metrics for the trials with these keys.

    Unlike `rescore`, a metric that cannot be computed raises no error: `Rescored.trouble` has the reason.

    Parameters
    ----------
    store : Store
        The open results folder.
    keys : iterable of str
        Keys of the trials.
    metrics : sequence of Entry of MetricSpec
        The metrics to compute where a record lacks them.
    open_data : OpenData
        Returns the dataset of a record.
    executor : Executor, optional
        Computes metrics of plugins in a separate process; None to compute them here.
    """
    records = [store.records[key] for key in keys]
    done = [record for record in records if record.status == "ok"]
    changed = kept = 0
    trouble: list[str] = []
    for record in done:
        lacking = lacking_in(record, metrics)
        able = []
        for entry in lacking:
            refusal = beyond_saved(record, entry.spec, store.folder)
            if refusal:
                trouble.append(refusal)
            else:
                able.append(entry)
        kept += not lacking
        if not able:
            continue
        try:
            changed += _add_scores(store, record, Scorer(able, executor), open_data, trouble)
        except HarnessError as error:
            trouble.append(str(error))
    return Rescored(changed, kept, len(records) - len(done), tuple(trouble))


def describe_missing_curves(records: Iterable[Record], names: Iterable[str]) -> str:
    """Return a sentence on metrics that records have and their learning curves lack; empty if there are none."""
    curved = [record for record in records if record.curve]
    lacking = [name for name in names if any(_is_off_curve(record, name) for record in curved)]
    if not lacking:
        return ""
    return (
        f"the curves lack {', '.join(lacking)}: ranks are saved of the end alone; a run with --curves and another "
        f"--out measures {'it' if len(lacking) == 1 else 'them'}"
    )


def _is_off_curve(record: Record, metric: str) -> bool:
    return metric in record.scores and metric not in record.curve[-1].scores


def lacking_in(record: Record, metrics: Iterable[Entry[MetricSpec]], *, again: bool = False) -> list[Entry[MetricSpec]]:
    """Return the metrics that a record has no value for; with `again`, all metrics."""
    return [entry for entry in metrics if again or entry.spec.name not in record.scores]


def _add_scores(store: Store, record: Record, scorer: Scorer, open_data: OpenData, trouble: list[str]) -> bool:
    """Compute metrics of a trial and append its updated record; return False if no metric could be computed."""
    outcome = rebuild_outcome(record, open_data(record), ranks_of(store.folder, record))
    (scores,) = scorer.score([outcome])
    if scores.errors:
        trouble.append(f"{record.label} on {record.dataset}, seed {record.seed}: {scores.describe_errors()}")
    good = {name: value for name, value in scores.values.items() if name not in scores.errors}
    if not good:
        return False
    origins = {entry.spec.name: str(entry.origin) for entry in scorer.metrics if entry.spec.name in good}
    updated = replace(record, scores={**record.scores, **good}, rescored={**record.rescored, **origins})
    store.append(updated)  # records are never overwritten: readers take the last one of each trial
    return True


def check_depth(record: Record, metrics: Iterable[MetricSpec], folder: Path) -> None:
    """Raise HarnessError for the first metric that the saved ranks of a trial cannot give."""
    for metric in metrics:
        trouble = beyond_saved(record, metric, folder)
        if trouble:
            raise HarnessError(trouble)


def beyond_saved(record: Record, metric: MetricSpec, folder: Path) -> str:
    """Return the reason why the saved ranks of a trial cannot give a metric; empty if they can."""
    if metric.single:
        return (
            f"metric {metric.name!r} times rows one at a time, which saved ranks do not show: "
            f"run again with --metrics {metric.name} and another --out"
        )
    if metric.confidence:
        return (
            f"metric {metric.name!r} needs a confidence, calibrated while the trial runs: "
            f"run again with --metrics {metric.name} and another --out"
        )
    if metric.depth > record.depth < (record.n_classes or 0):
        return (
            f"metric {metric.name!r} reads {metric.depth} ranks a row, but {folder} keeps {record.depth} of "
            f"{record.label} on {record.dataset}. Run again with --metrics {metric.name}, which keeps as many."
        )
    return ""


# -- saved ranks and data --------------------------------------------------------------------------------------------


def ranks_of(folder: Path, record: Record) -> Ranking:
    """Read the saved ranks of a trial and the scores saved with them.

    Raises
    ------
    HarnessError
        If the file is missing, or does not match the checksum, test rows or classes of the record.
    """
    saved = read_ranks(folder, record.key)
    if saved is None:
        raise HarnessError(
            f"{folder}: the ranks of {record.label} on {record.dataset}, seed {record.seed}, are not there "
            f"(ranks/{record.key}.npy). Run that trial again in another folder."
        )
    _check_file(folder, record, saved)
    try:
        ranking = ranking_from_bytes(saved, known_depth(record.ranked_by))
    except ValueError as error:
        raise HarnessError(f"{folder}: ranks/{record.key}.npy cannot be read: {error}") from None
    ranks = ranking.ranks
    if ranks.ndim != 2 or len(ranks) != record.n_test:
        raise HarnessError(f"{folder}: ranks/{record.key}.npy has shape {ranks.shape} for {record.n_test} test rows")
    _check_classes(folder, record, ranks)
    return ranking


def _check_file(folder: Path, record: Record, saved: bytes) -> None:
    """Raise HarnessError if the checksum differs from that of the file that the trial wrote."""
    if record.ranks_crc32 and checksum_of_ranks(saved) != record.ranks_crc32:
        raise HarnessError(
            f"{folder}: ranks/{record.key}.npy is not what the trial wrote (checksum): "
            f"`harness run ... --rerun {record.label}` makes it anew"
        )


def _check_classes(folder: Path, record: Record, ranks: np.ndarray) -> None:
    """Raise HarnessError if the ranks contain anything but class positions and the padding -1."""
    most = (record.n_classes or 0) - 1
    if ranks.size and not (np.issubdtype(ranks.dtype, np.integer) and ranks.min() >= -1 and ranks.max() <= most):
        raise HarnessError(f"{folder}: ranks/{record.key}.npy names classes outside 0..{most}")


class SavedRanks:
    """Reads the saved ranks and the datasets of trials; datasets and answers are cached.

    Parameters
    ----------
    folders : mapping of str to Path
        The results folder of each record, by the record's key.
    catalog : Catalog
        The registered datasets.
    prepare : callable
        Prepares a dataset that has not been parsed on this machine.
    """

    def __init__(
        self, folders: Mapping[str, Path], catalog: Catalog, prepare: Callable[[ResolvedDataset], Header]
    ) -> None:
        self._folders, self._catalog, self._prepare = folders, catalog, prepare
        self._datasets: dict[str, Dataset] = {}
        self._answers: dict[str, Answers] = {}

    def data(self, record: Record) -> Dataset:
        """Return the dataset of a trial; raise DataError if it has changed since the trial."""
        if record.fingerprint not in self._datasets:
            folder = find_data(record, self._catalog, self._prepare)
            self._datasets[record.fingerprint] = open_dataset(folder)
        return self._datasets[record.fingerprint]

    def ranking(self, record: Record) -> Ranking:
        """Return the saved ranks of a trial; raise HarnessError if they are missing or damaged."""
        return ranks_of(self._folders[record.key], record)

    def outcome(self, record: Record) -> Outcome:
        """Return the outcome of a trial, as passed to its metrics."""
        ranking = self.ranking(record)  # first, because a missing file is found faster than a dataset is opened
        return rebuild_outcome(record, self.data(record), ranking)

    def hits(self, record: Record) -> list[bool]:
        """Return for each test row whether the first-ranked class is a true one."""
        return first_hits(self.outcome(record))

    def hits_if_available(self, record: Record) -> list[bool] | None:
        """Return `hits`, or None if ranks or data are missing."""
        try:
            return self.hits(record)
        except HarnessError:
            return None

    def row_hits(self, wanted: Iterable[tuple[Record, int]]) -> RowHits:
        """Return the hits on test rows of each wanted record whose ranks and data are available.

        Parameters
        ----------
        wanted : iterable of tuple of Record and int
            Records, each with the number of ranks within which a true class is a hit.
        """
        found: dict[tuple[str, int], Sequence[bool]] = {}
        for record, depth in wanted:
            with suppress(HarnessError):
                found[record.key, depth] = row_hits(self.outcome(record), depth)
        return found

    def answers(self, record: Record) -> Answers:
        """Return the risk curve and the results by class of a trial."""
        if record.key not in self._answers:
            outcome, data = self.outcome(record), self.data(record)
            self._answers[record.key] = Answers(_risk_of(outcome), by_class(outcome, tuple(data.class_names)))
        return self._answers[record.key]

    def answers_of(self, lines: Iterable[Line], *, skip_missing: bool = False) -> dict[str, Answers]:
        """Return `answers` of all finished trials by the key of their record.

        Raises
        ------
        HarnessError
            If ranks or data are missing, unless `skip_missing` is set. Such trials are then left out.
        """
        found = {}
        for record in (record for line in lines for record in line.finished):
            try:
                found[record.key] = self.answers(record)
            except HarnessError:
                if not skip_missing:
                    raise
        return found


def find_data(record: Record, catalog: Catalog, prepare: Callable[[ResolvedDataset], Header]) -> Path:
    """Return the folder with the parsed dataset of a trial, preparing it if it has not been parsed on this machine.

    Raises
    ------
    DataError
        If the dataset's fingerprint differs from that in the record.
    """
    for folder in parsed_root().glob("*"):
        with suppress(DataError):  # a damaged copy of another dataset does not matter here
            kept = read_header(folder)
            if kept is not None and kept.fingerprint == record.fingerprint and is_complete(kept):
                return folder
    ref = DatasetRef(
        source=record.dataset_source or record.dataset,
        label=Label(record.dataset, record.dataset_family),
        params=record.dataset_params,
    )
    header = prepare(resolve_dataset(ref, catalog))
    if header.fingerprint != record.fingerprint:
        raise DataError(
            f"it is not what the trials saw: its fingerprint was {record.fingerprint[:12]}, "
            f"here it is {header.fingerprint[:12]}; its truth cannot be used",
            culprit=f"dataset {record.dataset!r}",
        )
    return Path(header.folder)


def rebuild_outcome(record: Record, data: Dataset, ranking: Ranking) -> Outcome:
    """Return the outcome of a trial, as passed to metrics, from its record, dataset and saved ranks."""
    return outcome_of(record, ranking, draw_labelled(record.split, data, record.seed))


def first_hits(outcome: Outcome) -> list[bool]:
    """Return for each test row whether the first-ranked class is a true one."""
    return [bool(hit) for hit in first_is_true(outcome.ranks, outcome.truth)]


def _risk_of(outcome: Outcome) -> RiskCurve | None:
    if outcome.scores is None:
        return None
    truth = outcome.truth
    labelled = np.diff(truth.indptr) > 0 if issparse(truth) else truth >= 0
    if not labelled.any():
        return None
    wrong = ~first_is_true(outcome.ranks, truth)
    gaps = gaps_of(outcome.ranks, outcome.scores)
    return risk_curve(gaps[labelled], wrong[labelled])


@dataclass(frozen=True)
class Comparison:
    """The changes from one set of results to another."""

    changes: Grid
    settings: Grid
    """Other differences: versions, machine, threads, data, parameters."""
    alone: tuple[str, ...]
    """A text for each line that only one of the two has."""

    def __str__(self) -> str:
        return "\n".join([str(self.changes), str(self.settings), *self.alone])

    def _repr_html_(self) -> str:
        return f"{self.changes._repr_html_()}{self.settings._repr_html_()}"


def compare_results(
    first: Results,
    second: Results,
    metrics: Sequence[str] | None,
    learners: tuple[str, str] | None,
    instances: bool,
) -> Comparison:
    """Return the changes from the first results to the second.

    Parameters
    ----------
    first, second : Results
        The results before and after.
    metrics : sequence of str or None
        The metrics to compare. By default those that tables show.
    learners : tuple of 2 str or None
        Labels of the learner of the first and of the second results to compare. By default learners with the same name
        are compared.
    instances : bool
        Whether to add McNemar's test on the test rows of the first shared trial.

    Raises
    ------
    HarnessError
        If the two have no line in common.
    """
    columns = choose_columns(first.session.catalog, metrics, [*first.records, *second.records])
    pairs = pair_lines(first.lines(), second.lines(), learners)
    if not pairs.both:
        raise HarnessError(_describe_no_overlap(first, second, learners))
    hits: tuple[ReadHits, ReadHits] | None = None
    if instances:
        hits = first.saved_ranks.hits, second.saved_ranks.hits
    elif any(is_fixed(line.prepared.split) for line, _ in pairs.both):
        hits = first.saved_ranks.hits_if_available, second.saved_ranks.hits_if_available
    title = f"{_named(first)} -> {_named(second)}"
    found = find_changes(pairs.both, columns, hits, instances=instances)
    places = list(dict.fromkeys([first.place(), second.place()]))
    changes = changes_grid(found, title, instances=instances, folders=places)
    settings = settings_grid(pairs.both, {**first.machines, **second.machines})
    return Comparison(changes, settings, tuple(pairs.describe_unpaired()))


def _named(results: Results) -> str:
    return ", ".join(map(str, results.folders))


def _describe_no_overlap(first: Results, second: Results, learners: tuple[str, str] | None) -> str:
    """Return the error message for two results without a common line; it lists the lines of both."""
    if learners:
        pair = f"{learners[0]!r} of the first folder and {learners[1]!r} of the second were not"
        way = "Choose labels of lines with the same data from this list."
    else:
        pair = "no learner of both folders was"
        way = "To compare two learners of different names, use --learners FIRST,SECOND."
    parts = [f"nothing to compare: {pair} run on the same dataset, representation and split"]
    for name, results in {_named(first): first, _named(second): second}.items():
        parts += [f"  {name}: {line}" for line in describe_lines(results.lines())]
    return "\n".join([*parts, way])


def row_hits(outcome: Outcome, depth: int) -> list[bool]:
    """Return for each test row with a true class whether one is among its first `depth` ranks.

    If ties were saved, a true class counts with the worst rank that it can have within its tie, as in R1, R5 and R10.
    """
    truth, ranks, places = outcome.truth, outcome.ranks, outcome.places
    if issparse(truth):
        labelled = np.diff(truth.indptr) > 0
        is_true = np.zeros(ranks.shape, dtype=bool)
        for row, ranked in enumerate(ranks):
            is_true[row] = np.isin(ranked, truth.indices[truth.indptr[row] : truth.indptr[row + 1]])
    else:
        labelled, is_true = truth >= 0, ranks == truth[:, np.newaxis]
    rank = np.broadcast_to(np.arange(1, ranks.shape[1] + 1), ranks.shape)
    if places is not None:
        best = np.where(is_true, places, places.max(initial=0) + 1).min(axis=1, initial=places.max(initial=0) + 1)
        others = (is_true & (places == best[:, np.newaxis])).sum(axis=1) - 1
        rank = places - others[:, np.newaxis]
    hits = np.asarray((is_true & (rank <= depth)).any(axis=1))
    return [bool(hit) for hit in hits[labelled]]
