"""Trials of the learners of `learners.py` on small texts, as an executor runs them."""

import io
from dataclasses import asdict
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from harness import Dataset, Taxonomy
from harness.data.arrays import checked, keep, read_header
from harness.executors.local import Job
from harness.experiment.plan import Trial
from harness_metrics.plugin import harness_metrics

METRICS = {spec.name: spec.compute for spec in harness_metrics()}
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


def trial(learner, header, **changes):
    known = {
        "key": "k",
        "label": learner,
        "learner": learner,
        "learner_load": learner if ":" in learner else f"learners:{learner}",
        "learner_kind": "flat",
        "learner_distribution": "here",
        "learner_version": "1",
        "params": {},
        "inner": None,
        "wants_dense": False,
        "wants_taxonomy": False,
        "dataset": "texts",
        "dataset_params": {},
        "data_folder": header.folder,
        "fingerprint": header.fingerprint,
        "representation": "tfidf",
        "split": "holdout:0.25",
        "number": 0,
        "seed": 3,
        "depth": 10,
    }
    return asdict(Trial(**known | changes))


def run(executor, learner, header, *, metrics=None, threads=1, phases=None, **changes):
    """The answer of a trial and its ranks."""
    payload = {
        "trial": trial(learner, header, **changes),
        "metrics": METRICS if metrics is None else metrics,
        "threads": threads,
    }
    on_phase = None if phases is None else lambda _, phase: phases.append(phase)
    ((_, end),) = executor.run([Job("harness.trials.trial:run_job", payload, timeout_seconds=120)], on_phase=on_phase)
    assert end.status == "ok", end.output  # the process ended well, whatever the trial's own status
    return end.answer, None if end.blob is None else np.load(io.BytesIO(end.blob))


def good(executor, learner, header, **changes):
    answer, ranks = run(executor, learner, header, **changes)
    assert answer["status"] == "ok", answer
    return answer, ranks
