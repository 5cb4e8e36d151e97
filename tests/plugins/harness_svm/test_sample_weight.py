"""Weights of rows in `svm`: at the optimum a row of weight 2 counts as two rows, and a row of weight 0 as none."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from harness_svm import SVM
from messages import naming

EXACT = {"tol": 1e-9, "max_sweeps": 100_000, "random_state": 0}
both_losses = pytest.mark.parametrize(("loss", "p"), [("hinge", 1), ("squared_hinge", 2)])
both_forms = pytest.mark.parametrize("form", [csr_array, lambda X: csr_array(X).toarray()], ids=["sparse", "dense"])


def random_weights(n, seed=1):
    return np.random.default_rng(seed).integers(0, 4, n)


def objective(X, y, W, bias, C, p, s):
    sign = np.where(y[:, np.newaxis] == np.arange(W.shape[1]), 1, -1)
    losses = s[:, np.newaxis] * np.maximum(0, 1 - sign * (X @ W + bias)) ** p
    return (W**2).sum() / 2 + (bias**2).sum() / 2 + C * losses.sum()


@both_losses
@both_forms
def test_a_row_of_weight_n_counts_as_n_rows(data, weights, loss, p, form):
    X, y = data(n=150)
    s = random_weights(len(y))
    repeated = np.repeat(np.arange(len(y)), s)
    weighted = SVM(C=0.5, loss=loss, **EXACT).fit(form(X), y, sample_weight=s)
    copied = SVM(C=0.5, loss=loss, **EXACT).fit(form(X[repeated]), y[repeated])
    assert_allclose(weights(weighted), weights(copied), atol=1e-6)
    assert_allclose(weighted.base_, copied.base_, atol=1e-6)


@both_losses
def test_the_weighted_objective_equals_liblinears(data, weights, loss, p):
    X, y = data(n=150)
    s = np.random.default_rng(2).random(len(y)) * 3
    theirs = LinearSVC(C=0.5, loss=loss, dual=True, tol=1e-6, max_iter=200_000, random_state=0).fit(X, y, s)
    ours = SVM(C=0.5, loss=loss, **EXACT).fit(X, y, sample_weight=s)
    expected = objective(X.toarray(), y, theirs.coef_.T, theirs.intercept_, 0.5, p, s)
    found = objective(X.toarray(), y, weights(ours), ours.base_, 0.5, p, s)
    assert found == pytest.approx(expected, rel=1e-5)
    assert found < objective(X.toarray(), y, weights(SVM(C=0.5, loss=loss, **EXACT).fit(X, y)), ours.base_, 0.5, p, s)


@both_forms
def test_a_row_of_weight_zero_is_as_if_it_were_missing_to_the_last_bit(data, weights, form):
    X, y = data(n=150)
    s = np.where((y == 3) | (np.arange(len(y)) % 5 == 0), 0.0, 1.5)
    weighted = SVM(random_state=0).fit(form(X), y, sample_weight=s)
    kept = np.flatnonzero(s)
    without = SVM(random_state=0).fit(form(X[kept]), y[kept], sample_weight=s[kept])
    assert 3 not in weighted.classes_
    assert_array_equal(weighted.classes_, without.classes_)
    assert_array_equal(weights(weighted), weights(without))


def test_weights_of_one_and_no_weights_are_the_same_to_the_last_bit(data, weights):
    X, y = data(n=150)
    assert_array_equal(
        weights(SVM(random_state=0).fit(X, y, sample_weight=np.ones(len(y)))), weights(SVM(random_state=0).fit(X, y))
    )


def test_a_row_with_several_labels_has_one_weight_for_all_of_them(data, weights):
    X, y = data(n=150)
    Y = np.eye(6, dtype=int)[y] | np.eye(6, dtype=int)[(y + 1) % 6]
    s = random_weights(len(y))
    repeated = np.repeat(np.arange(len(y)), s)
    weighted = SVM(**EXACT).fit(X, csr_array(Y), sample_weight=s)
    assert_allclose(weights(weighted), weights(SVM(**EXACT).fit(X[repeated], csr_array(Y[repeated]))), atol=1e-6)


def test_the_number_of_threads_changes_no_weight(data, weights, monkeypatch):
    X, y = data(n=150)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(weights(SVM(random_state=0).fit(X, y, sample_weight=random_weights(len(y)) + 1)))
    assert_array_equal(*found)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([1.0], "shape"),
        (np.ones((4, 1)), "shape"),
        ([1, 1, 1, -1], "negative"),
        ([1, 1, 1, np.nan], "not finite"),
        ([1, 1, 1, np.inf], "not finite"),
        ([0, 0, 0, 0], "zero"),
    ],
)
def test_bad_weights_raise_an_error(given, problem):
    with pytest.raises(ValueError, match=naming("sample_weight", problem)):
        SVM().fit(np.eye(4), [0, 0, 1, 1], sample_weight=given)


def test_few_rows_have_the_same_weights_for_every_seed_and_order(data, weights):
    X, y = data(n=100)
    fitted = SVM(random_state=0).fit(X, y)
    turned = SVM(random_state=5).fit(X[::-1], y[::-1])
    assert_allclose(weights(fitted), weights(turned), atol=1e-6)
    many, other = (SVM(random_state=seed).fit(*data(n=130)) for seed in (0, 5))
    assert not np.allclose(weights(many), weights(other), atol=1e-6)  # `tol` is loose


def test_few_rows_beyond_the_sweeps_are_solved_to_tol_without_a_warning(data):
    X, y = data(n=100)
    settings = {"loss": "hinge", "C": 1.0, "max_sweeps": 15, "random_state": 0}
    with warnings.catch_warnings(action="error"):
        learner = SVM(tol=0.5, **settings).fit(X, y)
    assert learner.sweeps_.max() < 15
    with pytest.warns(ConvergenceWarning):
        SVM(tol=1e-10, **settings).fit(X, y)
