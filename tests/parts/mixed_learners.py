"""A plugin for tests: one good learner and many bad ones."""

import ctypes
import os
import signal
import subprocess
import sys
import time

import numpy as np

from harness import LearnerSpec, hookimpl

CLASSES = {
    "good": "Good",
    "chance": "Chance",
    "slow": "Slow",
    "tells": "Tells",
    "recovers": "Recovers",
    "raises": "Raises",
    "sometimes": "Sometimes",
    "hangs": "Hangs",
    "holds": "Holds",
    "exits": "Exits",
    "killed": "Killed",
    "faults": "Faults",
    "grows": "Grows",
    "shape": "Shape",
    "dtype": "Dtype",
    "wrong": "Wrong",
    "changes": "Changes",
    "prints": "Prints",
    "leaves": "Leaves",
}


@hookimpl
def harness_learners():
    found = [LearnerSpec(name=name, load=f"mixed_learners:{kind}", kind="flat") for name, kind in CLASSES.items()]
    return [*found, LearnerSpec(name="deadly", load="deadly:Deadly", preload=("deadly",))]


class Good:
    """Scores classes by the sum of their rows."""

    def __init__(self, *, scale=1.0, random_state=None):
        self.scale, self.random_state = scale, random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.coef_ = np.array([np.asarray(X[y == c].sum(axis=0)).ravel() for c in self.classes_]) * self.scale
        return self

    def decision_function(self, X):
        return X @ self.coef_.T

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]

    def rank(self, X, k):
        order = np.argsort(-self.decision_function(X), axis=1, kind="stable")[:, :k].astype(np.int32)
        return np.pad(order, ((0, 0), (0, k - order.shape[1])), constant_values=-1)


class Chance(Good):
    """Draws random weights."""

    def fit(self, X, y):
        super().fit(X, y)
        self.coef_ = self.coef_ + np.random.RandomState(self.random_state).rand(*self.coef_.shape)
        return self


class Slow(Good):
    def fit(self, X, y):
        time.sleep(0.1)
        with open(os.environ["RUN_TEST_LOG"], "a") as log:
            log.write(f"{self.random_state}\n")
        return super().fit(X, y)


class Tells(Good):
    """Logs each training."""

    def fit(self, X, y):
        with open(os.environ["RUN_TEST_LOG"], "a") as log:
            log.write("trained\n")
        return super().fit(X, y)


class Recovers(Good):
    """Fails until a file exists."""

    def fit(self, X, y):
        if not os.path.exists(os.environ["RUN_TEST_LOG"]):
            raise RuntimeError("not yet")
        return super().fit(X, y)


class Raises(Good):
    def fit(self, X, y):
        raise ValueError("it cannot be done")


class Sometimes(Good):
    def fit(self, X, y):
        if self.random_state % 2:
            raise ValueError("an odd seed")
        return super().fit(X, y)


class Hangs(Good):
    def fit(self, X, y):
        while True:
            time.sleep(0.01)


class Holds(Good):
    """Hangs in compiled code while holding the interpreter lock."""

    def rank(self, X, k):
        ctypes.PyDLL(None).sleep(1000)


class Exits(Good):
    def fit(self, X, y):
        os._exit(0)


class Killed(Good):
    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


class Faults(Good):
    def rank(self, X, k):
        ctypes.string_at(0)


class Grows(Good):
    def fit(self, X, y):
        kept = []
        while True:
            kept.append(np.ones(10_000_000, np.uint8))


class Shape(Good):
    def rank(self, X, k):
        return super().rank(X, k)[1:]


class Dtype(Good):
    def rank(self, X, k):
        return super().rank(X, k).astype(np.float32)


class Wrong(Good):
    def rank(self, X, k):
        return super().rank(X, k) + 10_000


class Changes(Good):
    def fit(self, X, y):
        super().fit(X, y)
        X.data *= 2
        return self


class Prints(Good):
    def fit(self, X, y):
        for _ in range(5000):
            print("words " * 300)
            print("more words " * 100, file=sys.stderr)
        return super().fit(X, y)


class Leaves(Good):
    def fit(self, X, y):
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if os.fork() == 0:
                time.sleep(1000)
            os._exit(0)
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        return super().fit(X, y)
