"""Experiments for tests: a catalog without plugins, small data, and what is planned from them."""

import numpy as np
from scipy.sparse import csr_array

from harness import DatasetSpec, LearnerSpec
from harness.catalog import Catalog, Entry, Origin
from harness.experiment.building import build
from harness.experiment.learner_ref import learner_refs
from harness.experiment.plan import plan
from harness.experiment.resolve import resolve
from harness.experiment.schema import dataset_groups, kept_datasets
from harness.signature import Source
from harness_representations.plugin import harness_representations

NO_FLAGS = dict.fromkeys(
    ["learners", "datasets", "metrics", "trials", "representation", "split", "seed", "jobs", "threads"]
) | {"timeout": None, "memory": None, "settings": (), "curves": None, "tune": (), "give_up": None, "on": None}
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
    """The learners that an experiment sets up."""
    return learner_refs(experiment, dataset_groups(experiment))


def datasets_of(experiment):
    """The data sets that an experiment runs on."""
    return kept_datasets(dataset_groups(experiment), experiment.leave_out)


def resolved_of(catalog=None, **raw):
    """An experiment with its names looked up, as a run reads it."""
    catalog = catalog or catalog_of()
    raw = {"learners": "pa", "datasets": "data", "trials": 1} | raw
    return resolve(build(raw, "test", catalog), catalog)


def trials_of(header, catalog=None, headers=None, **raw):
    return plan(resolved_of(catalog, **raw), headers or {"data": header, "other": header})


def key(header, **raw):
    (trial,) = trials_of(header, **raw)
    return trial.key


SEVERAL = csr_array(np.eye(20, 4, dtype=np.int8)[LABELS])
