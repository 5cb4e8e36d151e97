"""The rows used by each machine and the weights learned from them, compared with the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sdk import Labels, as_instances, frozen
from harness_shortlist import trainer
from harness_shortlist.kernels.machines import Goal
from harness_shortlist.kernels.training_pairs import NO_GROUP, list_pairs
from problems import parts_of_prototypes
from shortlist_definition import as_matrix, optimum, rows_of_machines

SHARED = settings(max_examples=15, deadline=None)


def draw(seed, several=False, grouped=True, n=60, n_classes=6):
    """Draw rows, their labels, their candidates, and groups of classes."""
    random = np.random.default_rng(seed)
    X, y = parts_of_prototypes(seed, n, n_classes=n_classes)
    label_sets = [{int(c)} for c in y]
    if several:
        label_sets = [set(random.choice(n_classes, random.integers(0, 3), replace=False).tolist()) for _ in y]
    proposed = np.argsort(random.random((n, n_classes)), axis=1)[:, :3].astype(np.int32)
    proposed[random.random(n) < 0.3, 2] = -1
    groups = n_classes + np.arange(n_classes) % 2 if grouped else np.full(n_classes, NO_GROUP)
    return X, label_sets, proposed, groups.astype(np.uint32)


def as_labels(label_sets):
    starts = np.concatenate([[0], np.cumsum([len(labels) for labels in label_sets])])
    indices = [c for labels in label_sets for c in sorted(labels)]
    return Labels(frozen(starts, np.int64), frozen(np.array(indices, np.int32)))


@SHARED
@given(seed=st.integers(0, 2**32 - 1), several=st.booleans(), grouped=st.booleans())
def test_a_machine_trains_on_its_own_rows_and_on_rows_that_have_it_as_candidate(seed, several, grouped):
    _, label_sets, proposed, groups = draw(seed, several, grouped)
    n_machines = 8 if grouped else 6
    pairs = list_pairs(as_labels(label_sets), proposed, groups, n_machines)
    for z, expected in enumerate(rows_of_machines(label_sets, proposed, groups, n_machines)):
        lo, hi = pairs.start[z], pairs.start[z + 1]
        assert dict(zip(pairs.rows[lo:hi].tolist(), pairs.signs[lo:hi].tolist(), strict=True)) == expected
        assert np.all(np.diff(pairs.rows[lo:hi].astype(np.int64)) > 0)


def learn(X, label_sets, proposed, groups, goal, seed=0):
    pairs = list_pairs(as_labels(label_sets), proposed, groups, 8)
    (found,) = trainer.train(as_instances(X), X.shape[1], pairs, [goal], seed)
    return found


@SHARED
@given(seed=st.integers(0, 2**32 - 1))
def test_each_cost_of_a_path_reaches_the_optimum_and_costs_few_sweeps(seed):
    X, label_sets, proposed, groups = draw(seed)
    pairs = list_pairs(as_labels(label_sets), proposed, groups, 8)
    goals = [Goal(C, 1e-4, 10_000, 0.0) for C in (0.3, 1.0, 1.0)]
    *_, before, again = trainer.train(as_instances(X), X.shape[1], pairs, goals, 0)
    W, bias = as_matrix(again, again.bias, X.shape[1])
    for z, rows in enumerate(rows_of_machines(label_sets, proposed, groups, 8)):
        w, b = optimum(X.toarray().astype(np.float64)[list(rows)], np.array(list(rows.values())), 1.0)
        np.testing.assert_allclose(np.append(W[z], bias[z]), np.append(w, b), atol=4e-3)
    assert again.sweeps.sum() < before.sweeps.sum() / 2  # it begins where it ended


@SHARED
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.3, 1.0, 10.0]), several=st.booleans())
def test_a_machine_reaches_the_optimum_of_its_rows(seed, C, several):
    X, label_sets, proposed, groups = draw(seed, several)
    found = learn(X, label_sets, proposed, groups, Goal(C, 1e-4, 10_000, 0.0))
    W, bias = as_matrix(found, found.bias, X.shape[1])
    dense = X.toarray().astype(np.float64)
    for z, rows in enumerate(rows_of_machines(label_sets, proposed, groups, 8)):
        w, b = optimum(dense[list(rows)], np.array(list(rows.values())), C)
        assert [*W[z], bias[z]] == pytest.approx([*w, b], abs=4e-3)
    assert np.all((found.sweeps >= 1) & (found.sweeps <= 10_000))


def test_a_looser_tolerance_holds_for_every_row_and_takes_fewer_sweeps():
    X, label_sets, proposed, groups = draw(1)
    tight, loose = (learn(X, label_sets, proposed, groups, Goal(1.0, tol, 1000, 0.0)) for tol in (1e-3, 0.3))
    assert loose.sweeps.sum() < tight.sweeps.sum()
    W, bias = as_matrix(loose, loose.bias, X.shape[1])
    best, best_bias = as_matrix(tight, tight.bias, X.shape[1])
    assert 0 < np.abs(W - best).max() < 0.3
    assert 0 < np.abs(bias - best_bias).max() < 0.3


def test_small_weights_are_dropped_and_the_others_are_unchanged():
    X, label_sets, proposed, groups = draw(2)
    complete, pruned = (learn(X, label_sets, proposed, groups, Goal(1.0, 0.1, 100, prune)) for prune in (0.0, 0.2))
    W, _ = as_matrix(complete, complete.bias, X.shape[1])
    P, _ = as_matrix(pruned, pruned.bias, X.shape[1])
    assert np.array_equal(P, np.where(np.abs(W) > np.float32(0.2), W, 0))
    assert 0 < pruned.weights.size < complete.weights.size
    assert np.all(pruned.weights != 0)


def test_a_small_buffer_is_enlarged_and_gives_the_same_weights(monkeypatch):
    X, label_sets, proposed, groups = draw(3)
    goal = Goal(1.0, 0.1, 100, 0.0)
    at_once = learn(X, label_sets, proposed, groups, goal)
    begin, enlarged = trainer.empty_found, []
    monkeypatch.setattr(trainer, "empty_found", lambda n, _: begin(n, 5))

    def enlarge_a_little(found):
        enlarged.append(found)
        more = np.zeros(7, np.uint32)
        features = np.concatenate([found.features, more])
        return found._replace(features=features, weights=np.concatenate([found.weights, more.astype(np.float32)]))

    monkeypatch.setattr(trainer, "enlarge", enlarge_a_little)
    bit_by_bit = learn(X, label_sets, proposed, groups, goal)
    assert len(enlarged) > 8
    for one, other in zip(at_once, bit_by_bit, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_enlarge_grows_the_buffer():
    found = trainer.enlarge(trainer.empty_found(3, 0))
    assert found.features.size == found.weights.size > 0
    assert trainer.enlarge(found).features.size >= 2 * found.features.size


def test_an_unconverged_machine_is_reported():
    X, label_sets, proposed, groups = draw(4)
    assert np.all(learn(X, label_sets, proposed, groups, Goal(10.0, 1e-6, 2, 0.0)).sweeps == 3)


@SHARED
@given(seed=st.integers(0, 2**32 - 1), threads=st.integers(2, 5))
def test_a_machine_learns_the_same_in_any_thread_and_order(seed, threads):
    X, label_sets, proposed, groups = draw(seed, n=200)
    goal = Goal(3.0, 1e-4, 100, 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "SHARES_PER_THREAD", 1)
        patch.setenv("OMP_NUM_THREADS", "1")
        alone = learn(X, label_sets, proposed, groups, goal)
        patch.setenv("OMP_NUM_THREADS", str(threads))
        shared_out = learn(X, label_sets, proposed, groups, goal)
    for one, other in zip(alone, shared_out, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


@SHARED
@given(sizes=st.lists(st.integers(0, 50), min_size=1, max_size=40), most=st.integers(1, 12))
def test_shares_contain_each_machine_once_and_have_similar_size(sizes, most):
    start = np.concatenate([[0], np.cumsum(sizes)])
    shares = trainer.shares_of_like_size(start, most)
    assert [z for share in shares for z in range(len(sizes))[share]] == list(range(len(sizes)))
    assert len(shares) <= most
    for share in shares:
        assert start[share.stop] - start[share.start] <= sum(sizes) / most + max(sizes) + 1
