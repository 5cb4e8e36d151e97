"""The parts of a trial: opened, split and represented; what tuning sees are training rows alone."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Dataset
from harness.errors import ContractError
from harness_representations.weights import TfIdf
from internals import draw_split, parse_split
from messages import naming
from trial_runs import keep_in, parts_of, texts, trial, validation_parts_of

QUARTER = parse_split("holdout:0.25")


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """Return rows that contain their number; the class is the parity of the number."""
    X = csr_array(np.arange(1, 41, dtype=np.float32)[:, None])
    return keep_in(tmp_path_factory.mktemp("numbered") / "data", Dataset(X, np.arange(40) % 2, ("even", "odd")))


def rows_of(X):
    return (X.toarray().ravel() - 1).astype(int).tolist()


def test_both_parts_are_those_of_the_split_and_only_the_training_part_has_labels(numbered):
    parts = parts_of(trial("Ranking", numbered, representation="raw"))
    train, test = draw_split(QUARTER, 40, 3, {})
    assert (rows_of(parts.train.X), rows_of(parts.X_test)) == (train.tolist(), test.tolist())
    assert parts.train.y.tolist() == (train % 2).tolist()
    assert (parts.n_classes, parts.taxonomy) == (2, None)


def test_a_representation_is_fitted_on_the_training_rows(tmp_path):
    data = texts()
    parts = parts_of(trial("Ranking", keep_in(tmp_path / "d", data)))
    train, test = draw_split(QUARTER, 240, 3, {})
    fitted = TfIdf().fit(data.X[train])
    assert (fitted.transform(data.X[train]) != parts.train.X).nnz == 0
    assert (fitted.transform(data.X[test]) != parts.X_test).nnz == 0
    assert parts.taxonomy.depth == 1


def test_dense_rows_are_the_same_rows(numbered):
    dense = parts_of(trial("Ranking", numbered, representation="raw", wants_dense=True))
    sparse = parts_of(trial("Ranking", numbered, representation="raw"))
    assert isinstance(dense.train.X, np.ndarray)
    assert np.array_equal(dense.X_test, sparse.X_test.toarray())


def test_tuning_sees_no_test_row(numbered):
    one = trial("Ranking", numbered, representation="raw")
    full = parts_of(one)
    validation = validation_parts_of(one, QUARTER)
    seen = [*rows_of(validation.train.X), *rows_of(validation.X_test)]
    assert sorted(seen) == sorted(rows_of(full.train.X))
    assert not set(seen) & set(rows_of(full.X_test))
    assert len(rows_of(validation.X_test)) == round(0.25 * len(seen))


@pytest.mark.parametrize("dense", [False, True])
def test_data_modified_by_a_learner_is_named(numbered, dense):
    parts = parts_of(trial("Ranking", numbered, representation="raw", wants_dense=dense))
    before = parts.checksums()
    parts.check_unchanged(before)
    values = parts.X_test if dense else parts.X_test.data
    values[:1] += 1
    with pytest.raises(ContractError, match=naming("X", "copy")):
        parts.check_unchanged(before)
