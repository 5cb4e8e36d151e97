"""Behaviour of every online learner: batches, new classes and features, sparsification."""

from __future__ import annotations

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

from internals import as_edges, patch_internal
from messages import naming
from online_learners import LEARNERS, assert_same, every, ignoring, in_batches, several
from problems import as_indicator
from problems import near_prototypes as data

# -- batches


@every
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 60))
def test_batches_equal_one_pass_in_the_same_order(learner, seed, size):
    X, y = data(seed, n=60)
    pruned = clone(learner).partial_fit(X, y, classes=np.arange(12))
    parts = clone(learner).partial_fit(X[:size], y[:size], classes=np.arange(12))
    assert_same(in_batches(parts, X[size:], y[size:], size), pruned)


@every
def test_fit_equals_a_batch_in_the_drawn_order(learner):
    X, y = data()
    fitted = clone(learner).set_params(passes=1).fit(X, y)
    order = np.random.default_rng(np.random.RandomState(0).randint(2**31, size=4)).permutation(200)
    assert_same(clone(learner).partial_fit(X[order], y[order], classes=np.arange(12)), fitted)


@every
def test_a_batch_after_fit_continues_from_there(learner):
    X, y = data()
    fitted = clone(learner).fit(X, y)
    before = fitted.rank(X, 12)
    fitted.partial_fit(X, (y + 1) % 12)
    assert not np.array_equal(fitted.rank(X, 12), before)


@every
def test_new_classes_follow_the_known_ones(learner):
    X, y = data(n=600)
    X = csr_array(X * (X > 0.2))  # Winnow uses the presence of features, not their values
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
def test_declared_classes_are_not_ranked_until_they_occur(learner):
    X, y = data()
    met = y < 6
    named = clone(learner).partial_fit(X[met], y[met], classes=np.arange(12))
    assert named.classes_.tolist() == list(range(12))
    assert named.rank(X, 12).max() < 6
    assert named.partial_fit(X, y).rank(X, 12).max() > 6


@every
def test_new_features_follow_the_known_ones(learner):
    X, y = data()
    narrow = csr_array(X[:, :20])
    grown = clone(learner).partial_fit(narrow, y).partial_fit(X, y)
    padded = clone(learner).partial_fit(csr_array((X * (np.arange(30) < 20)).astype(np.float32)), y).partial_fit(X, y)
    assert grown.n_features_in_ == 30
    assert_same(grown, padded)


@every
def test_new_named_features_must_follow_the_known_ones(learner):
    X, y = data()
    frame = pandas.DataFrame(X.toarray(), columns=[f"word {f}" for f in range(30)])
    grown = clone(learner).partial_fit(frame.iloc[:, :20], y)
    with pytest.raises(ValueError, match=naming("behind")):
        grown.partial_fit(frame.iloc[:, ::-1], y)
    assert grown.partial_fit(frame, y).feature_names_in_.tolist() == frame.columns.tolist()


@every
def test_fewer_features_are_rejected_without_changes(learner):
    X, y = data()
    fitted, same = (clone(learner).partial_fit(X, y) for _ in range(2))
    with pytest.raises(ValueError, match="20 features"):
        fitted.partial_fit(csr_array(X[:, :20]), y)
    assert_same(fitted, same)


@every
def test_a_batch_with_another_class_type_is_rejected_without_changes(learner):
    X, y = data()
    narrow = csr_array(X[:, :20])
    fitted, same = (clone(learner).partial_fit(narrow, y) for _ in range(2))
    with pytest.raises(ValueError, match=naming("7", "0", "1", "2", "kind")):
        fitted.partial_fit(X, np.full(200, "7"))
    assert_same(fitted, same)
    assert fitted.n_features_in_ == 20
    assert_same(fitted.partial_fit(X, y), same.partial_fit(X, y))


@every
def test_a_fit_that_fails_leaves_an_unfitted_learner(learner):
    X, y = data()
    fitted = clone(learner).fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        fitted.fit(X[:, :9], np.linspace(0, 1, 200))
    with pytest.raises(NotFittedError):
        fitted.rank(X, 1)


# -- several labels


@several
def test_an_indicator_matrix_with_one_label_equals_single_labels(learner):
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
def test_single_label_learners_reject_an_indicator_matrix(learner):
    X, y = data()
    with pytest.raises((TypeError, ValueError)):
        clone(learner).fit(X, as_indicator(y))


# -- thinning out


@every
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shares=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted))
def test_keep_largest_keeps_the_largest_weights_and_smaller_shares_are_subsets(learner, seed, shares):
    X, y = data(seed, n=60)
    full = clone(learner).fit(X, y)
    edges = as_edges(full.rows_)
    order = np.lexsort((edges.classes, edges.features, -full._sizes(edges)))
    pairs = list(zip(edges.features.tolist(), edges.classes.tolist(), strict=True))
    kept = []
    for share in shares:
        thin = as_edges(clone(learner).fit(X, y).keep_largest(share).rows_)
        kept.append(set(zip(thin.features.tolist(), thin.classes.tolist(), strict=True)))
        assert kept[-1] == {pairs[e] for e in order[: int(share * order.size)]}
    assert kept[0] <= kept[1]


@every
def test_a_share_of_one_keeps_all_weights_and_zero_keeps_none(learner):
    X, y = data()
    full, pruned = clone(learner).fit(X, y), clone(learner).fit(X, y).keep_largest(1.0)
    assert_same(pruned, full)
    assert pruned.keep_largest(0).index_size_ == 0
    assert pruned.partial_fit(X, y).rank(X, 2).shape == (200, 2)


def test_keep_largest_needs_a_fitted_learner():
    with pytest.raises(NotFittedError):
        LEARNERS[0].keep_largest(0.5)


@every
@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), "half", True])
def test_a_bad_share_raises_an_error(learner, share):
    with pytest.raises(ValueError, match=naming(f"share={share!r}", "0", "1")):
        clone(learner).fit(*data()).keep_largest(share)


@every
def test_index_rows_sorted_by_class_rank_equally(learner, monkeypatch):
    X, y = data()
    expected = clone(learner).fit(X, y).rank(X, 5)
    patch_internal(monkeypatch, "online.CACHED_CLASSES", 1)
    ordered = clone(learner).fit(X, y)
    assert_array_equal(ordered.rank(X, 5), expected)
    if not ordered._degree():
        features, classes = as_edges(ordered.rows_).features, as_edges(ordered.rows_).classes
        assert np.all((np.diff(features) > 0) | (np.diff(classes.astype(np.int64)) > 0))


@ignoring
@pytest.mark.parametrize("form", [csr_array, np.asarray])
def test_fit_warns_once_with_the_number_of_ignored_negative_values(learner, form):
    X, y = data()
    X.data[:7] *= -1
    with pytest.warns(DataConversionWarning) as caught:
        clone(learner).fit(form(X.toarray()), y)
    (warning,) = caught
    warned = (
        f"ignores 7 negative values in X, {7 / X.nnz:.1%} of those that are not 0: scale the features to 0 and above"
    )
    assert str(warning.message) == f"{type(learner).__name__} {warned}"
    assert issubclass(warning.category, UserWarning)
    assert warning.filename == __file__


@ignoring
def test_batches_warn_once_and_without_negative_values_there_is_no_warning(learner):
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataConversionWarning)
        fitted = clone(learner).fit(X, y)
        fitted.rank(-X, 3)
        fitted.partial_fit(-X, y)
    with pytest.warns(DataConversionWarning, match=f"ignores {X.nnz:,} negative values"):
        clone(learner).partial_fit(-X, y)
