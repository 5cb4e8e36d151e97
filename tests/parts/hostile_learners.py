"""More learners for tests of the checks, with defects in data, labels, batches and files."""

import numpy as np
from scipy.sparse import issparse

from checked_learners import Good


class WritesWhatItGets(Good):
    """Sorts its input in place, which leaves equal values."""

    def fit(self, X, y, after_pass=None):
        X.data *= 1
        return super().fit(X, y, after_pass)


class NeedsPositions(Good):
    def fit(self, X, y, after_pass=None):
        if not issparse(y) and y.dtype != np.int64:
            raise TypeError("class positions, please")
        return super().fit(X, y, after_pass)


class CountsClasses(Good):
    """Replaces class names by numbers."""

    def read(self, y):
        names, indicator = super().read(y)
        return names if names.dtype == np.int64 and names[0] == 0 else np.arange(len(names)), indicator


class MakesNewParameters(Good):
    def __init__(self, *, C=1.0, random_state=None):
        super().__init__(C=np.float64(C), random_state=random_state)


class IsBornFitted(Good):
    classes_ = np.arange(6)


class KeepsOneBatch(Good):
    def partial_fit(self, X, y, classes=None):
        if classes is None and len(y) == 60:
            X = X * 0
            self.set_sums(0 * self.sums_)
        return super().partial_fit(X, y, classes)


class StartsOverInASmallBatch(Good):
    def partial_fit(self, X, y, classes=None):
        if len(y) < 60:
            X = X * 0
            self.set_sums(0 * self.sums_)
        return super().partial_fit(X, y, classes)


class ComesBackOtherwise(Good):
    @classmethod
    def load(cls, path):
        learner = super().load(path)
        learner.set_sums(learner.sums_[::-1].copy())
        return learner


class LosesItsParameters(Good):
    @classmethod
    def load(cls, path):
        return super().load(path).set_params(C=2.0)


class LosesItsIndex(Good):
    @classmethod
    def load(cls, path):
        learner = super().load(path)
        learner.index_size_ = 0
        return learner


class LearnsOtherwiseOnceLoaded(Good):
    @classmethod
    def load(cls, path):
        learner = super().load(path)
        learner.partial_fit = lambda X, y: Good.partial_fit(learner, 9 * X, y[::-1])
        return learner


class TrustsAnyFile(Good):
    """Reads any file and invents missing parts."""

    @classmethod
    def load(cls, path):
        try:
            return super().load(path)
        except ValueError:
            learner = cls()
            learner.classes_ = np.arange(6)
            learner.set_sums(np.zeros((6, 60)))
            return learner


class TrustsAWholeFile(TrustsAnyFile):
    """Detects missing parts only."""

    size = 0

    def save(self, path):
        super().save(path)
        TrustsAWholeFile.size = path.stat().st_size

    @classmethod
    def load(cls, path):
        if path.stat().st_size != cls.size:
            raise ValueError("too short")
        return super().load(path)


class FailsOnDamage(Good):
    @classmethod
    def load(cls, path):
        try:
            return super().load(path)
        except ValueError:
            raise KeyError("sums_") from None


class SavesNothing(Good):
    def save(self, path):
        pass
