"""Winnow as a classifier: it finds few relevant features, and ignores values at or below 0."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning

from harness_prototype import Winnow
from internals import as_edges


def disjunctions(n: int = 2000, n_features: int = 200, n_classes: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of 0 and 1; either of two features marks a class, all other features are noise."""
    rng = np.random.default_rng(0)
    X = rng.random((n, n_features)) < 0.1
    y = rng.integers(0, n_classes, n)
    X[:, : 2 * n_classes] = False
    X[np.arange(n), 2 * y + rng.integers(0, 2, n)] = True
    return X.astype(np.float32), y


def test_relevant_features_are_found_among_many_irrelevant_ones():
    X, y = disjunctions()
    learner = Winnow(random_state=0).fit(X[:1000], y[:1000])
    assert learner.score(X[1000:], y[1000:]) > 0.97
    heaviest = learner.rows_.weights[: learner.rows_.heads[0]].max()
    promoted = [f for f in range(200) if learner.rows_.weights[learner.rows_.start[f] :][:5].max() == heaviest]
    assert set(promoted) <= set(range(10))


def test_values_at_or_below_zero_are_ignored():
    X, y = disjunctions(n=300)
    rng = np.random.default_rng(1)
    below = np.where((X == 0) & (rng.random(X.shape) < 0.3), -rng.random(X.shape), X).astype(np.float32)
    with pytest.warns(DataConversionWarning, match="Winnow ignores"):
        one, other = Winnow(random_state=0).fit(X, y), Winnow(random_state=0).fit(below, y)
    assert_array_equal(one.rank(X, 5), other.rank(below, 5))
    assert one.edges_touched(X) == other.edges_touched(below)


def test_the_default_threshold_is_the_mean_row_length():
    X, y = disjunctions(n=300)
    learner = Winnow(random_state=0).fit(X, y)
    assert learner.theta_ == pytest.approx(X.sum(axis=1).mean())
    with_theta = Winnow(theta=learner.theta_, random_state=0).fit(X, y)
    assert_array_equal(with_theta.rank(X, 5), learner.rank(X, 5))
    assert not hasattr(with_theta, "theta_")


def test_a_first_batch_without_features_gives_a_threshold_of_one():
    assert Winnow().partial_fit(np.zeros((2, 3)), [0, 1]).theta_ == 1.0


def test_the_threshold_of_the_first_batch_is_kept_and_saved(tmp_path):
    X, y = disjunctions(n=300)
    learner = Winnow().partial_fit(X[:100], y[:100])
    first = learner.theta_
    learner.partial_fit(np.ones_like(X), y)
    assert learner.theta_ == first
    learner.save(tmp_path / "model")
    assert Winnow.load(tmp_path / "model").theta_ == first


def test_rows_without_features_do_not_change_the_weights():
    learner = Winnow().fit(-np.ones((4, 3)), [0, 1, 0, 1])
    assert learner.index_size_ == 0
    assert np.all(learner.rank(np.ones((1, 3)), 2) == [[0, 1]])


def dense_rows(n: int = 900) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with the same active features; the classes differ in the values only."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    X = 0.3 + 0.7 * rng.random((4, 12))[y] + 0.05 * rng.random((n, 12))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("balanced", [False, True])
def test_updates_by_value_separate_classes_with_equal_active_features(balanced):
    X, y = dense_rows()
    active, by_value = (
        Winnow(updates=updates, balanced=balanced, random_state=0).fit(X[:600], y[:600]).score(X[600:], y[600:])
        for updates in ("active", "value")
    )
    assert active < 0.5
    assert by_value > 0.8


def test_the_default_demotion_rate_is_the_promotion_rate():
    X, y = disjunctions(n=300)
    one, same = (Winnow(alpha=2.0, demotion=demotion, random_state=0).fit(X, y) for demotion in (None, 2.0))
    assert_array_equal(one.rows_.weights, same.rows_.weights)
    assert_array_equal(one.rank(X, 5), same.rank(X, 5))


def test_a_smaller_demotion_leaves_larger_weights():
    X, y = disjunctions(n=300)
    one, milder = (Winnow(alpha=2.0, demotion=demotion, passes=1, random_state=0).fit(X, y) for demotion in (None, 1.2))
    assert np.min(milder.rows_.weights) > np.log(2) * np.min(one.rows_.weights)


def test_balanced_weights_grow_with_new_classes_and_features_and_are_saved(tmp_path):
    X, y = disjunctions(n=300)
    known = y < 3
    learner = Winnow(balanced=True, demotion=1.5).partial_fit(X[known][:, :150], y[known])
    learner.partial_fit(X, y)
    assert learner.classes_.tolist() == [0, 1, 2, 3, 4]
    assert as_edges(learner.rows_).classes.max() == 9
    learner.save(tmp_path / "model")
    assert_array_equal(Winnow.load(tmp_path / "model").rank(X, 5), learner.rank(X, 5))
    full = learner.index_size_
    assert learner.keep_largest(0.5).index_size_ == full // 2


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("alpha", 1.0, "above 1"),
        ("alpha", float("inf"), "finite"),
        ("alpha", "2", "above 1"),
        ("demotion", 1, "None or a finite number above 1"),
        ("demotion", "2", "None or a finite number above 1"),
        ("updates", "all", "active, value"),
        ("balanced", 1, "True or False"),
        ("theta", 0, "None or a finite number above 0"),
        ("theta", "n", "None or a finite number above 0"),
        ("passes", 0, "at least 1"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        Winnow(**{name: value}).fit(*disjunctions(n=50))
