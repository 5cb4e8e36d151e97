"""Experiments for tests: a catalog without plugins, small data, and plans made from them."""

import numpy as np
from scipy.sparse import csr_array

from harness import DatasetSpec, LearnerSpec
from harness_representations.plugin import harness_representations
from internals import Catalog, Entry, Origin, Source, build, dataset_groups, kept_datasets, learner_refs, plan, resolve

OWN = Origin("mine", "dist", "1.0")
DEFAULTS = {"C": 1.0, "passes": 5, "far": Source("float('inf')"), "random_state": None}


def learner(name, origin=OWN, **fields):
    return Entry(LearnerSpec(**({"name": name, "load": f"somewhere:{name}", "parameters": DEFAULTS} | fields)), origin)


LEARNERS = (
    learner("pa"),
    learner("ooz"),
    learner("fixed", parameters={"C": 1.0}),
    learner("positive", needs=frozenset({"nonnegative"})),
    learner("treelike", needs=frozenset({"taxonomy"})),
    learner("dense", needs=frozenset({"dense"})),
    learner("several", supports=frozenset({"multilabel"})),
)


REPRESENTATIONS = tuple(Entry(spec, OWN) for spec in harness_representations())


def catalog_of(learners=LEARNERS, datasets=("data", "other"), metrics=()):
    sets = tuple(Entry(DatasetSpec(name=name, load="a:b", parameters={"rows": 9}), OWN) for name in datasets)
    return Catalog(learners=learners, datasets=sets, metrics=metrics, representations=REPRESENTATIONS)


ROWS = np.eye(20, 4, dtype=np.float32) + 1
LABELS = np.arange(20) % 4
NAMES = ("a", "b", "c", "d")


def learners_of(experiment):
    """Return the learners of an experiment."""
    return learner_refs(experiment, dataset_groups(experiment))


def datasets_of(experiment):
    """Return the datasets of an experiment."""
    return kept_datasets(dataset_groups(experiment), experiment.leave_out)


def resolved_of(catalog=None, **raw):
    """Return an experiment with its names resolved."""
    catalog = catalog or catalog_of()
    raw = {"learners": "pa", "datasets": "data", "trials": 1} | raw
    return resolve(build(raw, "test", catalog), catalog)


def trials_of(header, catalog=None, headers=None, **raw):
    planned = plan(resolved_of(catalog, **raw), headers or {"data": header, "other": header})
    planned.check()
    return planned.trials


def key(header, **raw):
    (trial,) = trials_of(header, **raw)
    return trial.key


SEVERAL = csr_array(np.eye(20, 4, dtype=np.int8)[LABELS])
