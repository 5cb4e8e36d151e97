"""What all learners of this plugin do alike, and what the plugin says of them."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import harness_prototype
from harness.checks import learner_checks
from harness.contract import HasIndexBytes, HasIndexSize, Ranks, TouchesEdges
from harness_prototype import MMP, PA, OVRPerceptron, Perceptron, Winnow, plugin

LEARNERS = [
    PA(random_state=0),
    MMP(random_state=0),
    MMP(touched_only=True, random_state=0),
    Perceptron(passes=5, random_state=0),
    Winnow(random_state=0),
    OVRPerceptron(passes=5, random_state=0),
    OVRPerceptron(passes=5, members=3, random_state=0),
]
SPECS = {spec.name: spec for spec in plugin.harness_learners()}
CHECKS = [(spec.name, check) for spec in SPECS.values() for check in learner_checks(spec)]

every = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
several = pytest.mark.parametrize("learner", [each for each in LEARNERS if each.takes_several], ids=repr)


def data(seed: int = 0, n: int = 200, n_features: int = 30, n_classes: int = 12) -> tuple[csr_array, np.ndarray]:
    """Instances with most features of their class and some others, of length 1."""
    rng = np.random.default_rng(seed)
    prototypes = (0.5 + rng.random((n_classes, n_features))) * (rng.random((n_classes, n_features)) < 0.3)
    y = rng.integers(0, n_classes, n)
    noise = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.1)
    X = prototypes[y] * (rng.random((n, n_features)) < 0.8) + noise
    X[:, 0] += 0.01
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return csr_array(X.astype(np.float32)), y


def pairs(y: np.ndarray, n_classes: int = 12) -> csr_array:
    """Two labels a row: the class and the next."""
    rows = np.repeat(np.arange(y.size), 2)
    labels = np.column_stack([y, (y + 1) % n_classes]).ravel()
    return csr_array((np.ones(rows.size, np.int8), (rows, labels)), shape=(y.size, n_classes))


def expected_failures(_: object) -> dict[str, str]:
    return {"check_sparsify_coefficients": "sparsify leaves out the lightest weights of the index; there is no coef_"}


@parametrize_with_checks(
    [MMP(), MMP(touched_only=True), Perceptron(), Winnow(), OVRPerceptron(), OVRPerceptron(members=3)],
    expected_failed_checks=expected_failures,
)
def test_it_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("name", "check"), CHECKS, ids=lambda value: str(value).replace(" ", "_"))
def test_it_keeps_the_contract(name, check):
    check()


@every
def test_it_learns(learner):
    X, y = data(n=1000)
    assert clone(learner).fit(X[:800], y[:800]).score(X[800:], y[800:]) > 0.8


@several
def test_it_learns_several_labels(learner):
    X, y = data(n=1000)
    fitted = clone(learner).fit(X[:800], pairs(y[:800]))
    ranked = fitted.rank(X[800:], 2)
    hits = (ranked == y[800:, None]) | (ranked == (y[800:, None] + 1) % 12)
    assert hits.mean() > 0.6
    assert fitted.classes_.tolist() == list(range(12))


@several
def test_several_labels_that_are_one_each_are_one_label(learner):
    X, y = data()
    indicator = csr_array((np.ones(200, np.int8), (np.arange(200), y)), shape=(200, 12))
    one, other = clone(learner).fit(X, y), clone(learner).fit(X, indicator)
    assert_array_equal(one.rank(X, 12), other.rank(X, 12))
    assert one.index_size_ == other.index_size_


@every
def test_it_has_what_the_contract_rewards(learner):
    fitted = clone(learner).fit(*data())
    for ability in (Ranks, HasIndexSize, HasIndexBytes, TouchesEdges):
        assert isinstance(fitted, ability)


@every
def test_equal_seeds_give_equal_bits_and_other_seeds_do_not(learner):
    X, y = data()
    one, two, other = (clone(learner).set_params(random_state=seed).fit(X, y) for seed in (3, 3, 4))
    for a, b in zip(one.rows_, two.rows_, strict=True):
        assert_array_equal(a, b)
    assert not np.array_equal(one.rows_.weights, other.rows_.weights)


@every
def test_ranks_are_positions_in_classes_whatever_the_labels(learner):
    X, y = data()
    names = np.array([f"class {c:02}" for c in range(12)])
    by_name, by_number = clone(learner).fit(X, names[y]), clone(learner).fit(X, 10 * y - 7)
    assert_array_equal(by_name.rank(X, 3), by_number.rank(X, 3))
    assert_array_equal(by_name.predict(X), by_name.classes_[by_name.rank(X, 1)[:, 0]])


@every
def test_more_ranks_than_classes_are_padded_and_classes_missing_from_training_never_ranked(learner):
    X, y = data(n_classes=4)
    ranked = clone(learner).fit(X, np.where(y == 2, 1, y)).rank(X, 7)
    assert_array_equal(np.sort(ranked[:, :3], axis=1), np.tile(np.arange(3), (200, 1)))
    assert np.all(ranked[:, 3:] == -1)


@every
def test_a_row_without_features_ranks_nothing_and_is_given_the_first_class(learner):
    X, y = data()
    fitted = clone(learner).fit(X, y + 3)
    nothing = csr_array((2, 30), dtype=np.float32)
    assert np.all(fitted.rank(nothing, 4) == -1)
    assert fitted.predict(nothing).tolist() == [3, 3]
    assert fitted.edges_touched(nothing) == 0.0


@every
@pytest.mark.parametrize("kind", [csr_array, csr_matrix, lambda X: X.toarray(), lambda X: X.astype(np.float64)])
def test_every_kind_of_matrix_gives_the_same_ranks(learner, kind):
    X, y = data()
    assert_array_equal(clone(learner).fit(kind(X), y).rank(kind(X), 4), clone(learner).fit(X, y).rank(X, 4))


@every
def test_the_index_is_counted(learner):
    X, y = data()
    fitted = clone(learner).fit(X, y)
    assert fitted.index_size_ == fitted.rows_.length.sum() > 0
    assert fitted.index_bytes_ >= sum(array.nbytes for array in fitted.rows_)
    assert fitted.edges_touched(X) == pytest.approx(fitted.rows_.length[X.indices].mean())


@every
def test_after_each_pass_the_learner_can_be_used(learner):
    X, y = data()
    fitted, seen = clone(learner).set_params(passes=3), []
    fitted.fit(X, y, after_pass=lambda n: seen.append((n, fitted.rank(X, 3), fitted.index_size_)))
    assert [n for n, *_ in seen] == [1, 2, 3]
    for n, ranked, size in seen:
        alone = clone(learner).set_params(passes=n).fit(X, y)
        assert_array_equal(ranked, alone.rank(X, 3))
        assert size == alone.index_size_


@every
def test_fitting_again_forgets_and_a_pickled_learner_ranks_alike(learner):
    X, y = data()
    fresh, again = clone(learner).fit(X, y), clone(learner).fit(X[:50], y[:50]).fit(X, y)
    assert_array_equal(again.rank(X, 5), fresh.rank(X, 5))
    assert_array_equal(pickle.loads(pickle.dumps(fresh)).rank(X, 5), fresh.rank(X, 5))


@every
@pytest.mark.parametrize("k", [0, -1, 1.5, "3"])
def test_a_bad_k_is_named_with_its_value(learner, k):
    with pytest.raises(ValueError, match=rf"^k={k!r}: must be an integer of at least 1"):
        clone(learner).fit(*data()).rank(data()[0], k)


@every
@pytest.mark.parametrize("ask", [lambda p: p.rank(data()[0], 1), lambda p: p.index_size_, lambda p: p.index_bytes_])
def test_an_unfitted_learner_says_so(learner, ask):
    with pytest.raises(NotFittedError):
        ask(clone(learner))


@pytest.mark.parametrize("learner", [MMP(), Perceptron(), OVRPerceptron(), OVRPerceptron(members=2)], ids=repr)
def test_weights_beyond_float32_are_refused(learner):
    rng = np.random.default_rng(0)
    X, y = (3e38 * rng.random((60, 3))).astype(np.float32), rng.integers(0, 3, 60)
    with pytest.raises(ValueError, match=r"outgrew float32 in pass [1-9]: scale X down"):
        clone(learner).set_params(passes=9, random_state=0).fit(X, y)


def test_the_plugin_names_the_learners_it_brings():
    assert sorted(SPECS) == ["mmp", "ovr-perceptron", "pa", "perceptron", "winnow"]
    for spec in SPECS.values():
        module, name = spec.load.split(":")
        learner = getattr(harness_prototype, name)
        assert (spec.kind, spec.preload, learner.__module__) == ("flat", (module,), module)
        assert ("multilabel" in spec.supports) == learner.takes_several
        assert not spec.needs


def test_listing_the_plugin_imports_no_learner():
    heavy = "[name for name in ('numba', 'numpy', 'scipy', 'sklearn') if name in sys.modules]"
    code = f"import sys, harness_prototype.plugin; print({heavy}, *sorted(harness_prototype.__all__))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["[]", "MMP", "OVRPerceptron", "PA", "Perceptron", "Winnow"]
