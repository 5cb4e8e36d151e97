"""Behaviour common to all learners of this plugin, and their registered specs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from harness_prototype import MMP, PA, BoundedPerceptron, OVRPerceptron, Perceptron, Winnow
from harness_prototype.plugin import harness_learners
from plugin_specs import assert_specs_match
from problems import parts_of_prototypes as data

LEARNERS = [
    PA(random_state=0),
    MMP(random_state=0),
    MMP(touched_only=True, random_state=0),
    Perceptron(passes=5, random_state=0),
    Winnow(random_state=0),
    BoundedPerceptron(random_state=0),
    OVRPerceptron(passes=5, random_state=0),
    OVRPerceptron(passes=5, members=3, random_state=0),
]

every = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
several = pytest.mark.parametrize("learner", [each for each in LEARNERS if each.takes_several], ids=repr)


def pairs(y: np.ndarray, n_classes: int = 12) -> csr_array:
    """Return two labels per row: the class and the next one."""
    rows = np.repeat(np.arange(y.size), 2)
    labels = np.column_stack([y, (y + 1) % n_classes]).ravel()
    return csr_array((np.ones(rows.size, np.int8), (rows, labels)), shape=(y.size, n_classes))


@several
def test_several_labels_are_learned(learner):
    X, y = data(n=1000)
    fitted = clone(learner).fit(X[:800], pairs(y[:800]))
    ranked = fitted.rank(X[800:], 2)
    hits = (ranked == y[800:, None]) | (ranked == (y[800:, None] + 1) % 12)
    assert hits.mean() > 0.6
    assert fitted.classes_.tolist() == list(range(12))


@every
def test_a_row_without_features_ranks_nothing_and_is_predicted_as_the_first_class(learner):
    X, y = data()
    fitted = clone(learner).fit(X, y + 3)
    nothing = csr_array((2, 30), dtype=np.float32)
    assert np.all(fitted.rank(nothing, 4) == -1)
    assert fitted.predict(nothing).tolist() == [3, 3]
    assert fitted.edges_touched(nothing) == 0.0


@every
def test_index_size_and_bytes_match_the_stored_weights(learner):
    X, y = data()
    fitted = clone(learner).fit(X, y)
    assert fitted.index_size_ == fitted.rows_.length.sum() > 0
    assert fitted.index_bytes_ >= sum(array.nbytes for array in fitted.rows_)
    assert fitted.edges_touched(X) == pytest.approx(fitted.rows_.length[X.indices].mean())


@pytest.mark.parametrize("learner", [MMP(), Perceptron(), OVRPerceptron(), OVRPerceptron(members=2)], ids=repr)
def test_weights_beyond_float32_raise_an_error(learner):
    rng = np.random.default_rng(0)
    X, y = (3e38 * rng.random((60, 3))).astype(np.float32), rng.integers(0, 3, 60)
    with pytest.raises(ValueError, match=r"outgrew float32 in pass [1-9]: scale X down"):
        clone(learner).set_params(passes=9, random_state=0).fit(X, y)


def test_registered_specs_match_the_learners():
    names = ["pa", "mmp", "perceptron", "winnow", "ovr-perceptron", "bounded-perceptron"]
    assert_specs_match(harness_learners(), dict.fromkeys(names, "flat"))
