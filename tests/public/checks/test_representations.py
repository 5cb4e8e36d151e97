"""Representation checks: a good one passes all of them, and each check fails for exactly one kind of bad one."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin

from checking import cases, failed
from harness import RepresentationSpec
from internals import representation_checks


class Good(TransformerMixin, BaseEstimator):
    """The identity."""

    draws = itertools.count()

    def __init__(self, *, factor=1.0):
        self.factor = factor

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return csr_array(X * self.factor)


class Lengths(Good):
    """Takes texts and returns their lengths."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.array([[float(len(text))] for text in X])


class DropsRows(Good):
    def transform(self, X):
        return csr_array(X)[:-1]


class GrowsWithItsRows(Good):
    def transform(self, X):
        return csr_array(np.ones((X.shape[0], X.shape[0])))


class GivesNoNumbers(Good):
    def transform(self, X):
        return csr_array(np.full(X.shape, np.nan))


class GoesBelowZero(Good):
    def transform(self, X):
        return -csr_array(X)


class Draws(Good):
    def transform(self, X):
        return csr_array(X) * (1 + next(self.draws))


class ChangesItsInput(Good):
    def transform(self, X):
        X.data *= 2
        return csr_array(X.copy())


class MakesNewParameters(Good):
    def __init__(self, *, factor=1.0):
        self.factor = np.float64(factor) * 1


def spec_of(kind, **fields):
    return RepresentationSpec(name="mine", load=f"{__name__}:{kind.__name__}", **fields)


def test_good_representations_pass_every_check():
    assert failed(representation_checks(spec_of(Good, gives="counts"))) == set()
    assert failed(representation_checks(spec_of(Lengths, takes="text"))) == set()
    assert failed(representation_checks(spec_of(GoesBelowZero, gives="vectors"))) == set()


BAD = {
    "returns_a_row_of_numbers_for_each_row": [
        spec_of(DropsRows),
        spec_of(GrowsWithItsRows),
        spec_of(GivesNoNumbers),
        spec_of(GoesBelowZero, gives="counts"),
    ],
    "is_reproducible": [spec_of(Draws)],
    "does_not_change_its_input": [spec_of(ChangesItsInput)],
    "can_be_cloned": [spec_of(MakesNewParameters)],
}


@pytest.mark.parametrize(("check", "spec"), cases(BAD))
def test_a_bad_representation_fails_exactly_its_check(check, spec):
    assert failed(representation_checks(spec)) == {check}


def test_every_check_has_a_bad_representation():
    assert {check.name for check in representation_checks(spec_of(Good))} == set(BAD)
