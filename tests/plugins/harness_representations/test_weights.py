"""Weighted representations equal a dense float64 reference, and test rows never influence training rows."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from harness_representations.weights import Binary, LogTfIdf, Raw, Tf, TfIdf
from internals import draw_split, parse_split

BY_NAME = {"raw": Raw, "binary": Binary, "tf": Tf, "tfidf": TfIdf, "logtfidf": LogTfIdf}
names = st.sampled_from(sorted(BY_NAME))
values = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, 0.5, 7.0, -3.0])


def represent(name, train, test):
    weighting = BY_NAME[name]().fit(train)
    return weighting.transform(train), weighting.transform(test)


@st.composite
def problems(draw, parts=2):
    """Draw dense counts of a training set and of test sets, with empty rows and missing features."""
    features = draw(st.integers(1, 6))
    sizes = [draw(st.integers(1, 7)) for _ in range(parts)]
    return [draw(arrays(np.float32, (size, features), elements=values)) for size in sizes]


def reference(name, train, test):
    """Compute the definition with dense float64 arrays."""
    train, test = train.astype(np.float64), test.astype(np.float64)
    if name == "raw":
        return train, test
    if name == "binary":
        train, test = (train != 0).astype(float), (test != 0).astype(float)
    if name == "logtfidf":
        train, test = (np.sign(part) * np.log(1 + abs(part)) for part in (train, test))
    if name in ("tfidf", "logtfidf"):
        df = (train != 0).sum(axis=0)
        idf = np.array([np.log(len(train) / d) if d else 0.0 for d in df])
        train, test = train * idf, test * idf
    norms = [np.sqrt((part**2).sum(axis=1, keepdims=True)) for part in (train, test)]
    return tuple(part / np.where(norm == 0, 1, norm) for part, norm in zip((train, test), norms, strict=True))


@given(names, problems())
def test_weights_equal_the_dense_reference(name, problem):
    train, test = problem
    for found, expected in zip(
        represent(name, csr_array(train), csr_array(test)), reference(name, train, test), strict=True
    ):
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6, atol=1e-7)


@given(names, problems(parts=3))
def test_changing_the_test_set_does_not_change_the_training_set(name, problem):
    train, test, other = problem
    first, _ = represent(name, csr_array(train), csr_array(test))
    second, _ = represent(name, csr_array(train), csr_array(other))
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(first, part), getattr(second, part))


@given(names, st.integers(4, 9), st.integers(0, 50), st.data())
def test_rows_of_a_dataset_never_change_training_rows_or_fitted_weights(name, rows, seed, data):
    """Cover the path from dataset to learner; a row with every feature shows the fitted weights."""
    split = data.draw(st.sampled_from(["holdout:0.3", "kfold:3", "stratified:0.4"]))
    labels = np.arange(rows) % 2
    first = data.draw(arrays(np.float32, (rows, 5), elements=values))
    train, test = draw_split(parse_split(split), rows, seed, {}, labels)
    second = first.copy()
    second[test] = data.draw(arrays(np.float32, (len(test), 5), elements=values))
    probe = csr_array(np.diag(np.arange(1, 6, dtype=np.float32)) + 1)
    seen = [represent(name, csr_array(X)[train], csr_array(X)[test])[0] for X in (first, second)]
    fitted = [represent(name, csr_array(X)[train], probe)[1] for X in (first, second)]
    for one, other in (seen, fitted):
        assert np.array_equal(one.toarray(), other.toarray())


@given(names, problems(parts=3))
def test_a_test_row_is_represented_independently_of_other_rows(name, problem):
    train, test, other = problem
    _, alone = represent(name, csr_array(train), csr_array(test))
    _, beside = represent(name, csr_array(train), csr_array(np.vstack([test, other])))
    assert np.array_equal(alone.toarray(), beside.toarray()[: len(test)])


@given(names, problems())
def test_the_result_is_canonical_float32_and_the_input_is_unchanged(name, problem):
    parts = [csr_array(part) for part in problem]
    before = [part.copy() for part in parts]
    for found, part, old in zip(represent(name, *parts), parts, before, strict=True):
        assert found.dtype == np.float32
        assert found.shape == part.shape
        assert found.has_canonical_format
        assert (found.data != 0).all()
        assert (part != old).nnz == 0


@given(st.sampled_from(["binary", "tf", "tfidf"]), problems())
def test_every_row_has_unit_length_or_is_empty(name, problem):
    for found in represent(name, *map(csr_array, problem)):
        norms = np.sqrt((found.toarray().astype(np.float64) ** 2).sum(axis=1))
        assert np.all(np.isclose(norms, 1, atol=1e-5) | (norms == 0))


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_empty_rows_and_features_absent_from_training_raise_no_warning(name):
    train = csr_array(np.array([[1, 0, 0], [0, 0, 0], [2, 3, 0]], np.float32))
    test = csr_array(np.array([[0, 0, 0], [0, 0, 5], [1, 1, 1]], np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train_found, test_found = represent(name, train, test)
    assert not train_found.toarray()[1].any()
    assert not test_found.toarray()[0].any()
    assert np.isfinite(train_found.data).all()


def test_a_feature_absent_from_training_is_zero_in_tfidf_only():
    train = csr_array(np.array([[1, 1, 0], [0, 1, 0]], np.float32))
    test = csr_array(np.array([[1, 1, 9]], np.float32))
    assert represent("tfidf", train, test)[1].toarray().tolist() == [[1, 0, 0]]
    for name in ("raw", "binary", "tf"):
        assert represent(name, train, test)[1].toarray()[0, 2] > 0


def test_counts_whose_squares_overflow_float32_are_normalised():
    train = csr_array(np.array([[3e30, 4e30]], np.float32))
    found, _ = represent("tf", train, train)
    np.testing.assert_allclose(found.toarray(), [[0.6, 0.8]], rtol=1e-6)
