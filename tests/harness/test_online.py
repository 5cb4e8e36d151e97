"""What every online learner can do: learn in batches, meet new classes and features, be thinned out, saved, loaded."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from harness.kernels.edges import as_edges
from harness.online import OnlineClassifier, classifier
from harness_index import EMA, FF, OOZ
from harness_prototype import MMP, PA, OVRPerceptron, Perceptron, Winnow

LEARNERS = [
    EMA(beta=0.1, delta=1.0, d=3, passes=2, random_state=0),
    FF(random_state=0),
    FF(delta=0.1, d=3, warm=0, passes=2, random_state=0),
    OOZ(passes=3, random_state=0),
    OOZ(variant="2008", d=3, w_min=1e-3, k=3, passes=3, random_state=0),
    PA(random_state=0),
    MMP(random_state=0),
    Perceptron(random_state=0),
    Winnow(theta=3.0, random_state=0),
    OVRPerceptron(random_state=0),
]
EXPECTED_FAILURES = {
    "check_sparsify_coefficients": "sparsify leaves out the lightest weights of the index; there is no coef_",
}

several = pytest.mark.parametrize("learner", [each for each in LEARNERS if each.takes_several], ids=repr)
every = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
ignoring = pytest.mark.parametrize("learner", [each for each in LEARNERS if each.ignores_not_positive], ids=repr)


def data(seed: int = 0, n: int = 200, n_features: int = 30, n_classes: int = 12) -> tuple[csr_array, np.ndarray]:
    """Instances near the prototype of their class, sparse, of length 1, each class at least once."""
    rng = np.random.default_rng(seed)
    prototypes = rng.random((n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.3)
    y = rng.permutation(np.arange(n) % n_classes)
    X = (prototypes[y] + 0.3 * rng.random((n, n_features))) * (rng.random((n, n_features)) < 0.7)
    X[:, 0] += 0.01
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return csr_array(X.astype(np.float32)), y


def state(learner: OnlineClassifier) -> dict[str, np.ndarray]:
    """All that was learned, without the gaps of the arena."""
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


@parametrize_with_checks(LEARNERS, expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_it_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


# -- batches


@every
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 60))
def test_batches_teach_what_one_pass_in_that_order_teaches(learner, seed, size):
    X, y = data(seed, n=60)
    whole = clone(learner).partial_fit(X, y, classes=np.arange(12))
    parts = clone(learner).partial_fit(X[:size], y[:size], classes=np.arange(12))
    assert_same(in_batches(parts, X[size:], y[size:], size), whole)


@every
def test_training_in_passes_is_a_batch_in_the_order_drawn(learner):
    X, y = data()
    fitted = clone(learner).set_params(passes=1).fit(X, y)
    order = np.random.default_rng(np.random.RandomState(0).randint(2**31, size=4)).permutation(200)
    assert_same(clone(learner).partial_fit(X[order], y[order], classes=np.arange(12)), fitted)


@every
def test_a_batch_after_fit_goes_on_from_there(learner):
    X, y = data()
    fitted = clone(learner).fit(X, y)
    before = fitted.rank(X, 12)
    fitted.partial_fit(X, (y + 1) % 12)
    assert not np.array_equal(fitted.rank(X, 12), before)


@every
def test_new_classes_come_behind_the_known_ones(learner):
    X, y = data(n=600)
    X = csr_array(X * (X > 0.2))  # Winnow learns from what is there, not from how much of it
    names = np.array(["m", "a", "k", "z", "c", "bb", "x", "e", "f", "long name", "h", "i"])[y]
    late = np.isin(names, ["a", "long name"])
    grown = clone(learner).partial_fit(X[~late], names[~late])
    known = sorted(set(names[~late]))
    assert grown.classes_.tolist() == known
    for _ in range(3):
        grown.partial_fit(X, names)
    assert grown.classes_.tolist() == [*known, "a", "long name"]
    assert set(range(12)) == set(grown.rank(X, 12).ravel()) - {-1}


@every
def test_classes_can_be_named_before_they_are_met_and_are_not_ranked_until_then(learner):
    X, y = data()
    met = y < 6
    named = clone(learner).partial_fit(X[met], y[met], classes=np.arange(12))
    assert named.classes_.tolist() == list(range(12))
    assert named.rank(X, 12).max() < 6
    assert named.partial_fit(X, y).rank(X, 12).max() > 6


@every
def test_new_features_come_behind_the_known_ones(learner):
    X, y = data()
    narrow = csr_array(X[:, :20])
    grown = clone(learner).partial_fit(narrow, y).partial_fit(X, y)
    padded = clone(learner).partial_fit(csr_array((X * (np.arange(30) < 20)).astype(np.float32)), y).partial_fit(X, y)
    assert grown.n_features_in_ == 30
    assert_same(grown, padded)


@every
def test_named_features_that_are_new_must_come_behind(learner):
    X, y = data()
    frame = pandas.DataFrame(X.toarray(), columns=[f"word {f}" for f in range(30)])
    grown = clone(learner).partial_fit(frame.iloc[:, :20], y)
    with pytest.raises(ValueError, match="behind those that are known"):
        grown.partial_fit(frame.iloc[:, ::-1], y)
    assert grown.partial_fit(frame, y).feature_names_in_.tolist() == frame.columns.tolist()


@every
def test_fewer_features_are_refused_and_change_nothing(learner):
    X, y = data()
    fitted, same = (clone(learner).partial_fit(X, y) for _ in range(2))
    with pytest.raises(ValueError, match="20 features"):
        fitted.partial_fit(csr_array(X[:, :20]), y)
    assert_same(fitted, same)


@every
def test_classes_of_another_kind_are_refused_and_what_was_learned_stays_usable(learner):
    X, y = data()
    fitted = clone(learner).partial_fit(csr_array(X[:, :20]), y)
    with pytest.raises(ValueError, match=r"\['7'\] are of another kind than \[0, 1, 2\]"):
        fitted.partial_fit(X, np.full(200, "7"))
    assert fitted.rank(X, 2).shape == (200, 2)
    assert fitted.classes_.tolist() == list(range(12))


@every
def test_a_fit_that_fails_leaves_nothing_half_learned(learner):
    X, y = data()
    fitted = clone(learner).fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        fitted.fit(X[:, :9], np.linspace(0, 1, 200))
    with pytest.raises(NotFittedError):
        fitted.rank(X, 1)


# -- several labels


def as_indicator(y: np.ndarray, n_classes: int = 12) -> csr_array:
    return csr_array((np.ones(y.size, np.int8), (np.arange(y.size), y)), shape=(y.size, n_classes))


@several
def test_an_indicator_matrix_teaches_what_single_labels_teach(learner):
    X, y = data()
    single = clone(learner).fit(X, y)
    assert_same(clone(learner).fit(X, as_indicator(y)), single)
    assert_same(clone(learner).fit(X, as_indicator(y).toarray()), single)


@several
def test_later_batches_may_bring_new_columns(learner):
    X, y = data()
    grown = clone(learner).partial_fit(X[y < 8], as_indicator(y[y < 8], 8)).partial_fit(X, as_indicator(y))
    assert grown.classes_.tolist() == list(range(12))
    assert grown.rank(X, 12).max() > 8


@pytest.mark.parametrize("learner", [each for each in LEARNERS if not each.takes_several], ids=repr)
def test_other_learners_refuse_an_indicator_matrix(learner):
    X, y = data()
    with pytest.raises((TypeError, ValueError)):
        clone(learner).fit(X, as_indicator(y))


# -- thinning out


@every
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shares=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted))
def test_the_largest_weights_stay_and_smaller_shares_keep_a_part_of_them(learner, seed, shares):
    X, y = data(seed, n=60)
    full = clone(learner).fit(X, y)
    edges = as_edges(full.rows_)
    order = np.lexsort((edges.classes, edges.features, -full._sizes(edges)))
    pairs = list(zip(edges.features.tolist(), edges.classes.tolist(), strict=True))
    kept = []
    for share in shares:
        thin = as_edges(clone(learner).fit(X, y).sparsify(share).rows_)
        kept.append(set(zip(thin.features.tolist(), thin.classes.tolist(), strict=True)))
        assert kept[-1] == {pairs[e] for e in order[: int(share * order.size)]}
    assert kept[0] <= kept[1]


@every
def test_the_whole_share_keeps_all_and_none_keeps_nothing(learner):
    X, y = data()
    full, whole = clone(learner).fit(X, y), clone(learner).fit(X, y).sparsify(1.0)
    assert_same(whole, full)
    assert whole.sparsify(0).index_size_ == 0
    assert whole.partial_fit(X, y).rank(X, 2).shape == (200, 2)


@every
@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), "half", True])
def test_a_bad_share_is_named(learner, share):
    with pytest.raises(ValueError, match=rf"^share={share!r}: must be a number from 0 to 1"):
        clone(learner).fit(*data()).sparsify(share)


# -- files


@every
@pytest.mark.parametrize("name", [lambda y: y, lambda y: 7 - y, lambda y: np.array([f"class {c}" for c in y])])
def test_a_saved_learner_comes_back_the_same_and_goes_on_learning_alike(learner, name, tmp_path):
    X, y = data()
    saved = clone(learner).fit(X, name(y))
    saved.save(tmp_path / "model")
    loaded = type(learner).load(tmp_path / "model")
    assert_same(loaded, saved)
    assert loaded.get_params() == saved.get_params()
    assert_array_equal(loaded.rank(X, 5), saved.rank(X, 5))
    assert_array_equal(loaded.predict(X), saved.predict(X), strict=True)
    wider, more = csr_array((X.data, X.indices, X.indptr), shape=(200, 40)), name(y + 3)
    assert_same(loaded.partial_fit(wider, more), saved.partial_fit(wider, more))


@every
def test_classes_that_are_text_in_an_object_array_come_back_so(learner, tmp_path):
    X, y = data()
    names = np.array([f"class {c}" for c in y], object)
    saved = clone(learner).fit(X, names)
    saved.save(tmp_path / "model")
    assert_same(type(learner).load(tmp_path / "model"), saved)


def content(path):
    with np.load(path) as archive:
        return dict(archive)


@every
def test_a_file_that_was_cut_or_changed_anywhere_is_refused(learner, tmp_path):
    clone(learner).fit(*data(n=30)).save(tmp_path / "model")
    whole, rng = (tmp_path / "model").read_bytes(), np.random.default_rng(0)
    for cut in rng.integers(0, len(whole) - 1, 10):
        (tmp_path / "damaged").write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="damaged"):
            type(learner).load(tmp_path / "damaged")


@every
def test_a_changed_byte_is_refused_unless_nothing_hangs_on_it(learner, tmp_path):
    saved = clone(learner).fit(*data(n=30))
    saved.save(tmp_path / "model")
    whole, rng, refused = (tmp_path / "model").read_bytes(), np.random.default_rng(0), 0
    for place in rng.integers(0, len(whole), 40):
        changed = bytearray(whole)
        changed[place] ^= 255
        (tmp_path / "damaged").write_bytes(changed)
        try:
            loaded = type(learner).load(tmp_path / "damaged")
        except ValueError:
            refused += 1
        else:
            assert_same(loaded, saved)  # it was a date, say
    assert refused > 20


@every
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("rows_.classes", lambda a: a + 12, "a class that is not there"),
        ("rows_.classes", lambda a: a * 0, "a class twice"),
        ("rows_.classes", lambda a: a[1:], "edges missing"),
        ("rows_.classes", lambda a: a.astype(np.int64), "another type"),
        ("rows_.weights", lambda a: a * np.inf, "zero or no number"),
        ("rows_.weights", lambda a: a * 0, "zero or no number"),
        ("rows_.indptr", lambda a: a[::-1].copy(), "rows out of order"),
        ("rows_.indptr", lambda a: a[:-1], "rows out of order"),
        ("base_", lambda a: a[:-1], "base_ does not fit"),
        ("classes_", lambda a: a[:-1], "a class that is not there|does not fit"),
        ("n_features_in_", lambda a: a + 1, "rows out of order"),
    ],
)
def test_an_archive_whose_arrays_do_not_belong_together_is_refused(learner, name, change, message, tmp_path):
    clone(learner).fit(*data()).save(tmp_path / "model")
    arrays = content(tmp_path / "model")
    header = arrays.pop("arr_0")
    np.savez(tmp_path / "changed.npz", header, **{**arrays, name: change(arrays[name])})
    with pytest.raises(ValueError, match=f"changed.npz: damaged .*({message})"):
        type(learner).load(tmp_path / "changed.npz")


@every
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "another"}, "not a model file"),
        ({"version": 99}, "version 99 of the format, this reads 1"),
        ({"learner": "somewhere:Else"}, "holds a model of somewhere:Else, not of"),
        ({"parameters": {"passes": 0}}, "passes=0: must be"),
        ({"parameters": {"surprise": 1}}, "surprise"),
    ],
)
def test_a_header_that_says_something_else_is_refused(learner, change, message, tmp_path):
    clone(learner).fit(*data()).save(tmp_path / "model")
    arrays = content(tmp_path / "model")
    header = json.loads(str(arrays.pop("arr_0")[0]))
    np.savez(tmp_path / "changed.npz", np.array([json.dumps({**header, **change})]), **arrays)
    with pytest.raises(ValueError, match=message):
        type(learner).load(tmp_path / "changed.npz")


def test_a_foreign_file_is_refused_and_a_missing_one_is_missing(tmp_path):
    (tmp_path / "text").write_text("not a model")
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    np.save(tmp_path / "array.npy", np.zeros(3))
    for name in ("text", "arrays.npz", "array.npy"):
        with pytest.raises(ValueError, match=f"{name}: not a model file"):
            PA.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        PA.load(tmp_path / "nowhere")


@every
def test_an_unfitted_learner_can_neither_be_saved_nor_thinned_out(learner, tmp_path):
    with pytest.raises(NotFittedError):
        clone(learner).save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        clone(learner).sparsify(0.5)


def test_a_random_state_is_not_kept_in_the_file(tmp_path):
    PA(random_state=np.random.RandomState(1), passes=np.int64(2)).fit(*data()).save(tmp_path / "model")
    loaded = PA.load(tmp_path / "model")
    assert (loaded.random_state, loaded.passes) == (None, 2)


@every
def test_rows_in_the_order_of_their_classes_rank_alike(learner, monkeypatch):
    X, y = data()
    expected = clone(learner).fit(X, y).rank(X, 5)
    monkeypatch.setattr(classifier, "CACHED_CLASSES", 1)
    ordered = clone(learner).fit(X, y)
    assert_array_equal(ordered.rank(X, 5), expected)
    if not ordered._degree():
        features, classes = as_edges(ordered.rows_).features, as_edges(ordered.rows_).classes
        assert np.all((np.diff(features) > 0) | (np.diff(classes.astype(np.int64)) > 0))


@ignoring
@pytest.mark.parametrize("form", [csr_array, np.asarray])
def test_a_fit_says_once_how_many_negative_values_it_ignores(learner, form):
    X, y = data()
    X.data[:7] *= -1
    with pytest.warns(DataConversionWarning) as caught:
        clone(learner).fit(form(X.toarray()), y)
    (warning,) = caught
    said = f"{type(learner).__name__} ignores 7 negative values in X: scale the features to 0 and above"
    assert str(warning.message) == said
    assert warning.filename == __file__


@ignoring
def test_batches_say_it_once_and_without_negative_values_nothing_is_said(learner):
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataConversionWarning)
        fitted = clone(learner).fit(X, y)
        fitted.rank(-X, 3)
        fitted.partial_fit(-X, y)
    with pytest.warns(DataConversionWarning, match=f"ignores {X.nnz:,} negative values"):
        clone(learner).partial_fit(-X, y)
