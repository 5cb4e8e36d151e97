"""OOZ, EMA and FF as classifiers: ranks, ignored input, parameters, and registration."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from harness_index import EMA, FF, OOZ
from internals import as_edges
from problems import as_indicator
from problems import near_prototypes as data

LEARNERS = [
    OOZ(beta=0.1, delta=0.5, d=25, passes=3, random_state=0),
    OOZ(variant="2008", deduct="level", beta=0.02, delta=0.4, d=3, passes=20, random_state=0),
    EMA(beta=0.1, delta=1.0, passes=5, random_state=0),
    FF(delta=0.5, passes=1, random_state=0),
]
every = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def weights(learner) -> np.ndarray:
    """Return the weights W[f, c] used in scores, without a degree limit; counts of FF become votes."""
    edges = as_edges(learner.rows_)
    W = np.zeros((learner.n_features_in_, learner.classes_.size))
    W[edges.features, edges.classes] = edges.weights
    factors = learner._factors()
    return W * factors[:, None] if factors.size else W


@every
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_ranks_equal_a_dense_product_over_touched_classes(learner, seed):
    X, y = data(seed, n=60)
    fitted = clone(learner).set_params(d=None).fit(X, y)
    scores = X.toarray().astype(np.float64) @ weights(fitted)
    ranked = fitted.rank(X, 12)
    for s, row in zip(scores, ranked, strict=True):
        positive = np.flatnonzero(s > 0)
        assert set(row[row >= 0]) == set(positive)
        np.testing.assert_allclose(s[row[row >= 0]], -np.sort(-s[positive]), rtol=1e-9)


@every
def test_a_row_of_unknown_features_ranks_nothing_and_is_predicted_as_the_first_class(learner):
    X, y = data()
    wider = csr_array((X.data, X.indices, X.indptr), shape=(200, 31))
    fitted = clone(learner).fit(wider, y + 3)
    unknown = csr_array(([1.0], ([0], [30])), shape=(2, 31), dtype=np.float32)
    assert np.all(fitted.rank(unknown, 4) == -1)
    assert fitted.predict(unknown).tolist() == [3, 3]
    assert fitted.edges_touched(unknown) == 0.0


@every
def test_values_at_or_below_zero_are_ignored(learner):
    X, y = data()
    noise = csr_array(-1.0 * (np.random.default_rng(1).random((200, 30)) < 0.2) * (X.toarray() == 0), dtype=np.float32)
    fitted, noisy = clone(learner).fit(X, y), clone(learner).fit(csr_array(X + noise), y)
    assert_array_equal(weights(fitted), weights(noisy))
    assert_array_equal(fitted.rank(X, 5), fitted.rank(csr_array(X + noise), 5))
    assert fitted.edges_touched(csr_array(X + noise)) == fitted.edges_touched(X)


@every
def test_all_weights_are_above_zero(learner):
    edges = as_edges(clone(learner).fit(*data()).rows_)
    assert edges.weights.min() > 0


@every
@pytest.mark.parametrize("d", [1, 3, None])
def test_edges_touched_counts_edges_up_to_the_degree_limit(learner, d):
    X, y = data()
    fitted = clone(learner).set_params(d=d).fit(X, y)
    read = fitted.rows_.length if d is None else np.minimum(fitted.rows_.length, d)
    assert fitted.edges_touched(X) == pytest.approx(read[X.indices].mean())
    if d == 1:
        ranked = fitted.rank(csr_array(np.eye(30, dtype=np.float32)), 2)
        assert np.all(ranked[:, 1] == -1)


@every
def test_edges_touched_averages_over_features_without_edges_too(learner):
    fitted = clone(learner).fit(np.array([[1.0, 0.0], [1.0, 0.0]]), [0, 0])
    assert fitted.index_size_ == 1
    assert fitted.edges_touched(np.array([[1.0, 1.0], [0.0, 1.0]])) == pytest.approx(1 / 3)


@every
def test_a_degree_limit_above_all_row_lengths_changes_nothing(learner):
    X, y = data()
    limited, free = (clone(learner).set_params(d=d).fit(X, y) for d in (12, None))
    assert_array_equal(weights(limited), weights(free))
    assert_array_equal(limited.rank(X, 12), free.rank(X, 12))


@every
def test_edges_beyond_the_degree_limit_are_stored_unless_keep_is_scored(learner):
    X, y = data()
    everything, scored = (clone(learner).set_params(d=3, keep=keep).fit(X, y) for keep in ("all", "scored"))
    assert everything.rows_.length.max() > 3
    assert scored.rows_.length.max() == 3
    assert_array_equal(weights(everything), weights(clone(learner).set_params(d=3).fit(X, y)))


@every
@pytest.mark.parametrize("d", [None, 12])
def test_keep_scored_drops_nothing_below_the_degree_limit(learner, d):
    X, y = data()
    everything, scored = (clone(learner).set_params(d=d, keep=keep).fit(X, y) for keep in ("all", "scored"))
    assert_array_equal(weights(everything), weights(scored))


@every
def test_index_size_and_bytes_match_the_stored_weights(learner):
    fitted = clone(learner).fit(*data())
    assert fitted.index_size_ == np.count_nonzero(weights(fitted))
    assert fitted.index_bytes_ >= 8 * fitted.index_size_


# -- several labels


several = pytest.mark.parametrize("learner", LEARNERS[:3], ids=repr)


@several
def test_one_of_several_labels_is_ranked_first_and_empty_columns_are_never_ranked(learner):
    X, y = data(n=600)
    indicator = as_indicator(y, 14) + as_indicator((y + 1) % 12, 14)
    fitted = clone(learner).set_params(passes=5).fit(X, indicator)
    ranked = fitted.rank(X, 14)
    assert fitted.classes_.tolist() == list(range(14))
    assert ranked.max() < 12
    assert np.mean((ranked[:, 0] == y) | (ranked[:, 0] == (y + 1) % 12)) > 0.7


@several
def test_rows_without_a_label_do_not_change_the_weights(learner):
    X, y = data()
    one, two = (clone(learner).partial_fit(X, as_indicator(y)) for _ in range(2))
    one.partial_fit(X, csr_array((200, 12), dtype=np.int8))
    assert_array_equal(weights(one), weights(two))


# -- parameters


def ooz_competitor_weights(**parameters) -> np.ndarray:
    """Return the weights left to competitors 0, 1 and 2 after a row of class 3 takes 0.3.

    The competitors' scores before that row are 0.4, 0.3 and 0.25.
    """
    learner = OOZ(delta=1.0, beta=0.4, **{"lower_rate": False, **parameters})
    learner.partial_fit(np.diag([1.0, 0.75, 0.625]), [0, 1, 2], classes=range(4))
    np.testing.assert_allclose(weights(learner)[:, :3], np.diag([0.4, 0.3, 0.25]), rtol=1e-6)
    learner.set_params(beta=0.3).partial_fit(np.ones((1, 3)), [3])
    assert np.count_nonzero(weights(learner)[:, :3]) == 3
    return np.diag(weights(learner))


@pytest.mark.parametrize(
    ("deduct", "losses"),
    [
        ("shared", [0.1 + 0.05 / 2 + 0.15 / 3, 0.05 / 2 + 0.15 / 3, 0.15 / 3]),
        ("level", [0.3, 0.2, 0.15]),
        ("exact", [0.1 + 0.05 + 0.1 / 3, 0.05 + 0.1 / 3, 0.1 / 3]),
    ],
)
def test_ooz_competitors_lose_weight_by_the_deduct_rule(deduct, losses):
    np.testing.assert_allclose(ooz_competitor_weights(deduct=deduct), np.array([0.4, 0.3, 0.25]) - losses, rtol=1e-5)


@pytest.mark.parametrize(("k", "left"), [(1, [0.1, 0.3, 0.25]), (2, [0.4 - 0.2, 0.3 - 0.1, 0.25])])
def test_ooz_takes_weight_from_at_most_k_competitors(k, left):
    np.testing.assert_allclose(ooz_competitor_weights(k=k), left, rtol=1e-5)


def test_ooz_2008_takes_no_competitor_weight_while_free_weight_remains():
    np.testing.assert_allclose(ooz_competitor_weights(variant="2008"), [0.4, 0.3, 0.25], rtol=1e-6)


@pytest.mark.parametrize(("lower_rate", "gained"), [(True, 0.05), (False, 0.08)])
def test_ooz_lowers_its_rate_to_half_the_slack_with_lower_rate(lower_rate, gained):
    learner = OOZ(delta=0.1, beta=0.08, lower_rate=lower_rate).partial_fit([[1.0]], [0])
    np.testing.assert_allclose(weights(learner), [[gained]], rtol=1e-6)


def test_ooz_weights_and_free_weight_sum_to_the_budget():
    X, y = data()
    for budget in (1.0, 0.25):
        fitted = OOZ(beta=0.1, delta=0.5, d=25, passes=20, budget=budget, random_state=0).fit(X, y)
        np.testing.assert_allclose(weights(fitted).sum(axis=1) + fitted.free_, budget, atol=1e-5)


def test_ooz_without_shift_takes_weight_from_no_competitor():
    X, y = data()
    weighed = []
    learner = OOZ(beta=0.1, delta=0.5, d=25, shift=False, passes=4, random_state=0)
    learner.fit(X, y, after_pass=lambda n: weighed.append(weights(learner)))
    for before, after in pairwise(weighed):
        assert np.all(after >= before - 1e-7)


def test_ooz_has_a_free_source_per_label_with_sources_labels_until_they_are_removed():
    X, y = data()
    Y = as_indicator(y) + as_indicator((y + 1) % 12)
    eager = {"delta": 5.0, "beta": 0.5, "passes": 4, "random_state": 0}
    one, two = (OOZ(sources=sources, **eager).fit(X, Y) for sources in ("one", "labels"))
    assert weights(one).sum(axis=1).max() == pytest.approx(1, abs=1e-5)
    assert weights(two).sum(axis=1).max() == pytest.approx(2, abs=1e-5)
    emptied, frees = OOZ(sources="labels", remove_after=1, **eager), []
    emptied.fit(X, Y, after_pass=lambda n: frees.append((emptied.free_.copy(), weights(emptied).sum(axis=1))))
    assert frees[0][0].min() < 0
    assert not frees[1][0].any()
    np.testing.assert_allclose(
        frees[3][1], frees[0][1], atol=1e-4
    )  # weight is shifted between classes, and none is added


def test_ooz_takes_weight_from_other_classes_with_third_source():
    X, y = data(n=600)
    tight = {"delta": 2.0, "beta": 0.3, "passes": 6, "k": 1, "random_state": 0}
    two, three = (OOZ(third_source=third, **tight).fit(X, y) for third in (False, True))
    assert not np.array_equal(weights(two), weights(three))
    np.testing.assert_allclose(weights(three).sum(axis=1) + three.free_, 1, atol=1e-5)


def test_ooz_gives_dropped_weight_to_the_true_class_with_dropped_given():
    X, y = data()
    lost, kept = (
        OOZ(beta=0.1, delta=0.5, w_min=0.01, dropped=dropped, random_state=0).fit(X, y) for dropped in ("lost", "given")
    )
    held = [weights(fitted).sum(axis=1) + fitted.free_ for fitted in (lost, kept)]
    assert held[0].sum() < held[1].sum()
    assert np.all(held[1] <= 1 + 1e-5)


def test_ooz_removes_free_sources_after_the_given_pass_and_new_features_get_none():
    X, y = data()
    kept = OOZ(beta=0.1, delta=0.5, d=25, passes=1, random_state=0).fit(X, y)
    removed, frees = OOZ(beta=0.1, delta=0.5, d=25, passes=3, remove_after=1, random_state=0), []
    removed.fit(X, y, after_pass=lambda n: frees.append(removed.free_.copy()))
    assert_array_equal(frees[0], kept.free_)
    assert frees[0].any()
    assert not frees[1].any()
    removed.partial_fit(csr_array((X.data, X.indices, X.indptr), shape=(200, 33)), y)
    assert removed.free_.size == 33
    assert not removed.free_.any()
    assert OOZ(beta=0.1, delta=0.5, d=25, passes=1, remove_after=1, random_state=0).fit(X, y).free_.any()


def test_ooz_drops_weights_at_or_below_w_min():
    fitted = OOZ(beta=0.1, delta=0.5, d=25, passes=20, w_min=1e-3, random_state=0).fit(*data())
    assert as_edges(fitted.rows_).weights.min() > 1e-3


@pytest.mark.parametrize(("parameters", "least"), [({}, 0.005), ({"beta": 0.01}, 0.002), ({"w_min": 0.1}, 0.1)])
def test_ema_drops_weights_below_w_min(parameters, least):
    fitted = EMA(**{"beta": 0.6, "delta": 7.0, "passes": 3, "random_state": 0, **parameters}).fit(*data())
    assert as_edges(fitted.rows_).weights.min() >= np.float32(least) * (1 - 1e-6)


def test_ff_votes_are_shares_of_at_least_w_min():
    X, y = data(n=2000, n_features=10, n_classes=40)
    fitted = FF(delta=np.inf, w_min=0.02, warm=0, random_state=0).fit(X, y)
    votes = weights(fitted)
    assert votes[votes > 0].min() >= 0.02 * (1 - 1e-6)
    assert np.all(votes.sum(axis=1) <= 1 + 1e-6)
    assert fitted.rows_.length.max() <= 50


def test_ff_counts_ones_with_counts_boolean():
    X, y = data()
    counts = FF(delta=np.inf, counts="boolean", w_min=0.0, passes=1, random_state=0).fit(X, y)
    assert_array_equal(counts.totals_, (X.toarray() > 0).sum(axis=0))
    assert_array_equal(counts.met_, counts.totals_)


def test_ff_counts_feature_occurrences_once_per_fit_and_per_batch():
    X, y = data()
    meetings = (X.toarray() > 0).sum(axis=0)
    learner = FF(passes=3, random_state=0).fit(X, y)
    assert_array_equal(learner.met_, meetings)
    assert_array_equal(learner.partial_fit(X, y).met_, 2 * meetings)


def test_ff_gives_full_weight_to_features_seen_more_often_than_warm():
    X, y = data()
    fitted = FF(delta=np.inf, warm=5, random_state=0).fit(X, y)
    plain = FF(delta=np.inf, warm=0, random_state=0).fit(X, y)
    assert fitted.met_.min() > 5
    np.testing.assert_allclose(weights(fitted), weights(plain))


def test_ff_votes_are_shares_for_small_counts_too():
    fitted = FF(delta=np.inf, warm=0).partial_fit(np.array([[0.25, 0.0]]), [0])
    np.testing.assert_allclose(weights(fitted), [[1.0], [0.0]])


def test_ff_scales_down_features_seen_less_often_than_warm():
    X, y = data()
    fitted = FF(delta=np.inf, warm=400, random_state=0).fit(X, y)
    plain = FF(delta=np.inf, warm=0, random_state=0).fit(X, y)
    np.testing.assert_allclose(weights(fitted), weights(plain) * (fitted.met_ / 400)[:, None])


@pytest.mark.parametrize(
    ("learner", "name", "value", "allowed"),
    [
        (OOZ, "beta", 0, "above 0"),
        (OOZ, "delta", -1.0, "above 0"),
        (OOZ, "d", 0, "None or an integer of at least 1"),
        (OOZ, "keep", "some", "all, scored"),
        (EMA, "keep", None, "all, scored"),
        (FF, "keep", 25, "all, scored"),
        (OOZ, "w_min", -0.1, "at least 0"),
        (OOZ, "k", 0, "at least 1"),
        (OOZ, "variant", "2009", "2010, 2008"),
        (OOZ, "variant", 2010, "2010, 2008"),
        (OOZ, "deduct", "some", "shared, level, exact"),
        (OOZ, "lower_rate", 1, "True or False"),
        (OOZ, "remove_after", 0, "None or an integer"),
        (OOZ, "budget", float("inf"), "finite"),
        (OOZ, "shift", "no", "True or False"),
        (OOZ, "third_source", 3, "True or False"),
        (OOZ, "sources", "many", "one, labels"),
        (OOZ, "dropped", "kept", "lost, given"),
        (OOZ, "passes", 0, "at least 1"),
        (EMA, "beta", 1.5, "at most 1"),
        (EMA, "beta", "x", "at most 1"),
        (EMA, "delta", float("nan"), "above 0, or inf"),
        (EMA, "d", 2.5, "None or an integer"),
        (EMA, "w_min", -1, "None or a finite number"),
        (FF, "delta", -0.5, "at least 0, or inf"),
        (FF, "w_min", 1.5, "from 0 to 1"),
        (FF, "warm", -1, "at least 0"),
        (FF, "counts", "binary", "value, boolean"),
        (FF, "random_state", "seven", "None, an integer"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(learner, name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        learner(**{name: value}).fit(*data())
