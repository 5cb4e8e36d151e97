"""The parts of a trial: opened, split and represented; what tuning sees are training rows alone."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Dataset
from harness.errors import ContractError
from harness.split import parse_split
from harness.trials.parts import load_parts, load_validation_parts
from harness.trials.splitting import draw_split
from harness_representations.weights import TfIdf
from trial_runs import keep_in, texts, trial

QUARTER = parse_split("holdout:0.25")


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """Rows that tell their own number, each of a class of its own parity."""
    X = csr_array(np.arange(1, 41, dtype=np.float32)[:, None])
    return keep_in(tmp_path_factory.mktemp("numbered") / "data", Dataset(X, np.arange(40) % 2, ("even", "odd")))


def rows_of(part):
    return (part.X.toarray().ravel() - 1).astype(int).tolist()


def test_both_parts_are_those_of_the_split_with_their_labels(numbered):
    parts = load_parts(trial("Ranking", numbered, representation="raw"))
    train, test = draw_split(QUARTER, 40, 3, {})
    assert (rows_of(parts.train), rows_of(parts.test)) == (train.tolist(), test.tolist())
    assert (parts.train.y.tolist(), parts.test.y.tolist()) == ((train % 2).tolist(), (test % 2).tolist())
    assert (parts.n_classes, parts.taxonomy) == (2, None)


def test_what_is_fitted_in_a_representation_is_fitted_on_the_training_rows(tmp_path):
    data = texts()
    parts = load_parts(trial("Ranking", keep_in(tmp_path / "d", data)))
    train, test = draw_split(QUARTER, 240, 3, {})
    fitted = TfIdf().fit(data.X[train])
    assert (fitted.transform(data.X[train]) != parts.train.X).nnz == 0
    assert (fitted.transform(data.X[test]) != parts.test.X).nnz == 0
    assert parts.taxonomy.depth == 1


def test_dense_rows_are_the_same_rows(numbered):
    dense = load_parts(trial("Ranking", numbered, representation="raw", wants_dense=True))
    sparse = load_parts(trial("Ranking", numbered, representation="raw"))
    assert isinstance(dense.train.X, np.ndarray)
    assert np.array_equal(dense.test.X, sparse.test.X.toarray())


def test_no_test_row_is_among_what_tuning_sees(numbered):
    one = trial("Ranking", numbered, representation="raw")
    whole = load_parts(one)
    validation = load_validation_parts(one, QUARTER)
    seen = [*rows_of(validation.train), *rows_of(validation.test)]
    assert sorted(seen) == sorted(rows_of(whole.train))
    assert not set(seen) & set(rows_of(whole.test))
    assert len(rows_of(validation.test)) == round(0.25 * len(seen))


@pytest.mark.parametrize("dense", [False, True])
def test_what_a_learner_changed_is_named(numbered, dense):
    parts = load_parts(trial("Ranking", numbered, representation="raw", wants_dense=dense))
    before = parts.checksums()
    parts.check_unchanged(before)
    values = parts.test.X if dense else parts.test.X.data
    values[:1] += 1
    with pytest.raises(ContractError, match="changed the test X that it was given; it must work on a copy"):
        parts.check_unchanged(before)
