"""Gaussian classes: reproducible for a seed, dense, non-negative, and of the requested difficulty."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import DataError
from harness_synthetic import gaussians
from harness_synthetic.plugin import harness_datasets

SMALL = {"rows": 1000, "classes": 50, "features": 32}


def digest(data):
    parts = [data.X.indptr.astype("<i8"), data.X.indices.astype("<i4"), data.X.data.astype("<f4"), data.y.astype("<i4")]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def error_of_nearest_mean(data):
    X, rows = data.X.toarray(), len(data.y)
    train = np.arange(rows) < rows * 3 // 4
    means = np.stack([X[train & (data.y == c)].mean(axis=0) for c in range(len(data.class_names))])
    distances = (means**2).sum(axis=1) - 2 * X[~train] @ means.T
    return (distances.argmin(axis=1) != data.y[~train]).mean()


def test_seed_0_gives_pinned_data():
    assert (
        digest(gaussians.make_gaussians(**SMALL, noise=1.0))
        == "569885f0d5c8e0164bb1b8ebe54078ccf723366570118fa483c96e11c9ae18e8"
    )


def test_another_seed_gives_other_data():
    assert digest(gaussians.make_gaussians(**SMALL, seed=1)) != digest(gaussians.make_gaussians(**SMALL))


@settings(max_examples=30)
@given(st.integers(2, 40), st.integers(0, 60), st.integers(1, 50), st.floats(0, 5), st.integers(0, 2**32 - 1))
def test_all_valid_parameters_give_data_of_the_requested_shape(classes, more, features, noise, seed):
    data = gaussians.make_gaussians(rows=classes + more, classes=classes, features=features, noise=noise, seed=seed)
    assert data.X.shape == (classes + more, features)
    assert data.X.dtype == np.float32
    assert (data.X.data > 0).all()
    assert np.ptp(np.bincount(data.y, minlength=classes)) <= 1
    assert len(data.class_names) == classes


def test_rows_are_not_sorted_by_class():
    y = gaussians.make_gaussians(**SMALL).y
    assert np.unique(y[:50]).size < 45
    assert np.unique(y[:200]).size > 45


def test_half_of_the_values_are_zero_as_in_aloi():
    data = gaussians.make_gaussians(rows=2000, classes=1000)
    assert data.X.nnz / 2000 == pytest.approx(64, abs=2)


def test_without_noise_all_rows_of_a_class_are_equal():
    data = gaussians.make_gaussians(**SMALL, noise=0)
    first = {label: i for i, label in reversed(list(enumerate(data.y.tolist())))}
    assert (data.X[[first[label] for label in data.y.tolist()]] != data.X).nnz == 0


def test_more_noise_makes_the_task_harder():
    errors = [error_of_nearest_mean(gaussians.make_gaussians(**SMALL, noise=noise)) for noise in (0.5, 1.5, 3.0)]
    assert errors[0] < 0.01 < errors[1] < 0.6 < errors[2]


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"rows": 5, "classes": 6}, "rows=5; allowed: at least one for each of the 6 classes"),
        ({"classes": 1}, "classes=1; allowed: a whole number from 2"),
        ({"features": 0}, "features=0; allowed: a whole number from 1"),
        ({"noise": -0.5}, "noise=-0.5; allowed: a number from 0 to 100"),
        ({"seed": -1}, "seed=-1; allowed: a whole number from 0"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(given_, message):
    with pytest.raises(DataError, match=message):
        gaussians.make_gaussians(**given_)


def test_the_spec_has_the_size_of_aloi():
    (spec,) = [spec for spec in harness_datasets() if spec.name == "gaussians"]
    assert spec.facts == {"rows": 108_000, "features": 128, "classes": 1_000}
