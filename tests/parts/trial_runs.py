"""Trials of the learners in `learners.py` on small texts, run by an executor."""

import io
import os
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from harness import Dataset, Taxonomy
from harness_metrics.plugin import harness_metrics
from harness_representations.plugin import harness_representations
from internals import (
    HOST_DISTRIBUTION,
    SYSTEM,
    TRIAL_MODULE,
    Blueprint,
    Entry,
    Job,
    Origin,
    RepresentationPlan,
    Scorer,
    Trial,
    TrialJob,
    checked,
    keep,
    load_parts,
    load_validation_parts,
    open_labelled,
    parse_split,
    ranking_from_bytes,
    read_header,
    read_sealed,
    result_from_plain,
    run_trial,
    score_trial,
)

OWN = Origin("harness_metrics", HOST_DISTRIBUTION, "1")
METRICS = {spec.name: Entry(spec, OWN) for spec in harness_metrics()}
WEIGHTINGS = {spec.name: spec.load for spec in harness_representations() if spec.takes == "counts"}
TRIAL_TARGET = f"{TRIAL_MODULE}:run_trial_job"
LEARNERS = Path(__file__).with_name("learners.py").read_text()


def texts(rows=240, classes=6, features=40, multilabel=False):
    """Return rows of words, mostly of their class, with a class tree and a fixed split."""
    generator = np.random.default_rng(5)
    y = np.concatenate([np.arange(classes), generator.integers(0, classes, rows - classes)])
    X = generator.poisson(0.15, (rows, features)) + 2 * (y[:, None] == np.arange(features) % classes)
    X[generator.random((rows, features)) < 0.3] = 0
    labels = csr_array((y[:, None] == np.arange(classes)) | (generator.random((rows, classes)) < 0.1))
    return Dataset(
        X=csr_array(X.astype(np.float32)),
        y=labels.astype(np.int8) if multilabel else y,
        class_names=tuple(f"c{c}" for c in range(classes)),
        taxonomy=Taxonomy(np.array([-1, *[0] * classes]), 1 + np.arange(classes)),
    )


def keep_in(folder, data):
    keep(checked("texts", data), folder)
    return read_header(folder)


def trial(learner, header, *, params=None, split="holdout:0.25", **changes):
    """Return a trial of a learner, by its name in `learners.py` or by module:Class, on a stored dataset."""
    params = params or {}
    representation = changes.pop("representation", "tfidf")
    known = {
        "key": "k",
        "label": learner,
        "family": learner,
        "learner": learner,
        "learner_kind": "flat",
        "learner_distribution": "here",
        "learner_version": "1",
        "params": params,
        "blueprint": Blueprint(learner if ":" in learner else f"learners:{learner}", params),
        "wants_dense": False,
        "wants_taxonomy": False,
        "dataset": "texts",
        "dataset_family": "texts",
        "dataset_params": {},
        "data_folder": header.folder,
        "fingerprint": header.fingerprint,
        "representation": representation,
        "representing": RepresentationPlan(Blueprint(WEIGHTINGS[representation], {}), takes_text=False),
        "split": parse_split(split),
        "number": 0,
        "seed": 3,
        "depth": 10,
    }
    return Trial(**known | changes)


def job_of(trial, **how):
    """Return a trial in the form that an executor gets."""
    return Job(TRIAL_TARGET, TrialJob(trial=trial, **how), timeout_seconds=120)


def end_of(executor, job, phases=None):
    """Return the outcome of a trial's process, which succeeds for any status of the trial."""
    on_phase = None if phases is None else lambda _, phase: phases.append(phase)
    ((_, end),) = executor.run([job], on_phase=on_phase)
    assert end.status == "ok", end.output
    return end


def run(executor, learner, header, *, metrics=None, threads=1, phases=None, **changes):
    """Return the scored measurement of a trial, and its ranks."""
    planned = trial(learner, header, **changes)
    end = end_of(executor, job_of(planned, threads=threads), phases)
    return score(planned, end, Scorer(tuple(METRICS.values()) if metrics is None else metrics, executor))


def score(planned, end, scorer):
    """Return the measurement and the ranks of a finished trial, scored as the runner does."""
    result = result_from_plain(end.answer)
    if result.measured.status != "ok":
        return result.measured, None
    drawn = open_labelled(planned.data_folder, planned.split, planned.seed)
    scored = score_trial(result, end.blob, drawn, planned.depth, scorer)
    return scored.measured, np.load(io.BytesIO(scored.ranks))


def good(executor, learner, header, **changes):
    measured, ranks = run(executor, learner, header, **changes)
    assert measured.status == "ok", measured
    return measured, ranks


def run_here(planned, send=lambda phase: None, *, metrics=None, **how):
    """Return the scored measurement of a trial that runs in this process, and its ranking."""
    sealed = TrialJob(trial=planned, **how).sealed()
    with sealed.file as file:
        ran = run_trial(sealed.payload.with_file(file.fileno()), send)
    drawn = open_labelled(planned.data_folder, planned.split, planned.seed)
    scorer = Scorer(tuple(METRICS.values()) if metrics is None else metrics)
    scored = score_trial(ran.result, b"".join(ran.rankings), drawn, planned.depth, scorer)
    return scored.measured, ranking_from_bytes(scored.ranks, None)


def parts_of(planned):
    """Return the rows of a trial as its process loads them."""
    return load_parts(*opened(planned))


def validation_parts_of(planned, split):
    """Return the training rows of a trial, split again as its process does for tuning."""
    return load_validation_parts(*opened(planned), split)


def opened(planned):
    """Return a trial without the paths of its dataset, and its split, as its process has them."""
    sealed = TrialJob(trial=planned).sealed()
    with sealed.file as file:
        return sealed.payload.trial, read_sealed(file.fileno())


def hides_folders():
    """True if a process of this machine can hide folders from itself."""
    child = os.fork()
    if child == 0:
        os._exit(0 if SYSTEM.hide_folders([], []) else 1)
    return os.waitpid(child, 0)[1] == 0
