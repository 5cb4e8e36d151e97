"""Every online learner, rows to learn from, and the learned state."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from harness.sdk import OnlineClassifier
from harness_index import EMA, FF, OOZ
from harness_prototype import MMP, PA, BoundedPerceptron, OVRPerceptron, Perceptron, Winnow
from internals import as_edges

LEARNERS = [
    EMA(beta=0.1, delta=1.0, d=3, passes=2, random_state=0),
    FF(delta=0.5, passes=1, random_state=0),
    FF(delta=0.1, d=3, warm=0, passes=2, random_state=0),
    OOZ(beta=0.1, delta=0.5, d=25, passes=3, random_state=0),
    OOZ(beta=0.1, delta=0.5, variant="2008", d=3, w_min=1e-3, k=3, passes=3, random_state=0),
    PA(C=1.0, passes=5, random_state=0),
    MMP(passes=3, random_state=0),
    Perceptron(passes=20, random_state=0),
    Winnow(alpha=2.0, theta=3.0, random_state=0),
    BoundedPerceptron(random_state=0),
    OVRPerceptron(random_state=0),
]

several = pytest.mark.parametrize("learner", [each for each in LEARNERS if each.takes_several], ids=repr)
every = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
ignoring = pytest.mark.parametrize("learner", [each for each in LEARNERS if each.ignores_not_positive], ids=repr)


def state(learner: OnlineClassifier) -> dict[str, np.ndarray]:
    """Return the learned state without gaps in the arena."""
    fitted = {name: value for name, value in vars(learner).items() if name.endswith("_") and name != "rows_"}
    return {**{name: np.asarray(value) for name, value in fitted.items()}, **as_edges(learner.rows_)._asdict()}


def assert_same(one: OnlineClassifier, two: OnlineClassifier) -> None:
    first, second = state(one), state(two)
    assert first.keys() == second.keys()
    for name in first:
        assert_array_equal(first[name], second[name], err_msg=name, strict=True)


def in_batches(learner: OnlineClassifier, X: csr_array, y: np.ndarray, size: int) -> OnlineClassifier:
    for start in range(0, X.shape[0], size):
        learner.partial_fit(X[start : start + size], y[start : start + size])
    return learner
