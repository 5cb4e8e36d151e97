"""A plugin for tests of verdicts: noisy rows with a fixed split, and learners that are equal by construction.

Learners with a `part` see a third of the features; all thirds are equally good. Without one, all are seen.
"""

import numpy as np

from harness import Dataset, DatasetSpec, LearnerSpec, hookimpl

ROWS, CLASSES, FEATURES = 600, 4, 24


def load(*, seed=0):
    generator = np.random.default_rng([7, seed])
    y = np.concatenate([np.arange(CLASSES), generator.integers(0, CLASSES, ROWS - CLASSES)])
    centres = np.repeat(generator.choice([-1.0, 1.0], (CLASSES, FEATURES // 3)), 3, axis=1)  # the same for each third
    X = (0.3 * centres[y] + generator.normal(size=(ROWS, FEATURES))).astype(np.float32)
    split = {"official": (np.arange(ROWS // 2), np.arange(ROWS // 2, ROWS))}
    return Dataset(X, y, tuple("abcd"), splits=split)


class Part:
    """The nearest class mean by every third feature, or by all."""

    def __init__(self, *, part=None, random_state=None):
        self.part = part
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == c].mean(axis=0) for c in self.classes_])[:, self.part :: self.step]
        return self

    @property
    def step(self):
        return 1 if self.part is None else 3

    def decision_function(self, X):
        return -((X[:, None, self.part :: self.step] - self.means_) ** 2).sum(axis=2)

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]


@hookimpl
def harness_datasets():
    return [DatasetSpec(name="equal", load=f"{__name__}:load")]


@hookimpl
def harness_learners():
    return [LearnerSpec(name="part", kind="flat", load=f"{__name__}:Part", needs=frozenset({"dense"}))]
