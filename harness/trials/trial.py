"""One trial, in a process of its own: load, split, tune, represent, warm up, fit (clock), rank (clock), measure."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

from harness.contract import AfterPass, Dataset, Outcome, Taxonomy
from harness.data.arrays import open_dataset
from harness.errors import ContractError
from harness.trials.building import build_learner, extra_arguments, seed_shared_chance, takes, warm_up
from harness.trials.measure import (
    Clock,
    checksum,
    class_counts,
    compute_scores,
    count_empty,
    count_unseen,
    measure_index,
    read_peak,
    reset_peak,
    time_single_rows,
)
from harness.trials.ranking import as_classes, places_in, rank_positions
from harness.trials.represent import represent
from harness.trials.split import split_rows
from harness.trials.tune import tune

MESSAGE_LENGTH = 400

Send = Callable[[str], None]


@dataclass(frozen=True)
class Parts:
    """What the learner trains on and what it is asked about."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    data: Dataset


@dataclass(frozen=True)
class Answer:
    """A learner's ranks of the test part as class positions, their places where ties are known, and what gave them."""

    ranks: Any
    places: Any
    ranked_by: str


def run_job(payload: dict[str, Any], send: Send) -> tuple[dict[str, Any], bytes | None]:
    """The job that the executor runs: an answer of record fields, and the ranks as a .npy file's bytes."""
    phase = "start"

    def tell(now: str) -> None:
        nonlocal phase
        phase = now
        send(now)

    try:
        limit_threads(payload["threads"])
        measured, outcome = run_trial(payload["trial"], payload["metrics"], tell, single=payload.get("single", False))
    except MemoryError as error:
        return _failure("memory", phase, error), None
    except BaseException as error:  # a learner may also leave by sys.exit
        return _failure("error", phase, error), None
    buffer = io.BytesIO()
    np.save(buffer, outcome.ranks)
    if outcome.places is not None:  # behind the ranks: who reads one array reads these
        np.save(buffer, outcome.places)
    return {"status": "ok", "threads_in_force": threads_in_force(), **measured}, buffer.getvalue()


def _failure(status: str, phase: str, error: BaseException) -> dict[str, Any]:
    text = str(error) if isinstance(error, ContractError) else f"{type(error).__name__}: {error}"
    line = " ".join(text.split())
    short = line if len(line) <= MESSAGE_LENGTH else f"{line[:MESSAGE_LENGTH]}..."
    return {"status": status, "message": f"during {phase}: {short}", "traceback": traceback.format_exc()}


def run_trial(
    trial: dict[str, Any], metrics: dict[str, str], send: Send, *, single: bool = False
) -> tuple[dict[str, Any], Outcome]:
    """Run one trial and give the measured fields of its record, with the outcome that holds the ranks."""
    load, imported, warm, fit, rank = Clock(), Clock(), Clock(), Clock(), Clock()
    send("load")
    with load.running():
        parts = load_parts(trial)
    tuned = tune(trial, *training_rows(trial), send) if trial["tune"] else None
    if tuned:
        trial = {**trial, "params": {**trial["params"], **tuned.params}}
    send("import")
    with imported.running():
        learner = build_learner(trial)
    extra = extra_arguments(learner, trial, parts.data.taxonomy)
    send("warm-up")
    with warm.running():
        warm_up(lambda: build_learner(trial), parts.X_train, parts.y_train, extra)
    curve: list[dict[str, Any]] = []
    if trial["curves"] and takes(learner, "after_pass"):
        extra["after_pass"] = curve_drawer(learner, trial, metrics, parts, fit, curve)
    before = checksums(parts)
    seed_shared_chance(trial["seed"])
    base_bytes = reset_peak()
    send("fit")
    with fit.running():
        learner.fit(parts.X_train, parts.y_train, **extra)
    check_unchanged(parts, before)
    send("rank")
    answer = ask(learner, parts, trial["depth"], rank)
    peak_bytes = read_peak()
    check_unchanged(parts, before)
    send("measure")
    outcome, index_source = assess(learner, parts, answer, fit, rank)
    seconds = time_single_rows(learner, parts.X_test, trial["depth"]) if single else None
    outcome = replace(outcome, peak_bytes=peak_bytes, single_seconds=seconds)
    scores, trouble = compute_scores(metrics, outcome)
    return {
        "scores": scores,
        "message": trouble,
        "n_train": parts.X_train.shape[0],
        "n_test": parts.X_test.shape[0],
        "n_classes": outcome.n_classes,
        "n_features": parts.X_train.shape[1],
        "unseen_test_rows": count_unseen(parts.y_test, outcome.train_class_counts),
        "empty_test_rows": count_empty(parts.X_test),
        "ranked_by": answer.ranked_by,
        "index_source": index_source,
        "index_size": outcome.index_size,
        "index_bytes": outcome.index_bytes,
        "edges_per_feature": outcome.edges_per_feature,
        "single_rows": None if seconds is None else len(seconds),
        "fit_seconds": fit.wall,
        "fit_cpu_seconds": fit.cpu,
        "rank_seconds": rank.wall,
        "rank_cpu_seconds": rank.cpu,
        "load_seconds": load.wall,
        "import_seconds": imported.wall,
        "warmup_seconds": warm.wall,
        "peak_bytes": peak_bytes,
        "base_bytes": base_bytes,
        "curve": curve,
        **({"tuned": dict(tuned.params), "tuning": tuned.log, "tune_seconds": tuned.seconds} if tuned else {}),
    }, outcome


def ask(learner: Any, parts: Parts, depth: int, clock: Clock) -> Answer:
    """Have the test part ranked, on the clock, and the answer checked, off it."""
    with clock.running():
        given, ranked_by = rank_positions(learner, parts.X_test, depth)
    n_test, n_classes = parts.X_test.shape[0], len(parts.data.class_names)
    return Answer(as_classes(learner, given, ranked_by, n_test, depth, n_classes), places_in(given), ranked_by)


def assess(learner: Any, parts: Parts, answer: Answer, fit: Clock, rank: Clock) -> tuple[Outcome, str]:
    """What is known of a fitted learner and its ranks of the test part, and what its index size was read from."""
    n_classes = len(parts.data.class_names)
    index_size, index_bytes, index_source = measure_index(learner)
    outcome = Outcome(
        truth=parts.y_test,
        ranks=answer.ranks,
        n_classes=n_classes,
        train_class_counts=class_counts(parts.y_train, n_classes),
        n_train=parts.X_train.shape[0],
        fit_seconds=fit.wall,
        fit_cpu_seconds=fit.cpu,
        rank_seconds=rank.wall,
        index_size=index_size,
        index_bytes=index_bytes,
        edges_per_feature=float(learner.edges_touched(parts.X_test)) if hasattr(learner, "edges_touched") else None,
        taxonomy=parts.data.taxonomy,
        places=answer.places,
    )
    return outcome, index_source


def curve_drawer(
    learner: Any, trial: dict[str, Any], metrics: dict[str, str], parts: Parts, fit: Clock, curve: list[dict[str, Any]]
) -> AfterPass:
    """What fit calls after each pass: the clock stops, the half-trained learner is measured, a point is added."""

    def after_pass(number: int) -> None:
        with fit.paused():
            rank = Clock()
            answer = ask(learner, parts, trial["depth"], rank)
            outcome, _ = assess(learner, parts, answer, fit, rank)
            curve.append({"passes": number, "scores": compute_scores(metrics, outcome)[0]})

    return after_pass


def load_parts(trial: dict[str, Any]) -> Parts:
    """Open the data, split it, represent both parts."""
    data = open_dataset(Path(trial["data_folder"]))
    train, test = split_rows(trial["split"], data.X.shape[0], trial["seed"], data.splits, data.y)
    X_train, X_test = represent(trial["representation"], data.X[train], data.X[test])
    if trial["wants_dense"]:
        X_train, X_test = X_train.toarray(), X_test.toarray()
    return Parts(X_train, data.y[train], X_test, data.y[test], data)


def training_rows(trial: dict[str, Any]) -> tuple[Any, Any, int, Taxonomy | None]:
    """What tuning may see: the training rows as they are, their labels, the number of classes and their tree."""
    data = open_dataset(Path(trial["data_folder"]))
    train, _ = split_rows(trial["split"], data.X.shape[0], trial["seed"], data.splits, data.y)
    return data.X[train], data.y[train], len(data.class_names), data.taxonomy


def checksums(parts: Parts) -> dict[str, int]:
    """The checksum of each thing that the learner is given."""
    given = {"the training X": parts.X_train, "y": parts.y_train, "the test X": parts.X_test}
    return {name: checksum(value) for name, value in given.items()}


def check_unchanged(parts: Parts, before: dict[str, int]) -> None:
    """ContractError names what the learner has changed."""
    for name, now in checksums(parts).items():
        if now != before[name]:
            raise ContractError(f"the learner changed {name} that it was given; it must work on a copy")


def limit_threads(threads: int) -> None:
    """Put the limit in force: for libraries already loaded and for those that the learner will load."""
    for variable in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB", "NUMBA"):
        os.environ[f"{variable}_NUM_THREADS"] = str(threads)
    threadpoolctl.threadpool_limits(limits=threads)
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(threads)


def threads_in_force() -> dict[str, int]:
    """What each thread pool in this process says of itself."""
    pools: dict[str, int] = {}
    for pool in threadpoolctl.threadpool_info():
        name = f"{pool['internal_api']}:{Path(pool['filepath']).name.partition('-')[0].partition('.')[0]}"
        pools[name] = max(pools.get(name, 0), pool["num_threads"])
    if "numba" in sys.modules:
        pools["numba"] = sys.modules["numba"].get_num_threads()
    return pools
