"""PA as its users meet it: a scikit-learn classifier, a ranker, a plugin that costs nothing until it is used."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from harness.contract import HasIndexBytes, HasIndexSize, Ranks, TouchesEdges
from harness_prototype import PA, plugin


def data(seed: int = 0, n: int = 200, n_features: int = 30, n_classes: int = 12) -> tuple[csr_array, np.ndarray]:
    """Instances near the prototype of their class, sparse, of length 1."""
    rng = np.random.default_rng(seed)
    prototypes = rng.random((n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.3)
    y = rng.integers(0, n_classes, n)
    X = (prototypes[y] + 0.3 * rng.random((n, n_features))) * (rng.random((n, n_features)) < 0.7)
    X[:, 0] += 0.01
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return csr_array(X.astype(np.float32)), y


def weights(learner: PA) -> np.ndarray:
    """W[f, c] as a plain matrix."""
    rows = learner.rows_
    W = np.zeros((rows.start.size, learner.classes_.size))
    for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
        W[f, rows.classes[start : start + length]] = rows.weights[start : start + length]
    return W


def expected_failures(_: PA) -> dict[str, str]:
    return {"check_sparsify_coefficients": "sparsify leaves out the lightest weights of the index; there is no coef_"}


@parametrize_with_checks(
    [PA(), PA(variant="PA-I", step="exact"), PA(variant="PA")], expected_failed_checks=expected_failures
)
def test_it_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


def test_it_learns():
    X, y = data(n=1000)
    learner = PA(random_state=0).fit(X[:800], y[:800])
    assert learner.score(X[800:], y[800:]) > 0.85


def test_it_has_what_the_contract_rewards():
    learner = PA().fit(*data())
    assert isinstance(learner, Ranks)
    assert isinstance(learner, HasIndexSize)
    assert isinstance(learner, HasIndexBytes)
    assert isinstance(learner, TouchesEdges)


def test_equal_seeds_give_equal_bits_and_other_seeds_do_not():
    X, y = data()
    one, two, other = (PA(random_state=seed).fit(X, y) for seed in (3, 3, 4))
    for a, b in zip(one.rows_, two.rows_, strict=True):
        assert_array_equal(a, b)
    assert not np.array_equal(weights(one), weights(other))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), variant=st.sampled_from(["PA", "PA-I", "PA-II"]), passes=st.integers(1, 3))
def test_ranks_are_those_of_a_dense_product(seed, variant, passes):
    X, y = data(seed, n=60)
    learner = PA(variant=variant, passes=passes, random_state=seed).fit(X, y)
    scores = X.toarray().astype(np.float64) @ weights(learner)
    ranked = learner.rank(X, 5)
    assert ranked.dtype == np.int32
    chosen = np.take_along_axis(scores, ranked.astype(np.intp), axis=1)
    np.testing.assert_allclose(chosen, -np.sort(-scores, axis=1)[:, :5], atol=1e-9)
    assert_array_equal(learner.predict(X), learner.classes_[ranked[:, 0]])


def test_ranks_are_positions_in_classes_whatever_the_labels():
    X, y = data()
    names = np.array([f"class {c:02}" for c in range(12)])
    by_name, by_number = PA(random_state=0).fit(X, names[y]), PA(random_state=0).fit(X, 10 * y - 7)
    assert_array_equal(by_name.rank(X, 3), by_number.rank(X, 3))
    assert_array_equal(by_name.predict(X), by_name.classes_[by_name.rank(X, 1)[:, 0]])


def test_more_ranks_than_classes_are_padded():
    X, y = data(n_classes=4)
    ranked = PA().fit(X, y).rank(X, 7)
    assert_array_equal(np.sort(ranked[:, :4], axis=1), np.tile(np.arange(4), (200, 1)))
    assert np.all(ranked[:, 4:] == -1)


def test_classes_missing_from_training_are_never_ranked():
    X, y = data()
    y[y == 5] = 6
    learner = PA().fit(X, y)
    assert 5 not in learner.classes_
    assert learner.rank(X, 12).max() == 10


def test_a_row_without_features_ranks_nothing_and_is_given_the_first_class():
    X, y = data()
    learner = PA().fit(X, y + 3)
    nothing = csr_array((2, 30), dtype=np.float32)
    assert np.all(learner.rank(nothing, 4) == -1)
    assert learner.predict(nothing).tolist() == [3, 3]
    assert learner.edges_touched(nothing) == 0.0


def test_a_row_of_unknown_features_ranks_the_classes_in_order():
    X, y = data()
    wider = csr_array(np.hstack([X.toarray(), np.zeros((200, 1), np.float32)]))
    unknown = np.zeros((1, 31))
    unknown[0, 30] = 1
    assert PA().fit(wider, y).rank(unknown, 3).tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, lambda X: X.toarray(), lambda X: X.astype(np.float64)])
def test_every_kind_of_matrix_gives_the_same_model(kind):
    X, y = data()
    expected = PA(random_state=0).fit(X, y)
    learner = PA(random_state=0).fit(kind(X), y)
    assert_array_equal(weights(learner), weights(expected))
    assert_array_equal(learner.rank(kind(X), 4), expected.rank(X, 4))


def test_repeated_and_zero_entries_change_nothing():
    X, y = data()
    learner = PA().fit(X, y)
    for i in range(5):
        row = csr_array(X[[i]])
        halves, features = [*row.data / 2, *row.data / 2, 0], [*row.indices, *row.indices, 1]
        repeated = csr_array((halves, features, [0, len(features)]), shape=row.shape)
        assert_array_equal(learner.rank(repeated, 3), learner.rank(row, 3))


def test_the_index_is_counted():
    X, y = data()
    learner = PA().fit(X, y)
    assert learner.index_size_ == np.count_nonzero(weights(learner))
    assert learner.index_bytes_ == sum(array.nbytes for array in learner.rows_)
    degree = np.count_nonzero(weights(learner), axis=1)
    assert learner.edges_touched(X) == pytest.approx(degree[X.indices].mean())


def test_after_each_pass_the_learner_can_be_used():
    X, y = data()
    learner, seen = PA(passes=3, random_state=0), []
    learner.fit(X, y, after_pass=lambda n: seen.append((n, learner.score(X, y), learner.index_size_, weights(learner))))
    assert [n for n, *_ in seen] == [1, 2, 3]
    for n, accuracy, size, W in seen:
        alone = PA(passes=n, random_state=0).fit(X, y)
        assert (accuracy, size) == (alone.score(X, y), alone.index_size_)
        assert_array_equal(W, weights(alone))


def test_fitting_again_forgets_what_was_learned():
    X, y = data()
    fresh = PA(random_state=0).fit(X, y)
    again = PA(random_state=0).fit(X[:50], y[:50]).fit(X, y)
    assert_array_equal(weights(fresh), weights(again))


def test_a_pickled_learner_ranks_alike():
    X, y = data()
    learner = PA().fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(learner)).rank(X, 5), learner.rank(X, 5))


@pytest.mark.parametrize("step", ["printed", "exact"])
def test_the_margin_alone_changes_no_decision(step):
    X, y = data()
    one, small = (PA(step=step, margin=m, random_state=0).fit(X, y) for m in (1.0, 2.0**-4))
    assert_array_equal(weights(small), weights(one) / 16)
    assert_array_equal(small.rank(X, 5), one.rank(X, 5))


def test_c_bounds_the_step_of_pa_one_and_softens_that_of_pa_two():
    X, y = data(n=50)
    plain, one, two = (weights(PA(variant=v, C=1e-3, passes=1).fit(X, y)) for v in ("PA", "PA-I", "PA-II"))
    assert np.abs(one).max() <= 50 * 1e-3 < np.abs(plain).max()
    assert np.abs(two).max() < np.abs(plain).max()


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("C", 0, "above 0"),
        ("C", float("nan"), "above 0"),
        ("C", "1", "above 0"),
        ("C", True, "above 0"),
        ("margin", -1.0, "above 0"),
        ("margin", float("inf"), "finite"),
        ("passes", 0, "at least 1"),
        ("passes", 2.5, "integer"),
        ("passes", True, "integer"),
        ("variant", "PA-III", "PA, PA-I, PA-II"),
        ("step", "long", "printed, exact"),
        ("random_state", "seven", "None, an integer"),
        ("random_state", -1, "None, an integer"),
    ],
)
def test_a_bad_parameter_is_named_with_its_value_and_what_is_allowed(name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        PA(**{name: value}).fit(*data())


@pytest.mark.parametrize("k", [0, -1, 1.5, "3"])
def test_a_bad_k_is_named_with_its_value(k):
    learner = PA().fit(*data())
    with pytest.raises(ValueError, match=rf"^k={k!r}: must be an integer of at least 1"):
        learner.rank(data()[0], k)


@pytest.mark.parametrize("ask", [lambda p: p.rank(data()[0], 1), lambda p: p.index_size_, lambda p: p.index_bytes_])
def test_an_unfitted_learner_says_so(ask):
    with pytest.raises(NotFittedError):
        ask(PA())


def test_weights_beyond_float32_are_refused():
    X = np.array([[1e-42], [-1e-42]], np.float32)
    with pytest.raises(ValueError, match="outgrew float32 in pass 1: scale X up"):
        PA(variant="PA").fit(X, [0, 1])
    PA(variant="PA-II").fit(X, [0, 1])


def test_the_plugin_names_the_learner_it_brings():
    (spec,) = [spec for spec in plugin.harness_learners() if spec.name == "pa"]
    assert (spec.name, spec.kind, spec.load) == ("pa", "flat", f"{PA.__module__}:{PA.__name__}")
    assert spec.preload == (PA.__module__,)


def test_listing_the_plugin_imports_no_learner():
    heavy = "[name for name in ('numba', 'numpy', 'scipy', 'sklearn') if name in sys.modules]"
    code = f"import sys, harness_prototype.plugin; print({heavy}, dir(harness_prototype).count('PA'))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[] 1"


def test_the_package_has_no_other_names():
    import harness_prototype

    with pytest.raises(AttributeError, match=r"harness_prototype.*'PB'"):
        _ = harness_prototype.PB
