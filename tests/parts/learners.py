"""Learners for tests: nearest class centres, with many kinds of behaviour."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.sparse import csr_array, issparse


class Centres:
    """The minimal learner with a decision_function."""

    def __init__(self, *, size=0, random_state=None):
        self.size = size
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.arange(y.shape[1]) if issparse(y) else np.unique(y)
        member = y if issparse(y) else csr_array((y[:, None] == self.classes_).astype(np.float64))
        counts = np.maximum(np.asarray(member.sum(axis=0)).ravel(), 1)
        self.centres_ = (member.T @ X).T / counts
        return self

    def decision_function(self, X):
        scores = X @ self.centres_
        return scores.toarray() if issparse(scores) else np.asarray(scores)

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]


class Ranking(Centres):
    def rank(self, X, k):
        order = np.argsort(-self.decision_function(X), axis=1, kind="stable")[:, :k].astype(np.int32)
        return np.pad(order, ((0, 0), (0, k - order.shape[1])), constant_values=-1)


class Predicting:
    def fit(self, X, y):
        self.centres = Centres().fit(X, y)
        return self

    def predict(self, X):
        return self.centres.predict(X)


class Counting(Centres):
    index_size_ = 123
    index_bytes_ = 4567

    def edges_touched(self, X):
        return np.float32(2.5)


class DenseCoefficients(Centres):
    def fit(self, X, y):
        super().fit(X, y)
        self.coef_ = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, -3.0]])
        return self


class SparseCoefficients(Centres):
    def fit(self, X, y):
        super().fit(X, y)
        self.coef_ = csr_array(np.array([[0.0, 1.0], [2.0, 0.0]]))
        return self


class Unpicklable(Centres):
    def fit(self, X, y):
        self.function = lambda: None
        return super().fit(X, y)


class Staging(Ranking):
    """Takes long to stage rows, and cannot learn without staging."""

    def stage(self, X, y):
        time.sleep(0.5)
        return X.shape[0]

    def fit(self, X, y, *, staged=None):
        if staged != X.shape[0]:
            raise ValueError(f"staged for {staged} rows, given {X.shape[0]}")
        return super().fit(X, y)


class SlowAtFirst(Ranking):
    """Takes long in its first fit and rank, as if kernels were compiled."""

    fitted = ranked = False

    def fit(self, X, y):
        if not SlowAtFirst.fitted:
            time.sleep(0.6)
        SlowAtFirst.fitted = True
        return super().fit(X, y)

    def rank(self, X, k):
        if not SlowAtFirst.ranked:
            time.sleep(0.6)
        SlowAtFirst.ranked = True
        return super().rank(X, k)


class Sized(Ranking):
    """Accepts a size of 1 only."""

    def __init__(self, size=1):
        self.size = size

    def fit(self, X, y):
        if self.size > 1:
            raise MemoryError(f"no room for {self.size}")
        return super().fit(X, y)


WORK = "import time\nwhile time.process_time() < {seconds}: pass"


class Pooled(Ranking):
    """Works in the threads of a pool."""

    seconds = 0.3

    def fit(self, X, y):
        with ThreadPoolExecutor(2) as pool:
            for _ in range(2):
                pool.submit(spend, self.seconds / 2)
        return super().fit(X, y)


class Sleeping(Ranking):
    """Waits and does not work."""

    def fit(self, X, y):
        time.sleep(0.5)
        return super().fit(X, y)


class CallsBinary(Ranking):
    """Works in a program that it starts."""

    seconds = 0.3

    def fit(self, X, y):
        subprocess.run([sys.executable, "-S", "-c", WORK.format(seconds=self.seconds)], check=True)
        return super().fit(X, y)


class WorksElsewhere(Ranking):
    """Works in a process whose parent has ended: it is not a descendant of the learner's process."""

    seconds = 1.0

    def fit(self, X, y):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            if os.fork() == 0:
                spend(self.seconds)
            os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        os.read(reader, 1)  # until the last process that has the writer ends
        return super().fit(X, y)


def spend(seconds):
    """Keep a processor busy for some seconds of the thread's CPU time."""
    start = time.thread_time()
    while time.thread_time() - start < seconds:
        pass


class SlowToRank(Ranking):
    """Learns fast in two passes and ranks slowly."""

    seconds = 0.5

    def fit(self, X, y, *, after_pass=None):
        super().fit(X, y)
        for number in (1, 2):
            if after_pass is not None:
                after_pass(number)
        return self

    def rank(self, X, k):
        time.sleep(self.seconds)
        return super().rank(X, k)


class Demanding(Centres):
    """Rejects few rows, such as those of the warm-up."""

    def fit(self, X, y):
        if X.shape[0] < 100:
            raise ValueError("too few rows")
        return super().fit(X, y)


class Telling(Centres):
    """Returns its arguments in its predictions."""

    def fit(self, X, y):
        words = [type(X).__name__, X.dtype, type(y).__name__, y.dtype, X.shape, self.random_state]
        raise RuntimeError(" ".join(map(str, words)))


class Rolling(Centres):
    """Uses numpy's global random state."""

    def fit(self, X, y):
        import random

        super().fit(X, y)
        self.centres_ = np.random.rand(*self.centres_.shape) + random.random() * np.random.rand(*self.centres_.shape)
        return self


class WithTree(Centres):
    def fit(self, X, y, *, taxonomy=None):
        super().fit(X, y)
        self.index_size_ = 0 if taxonomy is None else len(taxonomy.parent)
        return self


class WithAnything(Centres):
    def fit(self, X, y, **given):
        super().fit(X, y)
        self.index_size_ = len(given["taxonomy"].parent)
        return self


class Hungry(Centres):
    def fit(self, X, y):
        if X.shape[0] > 100:
            block = np.ones(self.size, np.uint8)
            del block
        return super().fit(X, y)


class HungryBefore(Centres):
    """Allocates memory in the warm-up only."""

    def fit(self, X, y):
        if X.shape[0] < 100:
            block = np.ones(self.size, np.uint8)
            del block
        return super().fit(X, y)


# -- learners that change their input


class ChangesValues(Centres):
    def fit(self, X, y):
        super().fit(X, y)
        if issparse(X):
            X.data[0] *= 2
        else:
            X[0, 0] += 1
        return self


class ChangesPlaces(Centres):
    def fit(self, X, y):
        super().fit(X, y)
        X.indices[0] = X.indices[0] + 1
        return self


class ReplacesValues(Centres):
    def fit(self, X, y):
        super().fit(X, y)
        X.data = np.repeat(X.data, 2)[::2] * 2
        return self


class ChangesLabels(Centres):
    def fit(self, X, y):
        super().fit(X, y)
        if issparse(y):
            y.data[0] = 0
        else:
            y[0] = 1 - min(y[0], 1)
        return self


class ChangesTestRows(Ranking):
    def rank(self, X, k):
        answer = super().rank(X, k)
        X.data[:] = 0
        return answer


class ChangesTrainingRowsLater(Ranking):
    def fit(self, X, y):
        self.X = X
        return super().fit(X, y)

    def rank(self, X, k):
        self.X.data[:] = 0
        return super().rank(X, k)


# -- learners that fail


class FailsInInit(Centres):
    def __init__(self):
        raise ValueError("cannot be made")


class FailsInFit(Centres):
    def fit(self, X, y):
        raise ValueError("cannot\n  be\ttrained " + "x" * 10_000)


class FailsInRank(Ranking):
    def rank(self, X, k):
        raise ValueError("cannot rank")


class Exits(Centres):
    def fit(self, X, y):
        sys.exit("good bye")


class OutOfMemory(Centres):
    def fit(self, X, y):
        raise MemoryError("no room")


class WrongShape(Ranking):
    def rank(self, X, k):
        return super().rank(X, k)[:, :-1]


class WrongType(Ranking):
    def rank(self, X, k):
        return super().rank(X, k).astype(float)


class WrongClass(Ranking):
    def rank(self, X, k):
        return super().rank(X, k) + 1000


class NoClasses(Ranking):
    def fit(self, X, y):
        super().fit(X, y)
        del self.classes_
        return self

    def predict(self, X):
        return np.zeros(X.shape[0], np.int64)


# -- metrics


def fails(outcome):
    raise RuntimeError("no value")


def gives_nan(outcome):
    return float("nan")


def gives_text(outcome):
    return "much"


def gives_nothing(outcome):
    return None


def gives_whole(outcome):
    return np.int64(7)
