"""A plugin for tests: good and bad learners and datasets."""

import os
import signal
import time

import numpy as np
from scipy.sparse import csr_array

from harness import Dataset, DatasetSpec, LearnerSpec, hookimpl


@hookimpl
def harness_learners():
    return [
        LearnerSpec(name="first", load="runner_plugin:First"),
        LearnerSpec(name="odd", load="runner_plugin:FailsInOddTrials"),
        LearnerSpec(name="killed", load="runner_plugin:KillsItself"),
        LearnerSpec(name="bag", load="runner_plugin:Bag", wraps="base"),
    ]


@hookimpl
def harness_datasets():
    names = ("tiny", "failing", "leaving", "wrong", "without_numbers", "littering")
    loaded = [DatasetSpec(name=name, load=f"runner_plugin:{name}", representation="raw") for name in names]
    return [*loaded, DatasetSpec(name="half", load="runner_plugin:half", wraps="whole")]


class First:
    """Ranks the classes in numeric order."""

    def __init__(self, *, order=(), weights=None, random_state=None):
        self.order, self.weights, self.random_state = order, weights, random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if not isinstance(self.order, tuple):
            raise TypeError(f"order is a tuple, got {self.order!r}")
        if self.weights not in (None, {"a": [1.5, None], "b": float("inf")}):
            raise ValueError(f"weights are {self.weights!r}")
        return self

    def rank(self, X, k):
        order = np.arange(len(self.classes_), dtype=np.int32)[:k]
        return np.tile(np.pad(order, (0, k - len(order)), constant_values=-1), (X.shape[0], 1))

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])


class FailsInOddTrials(First):
    def __init__(self, *, random_state=None):
        super().__init__(random_state=random_state)

    def fit(self, X, y):
        if self.random_state % 2:
            print("odd indeed")
            raise ValueError("an odd seed")
        return super().fit(X, y)


class KillsItself(First):
    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


class Bag(First):
    """A wrapper with an unusual name for the inner learner's parameter."""

    def __init__(self, base=None, *, size=1):
        self.base, self.size = base, size

    def fit(self, X, y):
        self.members_ = [self.base for _ in range(self.size)]
        self.classes_ = self.base.fit(X, y).classes_
        print(f"{type(self.base).__name__} of order {self.base.order}")
        return self

    def rank(self, X, k):
        return self.base.rank(X, k)


def tiny(*, rows=40):
    with open(os.environ["RUNNER_TEST_LOG"], "a") as log:
        log.write(f"read {rows}\n")
    X = csr_array(np.eye(4, dtype=np.float32)[np.arange(rows) % 4])
    return Dataset(X, np.arange(rows) % 4, ("a", "b", "c", "d"))


def half(whole, *, first=True):
    rows = whole.X.shape[0]
    kept = slice(0, rows // 2) if first else slice(rows // 2, rows)
    return Dataset(whole.X[kept], whole.y[kept], whole.class_names)


def failing():
    raise ValueError("the file is not there")


def leaving():
    print("some words before")
    os._exit(9)


def wrong():
    return [1, 2, 3]


def without_numbers():
    X = csr_array(np.array([[1.0, np.nan], [2.0, 1.0], [1.0, 1.0], [3.0, 1.0]]))
    return Dataset(X, np.array([0, 1, 0, 1]), ("a", "b"))


def littering():
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    return tiny(rows=44)
