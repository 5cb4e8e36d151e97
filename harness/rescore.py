"""New metrics from saved ranks, without training: the truth is drawn again from the data, checked by fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.catalog import Catalog, Entry
from harness.contract import Dataset, MetricSpec, Outcome
from harness.data.arrays import Header, is_whole, open_dataset, read_header
from harness.errors import DataError, HarnessError
from harness.experiment.dataset_ref import DatasetRef
from harness.experiment.resolve import ResolvedDataset, resolve_dataset
from harness.home import parsed_root
from harness.label import Label
from harness.metric import call_of
from harness.record import Record, checksum_of
from harness.store import Store, read_ranks
from harness.trials.measure import compute_scores
from harness.trials.outcome import Costs, Ranking, first_is_true, known_depth, make_outcome
from harness.trials.rank_files import ranking_from_bytes
from harness.trials.splitting import part_data

OpenData = Callable[[Record], Dataset]
"""Opens the data that a trial saw."""


@dataclass(frozen=True)
class Rescored:
    """What became of the records of a folder."""

    changed: int
    kept: int
    """Records that had all the values already."""
    failed: int
    """Failed trials, which have no ranks."""
    trouble: tuple[str, ...]


def rescore(
    store: Store, metrics: Sequence[Entry[MetricSpec]], open_data: OpenData, *, again: bool = False
) -> Rescored:
    """Compute these metrics for every finished trial that lacks them, or for all, and append the records anew.

    Everything is checked before anything is written. Interrupted, it goes on where it stopped.
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
        changed += _add_scores(store, record, lacking, open_data, trouble)
    return Rescored(changed, len(done) - len(todo), len(records) - len(done), tuple(trouble))


def fill_in(store: Store, keys: Iterable[str], metrics: Sequence[Entry[MetricSpec]], open_data: OpenData) -> Rescored:
    """Like `rescore` for some trials; what cannot be computed from what is saved is told as trouble, not refused."""
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
            changed += _add_scores(store, record, able, open_data, trouble)
        except HarnessError as error:
            trouble.append(str(error))
    return Rescored(changed, kept, len(records) - len(done), tuple(trouble))


def tell_curves(records: Iterable[Record], names: Iterable[str]) -> str:
    """A line on metrics that records have and their curves lack; nothing where there are none."""
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
    """The metrics that a record has no value of, or all of them."""
    return [entry for entry in metrics if again or entry.spec.name not in record.scores]


def _add_scores(
    store: Store, record: Record, metrics: Sequence[Entry[MetricSpec]], open_data: OpenData, trouble: list[str]
) -> bool:
    """Compute metrics of a trial and append its record anew; whether there was anything to append."""
    outcome = rebuild_outcome(record, open_data(record), ranks_of(store.folder, record))
    scores = compute_scores([call_of(entry.spec) for entry in metrics], outcome)
    if scores.troubles:
        trouble.append(f"{record.label} on {record.dataset}, seed {record.seed}: {scores.tell_troubles()}")
    good = {name: value for name, value in scores.values.items() if name not in scores.troubles}
    if not good:
        return False
    origins = {entry.spec.name: str(entry.origin) for entry in metrics if entry.spec.name in good}
    whole = replace(record, scores={**record.scores, **good}, rescored={**record.rescored, **origins})
    store.append(whole)  # a line more: readers take the last one of each trial
    return True


def check_depth(record: Record, metrics: Iterable[MetricSpec], folder: Path) -> None:
    """HarnessError names the metric that what is saved of a trial cannot give."""
    for metric in metrics:
        trouble = beyond_saved(record, metric, folder)
        if trouble:
            raise HarnessError(trouble)


def beyond_saved(record: Record, metric: MetricSpec, folder: Path) -> str:
    """Why what is saved of a trial cannot give a metric; nothing where it can."""
    if metric.single:
        return (
            f"metric {metric.name!r} times rows one at a time, which nothing saved can tell: "
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
            f"{record.label} on {record.dataset}: run again with --metrics {metric.name}, which keeps as many"
        )
    return ""


# -- what a trial knew -----------------------------------------------------------------------------------------------


def ranks_of(folder: Path, record: Record) -> Ranking:
    """The saved ranks of a trial and what is kept beside them, checked to be those of its test rows."""
    saved = read_ranks(folder, record.key)
    if saved is None:
        raise HarnessError(
            f"{folder}: the ranks of {record.label} on {record.dataset}, seed {record.seed}, are not there "
            f"(ranks/{record.key}.npy): run that trial again in another folder"
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
    """HarnessError where the file is not the one that the trial wrote."""
    if record.ranks_crc32 and checksum_of(saved) != record.ranks_crc32:
        raise HarnessError(
            f"{folder}: ranks/{record.key}.npy is not what the trial wrote (checksum): "
            f"`harness run ... --rerun {record.label}` makes it anew"
        )


def _check_classes(folder: Path, record: Record, ranks: np.ndarray) -> None:
    """HarnessError where the ranks name classes that are not there."""
    most = (record.n_classes or 0) - 1
    if ranks.size and not (np.issubdtype(ranks.dtype, np.integer) and ranks.min() >= -1 and ranks.max() <= most):
        raise HarnessError(f"{folder}: ranks/{record.key}.npy names classes outside 0..{most}")


def dataset_opener(catalog: Catalog, prepare: Callable[[ResolvedDataset], Header]) -> OpenData:
    """Opens the data set of a record, each one looked for once; `prepare` parses what the data home lacks."""
    opened: dict[str, Dataset] = {}

    def open_for(record: Record) -> Dataset:
        if record.fingerprint not in opened:
            opened[record.fingerprint] = open_dataset(find_data(record, catalog, prepare))
        return opened[record.fingerprint]

    return open_for


def find_data(record: Record, catalog: Catalog, prepare: Callable[[ResolvedDataset], Header]) -> Path:
    """Where the content that a trial saw is kept; DataError when what is to be had is not the same."""
    for folder in parsed_root().glob("*"):
        with suppress(DataError):  # a damaged one is for whoever needs it to report
            kept = read_header(folder)
            if kept is not None and kept.fingerprint == record.fingerprint and is_whole(kept):
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
            culprit=f"data set {record.dataset!r}",
        )
    return Path(header.folder)


def rebuild_outcome(record: Record, data: Dataset, ranking: Ranking) -> Outcome:
    """What the trial knew when it ended, as far as metrics can see."""
    train, test = part_data(record.split, data, record.seed)
    costs = Costs(
        fit_seconds=record.fit_seconds or 0.0,
        fit_cpu_seconds=record.fit_cpu_seconds or 0.0,
        rank_seconds=record.rank_seconds or 0.0,
        predict_seconds=record.predict_seconds,
        index_size=record.index_size,
        index_bytes=record.index_bytes,
        edges_per_feature=record.edges_per_feature,
        rank_edges_per_feature=record.rank_edges_per_feature,
        peak_bytes=record.peak_bytes,
    )
    return make_outcome(ranking, data.y[test], data.y[train], len(data.class_names), data.taxonomy, costs)


def first_hits(outcome: Outcome) -> list[bool]:
    """Whether the first-ranked class of each test row is a true one."""
    return [bool(hit) for hit in first_is_true(outcome.ranks, outcome.truth)]
