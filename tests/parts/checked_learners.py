"""Learners for tests of the checks: a good one, and one for each kind of defect."""

import itertools

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from harness.sdk import saving


class Good(ClassifierMixin):
    """Score a class by the product of a row with the sum of the class's rows; has every optional method."""

    def __init__(self, *, C=1.0, random_state=None):
        self.C = C
        self.random_state = random_state

    def get_params(self, deep=True):
        return {"C": self.C, "random_state": self.random_state}

    def set_params(self, **params):
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X, y, after_pass=None):
        self.classes_, indicator = self.read(y)
        self.set_sums(np.zeros((len(self.classes_), X.shape[1])))
        self.add(X, indicator)
        if after_pass is not None:
            after_pass(1)
        return self

    def partial_fit(self, X, y, classes=None):
        if not hasattr(self, "sums_"):
            self.classes_ = np.asarray(classes)
            self.set_sums(np.zeros((len(classes), X.shape[1])))
        self.add(X, csr_array((np.asarray(y)[:, np.newaxis] == self.classes_).astype(float)))
        return self

    def read(self, y):
        """Return the classes of y, and the rows of each class."""
        if issparse(y):
            names = np.flatnonzero(np.asarray(y.sum(axis=0)).ravel())
            return names, csr_array(y)[:, names]
        names, positions = np.unique(y, return_inverse=True)
        return names, csr_array(np.eye(len(names))[positions])

    def add(self, X, indicator):
        sums = indicator.T @ X
        self.set_sums(self.sums_ + self.C * (sums.toarray() if issparse(sums) else sums))

    def set_sums(self, sums):
        self.sums_, self.index_size_, self.index_bytes_ = sums, int(np.count_nonzero(sums)), sums.nbytes

    def save(self, path):
        header = {"C": self.C, "random_state": self.random_state}
        saving.write_model(path, header, {"classes_": self.classes_, "sums_": self.sums_})

    @classmethod
    def load(cls, path):
        header, arrays = saving.read_model(path)
        learner = cls(C=header["C"], random_state=header["random_state"])
        learner.classes_ = arrays["classes_"]
        learner.set_sums(arrays["sums_"])
        return learner

    def rank(self, X, k):
        scores = np.asarray(X @ self.sums_.T)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.pad(order, ((0, 0), (0, max(0, k - order.shape[1]))), constant_values=-1)

    def predict(self, X):
        return self.classes_[self.rank(X, 1)[:, 0]]

    def scores(self, X, ranks):
        return np.where(ranks >= 0, -np.arange(float(ranks.shape[1])), 0.0)  # depends on the position only

    def contributions(self, X, ranks):
        return csr_array((ranks.size, X.shape[1])), self.scores(X, ranks)

    def edges_touched(self, X):
        return 2.5


class IgnoresItsParameters(Good):
    def set_params(self, **params):
        self.C = 7.0
        return self


class HasNoParameters(Good):
    get_params = None


class CutsItsRanks(Good):
    def rank(self, X, k):
        return super().rank(X, min(k, 6))


class NeverLearns(Good):
    def rank(self, X, k):
        return np.zeros_like(super().rank(X, k)) + np.arange(k) if k <= len(self.classes_) else super().rank(X * 0, k)

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])


class PredictsOtherwise(Good):
    def predict(self, X):
        return self.classes_[self.rank(X, 2)[:, 1]]


class ChangesItsInput(Good):
    def rank(self, X, k):
        ranks = super().rank(X, k)
        X.data *= 2  # the ranking of this learner does not depend on it
        return ranks


class ChangesItsInputInFit(Good):
    def fit(self, X, y, after_pass=None):
        super().fit(X, y, after_pass)
        X.data *= 2
        return self


class CountsItsFits(Good):
    """Every other fit differs, as a deterministic form of unseeded randomness."""

    fits = itertools.count()

    def fit(self, X, y, after_pass=None):
        super().fit(X, y, after_pass)
        if next(self.fits) % 2:
            self.sums_[1] *= 1.5
        return self


class Remembers(Good):
    def fit(self, X, y, after_pass=None):
        before = getattr(self, "sums_", 0)
        super().fit(X, y, after_pass)
        self.sums_ = self.sums_ + 3 * before
        return self


class DrawsWithoutASeed(Good):
    """Adds unseeded noise to the weights, and keeps no state between fits."""

    chance = np.random.default_rng(5)

    def fit(self, X, y, after_pass=None):
        super().fit(X, y, after_pass)
        self.sums_ = self.sums_ + self.chance.normal(0, 2, self.sums_.shape)
        return self


class RemembersAndDraws(Remembers):
    """Adds unseeded noise and keeps state between fits."""

    def fit(self, X, y, after_pass=None):
        super().fit(X, y, after_pass)
        self.sums_ = self.sums_ + DrawsWithoutASeed.chance.normal(0, 2, self.sums_.shape)
        return self


class InventsClasses(Good):
    def fit(self, X, y, after_pass=None):
        super().fit(X, y, after_pass)
        if self.classes_.size == 6:
            return self
        seen, self.classes_ = self.classes_, np.arange(self.classes_.max() + 1)
        sums = np.zeros((len(self.classes_), X.shape[1]))
        sums[seen] = self.sums_
        self.sums_ = sums
        return self


class NeedsAFeature(Good):
    def rank(self, X, k):
        if X.nnz == 0:
            raise ValueError("nothing to go by")
        return super().rank(X, k)


class TakesOneLabel(Good):
    def fit(self, X, y, after_pass=None):
        if issparse(y):
            raise ValueError("one label a row, please")
        return super().fit(X, y, after_pass)


class OwesItsIndex(Good):
    def set_sums(self, sums):
        super().set_sums(sums)
        self.index_size_ = -1


class OwesItsBytes(Good):
    def set_sums(self, sums):
        super().set_sums(sums)
        self.index_bytes_ = -1


class TouchesNothingKnown(Good):
    def edges_touched(self, X):
        return float("nan")


class CountsFromZero(Good):
    def fit(self, X, y, after_pass=None):
        super().fit(X, y)
        if after_pass is not None:
            after_pass(0)
        return self


class CallsNoAfterPass(Good):
    def fit(self, X, y, after_pass=None):
        return super().fit(X, y)


class Minimal:
    """The minimal learner of the contract."""

    def __init__(self):
        pass

    get_params, set_params = (lambda self, deep=True: {}), (lambda self: self)

    def fit(self, X, y):
        self.inner = Good().fit(X, y)

    def predict(self, X):
        return self.inner.predict(X)


class OnlyDense(Good):
    def fit(self, X, y, after_pass=None):
        assert isinstance(X, np.ndarray)
        return super().fit(X, y, after_pass)

    def rank(self, X, k):
        assert isinstance(X, np.ndarray)
        return super().rank(X, k)


class ReadsTexts(ClassifierMixin, BaseEstimator):
    """Counts words of texts, and accepts nothing else."""

    def fit(self, X, y):
        assert X.dtype == object
        assert all(isinstance(text, str) for text in X)
        self.inner_ = make_pipeline(CountVectorizer(), MultinomialNB()).fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)


class WritesOverTexts(ReadsTexts):
    def fit(self, X, y):
        X[:] = [text.upper() for text in X]
        return super().fit(X, y)


class WantsTree(Good):
    def fit(self, X, y, *, taxonomy):
        assert taxonomy.class_node.shape == (6,)
        return super().fit(X, y)


class Around(Good):
    """A wrapper that requires an inner learner."""

    save = load = None

    def __init__(self, inner, *, C=1.0, random_state=None):
        super().__init__(C=C, random_state=random_state)
        self.inner = inner

    def get_params(self, deep=True):
        return {"inner": self.inner, **super().get_params()}

    def fit(self, X, y, after_pass=None):
        assert self.inner.fit(X, y).rank(X, 1).shape == (X.shape[0], 1)
        return super().fit(X, y, after_pass)


class ScoresBackwards(Good):
    def scores(self, X, ranks):
        return np.arange(float(ranks.size)).reshape(ranks.shape)


class ContributesTooMuch(Good):
    def contributions(self, X, ranks):
        parts, bias = super().contributions(X, ranks)
        return parts, bias + 1


class ContributesFeaturesOfOtherRows(Good):
    def contributions(self, X, ranks):
        parts, bias = super().contributions(X, ranks)
        return csr_array(np.ones(parts.shape)), bias - parts.shape[1]


class ContributesOneRowForAllClasses(Good):
    def contributions(self, X, ranks):
        parts, bias = super().contributions(X, ranks)
        return parts[: len(ranks)], bias


class Trusting(DummyClassifier):
    """A class of another package that cannot save itself."""


class Silent(ClassifierMixin, BaseEstimator):
    """A learner without scores, which predicts the most frequent class."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = int(self.classes_[counts.argmax()])
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.most_)
