"""Trials of the learners of `learners.py` on small texts, as an executor runs them."""

import io
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from harness import Dataset, Taxonomy
from harness.data.arrays import keep, read_header
from harness.data.checking import checked
from harness.executors.base import Job
from harness.metric import call_of
from harness.record_lines import measured_from_plain
from harness.split import parse_split
from harness.trials.blueprint import Blueprint
from harness.trials.trial import RepresentationPlan, Trial, TrialJob
from harness_metrics.plugin import harness_metrics
from harness_representations.plugin import harness_representations

METRICS = {spec.name: call_of(spec) for spec in harness_metrics()}
WEIGHTINGS = {spec.name: spec.load for spec in harness_representations() if spec.takes == "counts"}
TRIAL_TARGET = "harness.trials.running:run_trial_job"
LEARNERS = Path(__file__).with_name("learners.py").read_text()


def texts(rows=240, classes=6, features=40, multilabel=False):
    """Rows of words, most of them their class's own; also the class tree and a fixed split."""
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
    """A trial of a learner, by its name in `learners.py` or by module:Class, on a kept data set."""
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


def job_of(trial, metrics=None, **how):
    """A trial as an executor gets it."""
    metrics = METRICS.values() if metrics is None else metrics
    return Job(TRIAL_TARGET, TrialJob(trial=trial, metrics=tuple(metrics), **how), timeout_seconds=120)


def end_of(executor, job, phases=None):
    """How a trial's process ended: well, whatever the trial's own status."""
    on_phase = None if phases is None else lambda _, phase: phases.append(phase)
    ((_, end),) = executor.run([job], on_phase=on_phase)
    assert end.status == "ok", end.output
    return end


def run(executor, learner, header, *, metrics=None, threads=1, phases=None, **changes):
    """What was measured of a trial, and its ranks."""
    end = end_of(executor, job_of(trial(learner, header, **changes), metrics, threads=threads), phases)
    return measured_from_plain(end.answer), None if end.blob is None else np.load(io.BytesIO(end.blob))


def good(executor, learner, header, **changes):
    measured, ranks = run(executor, learner, header, **changes)
    assert measured.status == "ok", measured
    return measured, ranks
