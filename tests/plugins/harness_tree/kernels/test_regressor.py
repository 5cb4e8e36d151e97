"""A regressor's step follows its formulas in float64, never passes its target, and changes its own weights only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness.sdk import as_instances
from harness_tree.kernels.regressor import (
    BLOCK,
    LOSSES,
    RegressorStep,
    Weights,
    at_offsets,
    clear_slot,
    dense_weights,
    hashed_weights,
    move_regressor,
    offset,
    place,
    score_node,
)

seeds = st.integers(0, 2**32 - 1)
losses = st.sampled_from(LOSSES)
targets = st.sampled_from([-1.0, 1.0])


def started(seed: int, n_features: int = 6, n_slots: int = 3) -> tuple[Weights, np.ndarray]:
    """Return three regressors with some training, and a row with one zero."""
    rng = np.random.default_rng(seed)
    table = np.stack([rng.normal(size=n_slots * (n_features + 1)), rng.random(n_slots * (n_features + 1))], axis=1)
    x = rng.normal(size=n_features).astype(np.float32)
    x[rng.integers(n_features)] = 0
    return dense_weights(table.astype(np.float32), n_features), x


def start_of(weights: Weights, slot: int, uid: int) -> np.uint64:
    """Cast to the kernels' unsigned type; a compiled function returns a Python int, which would be signed."""
    return np.uint64(offset(weights, slot, uid))


def take_step(weights: Weights, x: np.ndarray, c: float, step: RegressorStep, slot: int = 1, uid: int = 0):
    """Return the score before and after."""
    instances, start = at_offsets(as_instances(x[np.newaxis]), weights), start_of(weights, slot, uid)
    before = score_node(weights, start, instances, 0)
    return before, move_regressor(weights, start, instances, 0, before, c, step, np.empty((2, x.size), np.float32))


def expected(w: np.ndarray, G: np.ndarray, x: np.ndarray, c: float, loss: str, adaptive: bool, eta: float):
    """Return weights, G and the score after one step in float64; the bias comes first."""
    x, w, G = np.insert(x.astype(np.float64), 0, 1.0), w.astype(np.float64), G.astype(np.float64)
    h = w @ x
    slopes = {
        "hinge": c * (c * h < 1),
        "absolute": np.sign(c - h),
        "squared": c - h,
        "logistic": c / (1 + np.exp(c * h)),
    }
    g = slopes[loss]
    if g == 0:
        return w, G, h
    if adaptive:
        G = G + g * g * x * x
    r = np.divide(x, np.sqrt(G), out=np.zeros_like(x), where=G > 0) if adaptive else x
    A = x @ r
    eta = eta if loss == "logistic" else min(eta, abs(c - h) / (A * abs(g)))
    return w + eta * g * r, G, h + eta * g * A


@settings(max_examples=100, deadline=None)
@given(seed=seeds, loss=losses, adaptive=st.booleans(), eta=st.floats(0.01, 3), c=targets)
def test_a_step_follows_the_formulas_and_leaves_other_regressors_unchanged(seed, loss, adaptive, eta, c):
    weights, x = started(seed)
    before = weights.table.copy().reshape(3, 7, 2)
    w, G, h = expected(before[1, :, 0], before[1, :, 1], x, c, loss, adaptive, eta)
    _, s = take_step(weights, x, c, RegressorStep(LOSSES.index(loss), adaptive, eta))
    after = weights.table.reshape(3, 7, 2)
    assert_array_equal(after[[0, 2]], before[[0, 2]])
    assert_allclose(after[1, :, 0], w, rtol=1e-4, atol=1e-5)
    assert_allclose(after[1, :, 1], G, rtol=1e-4, atol=1e-6)
    assert s == pytest.approx(h, rel=1e-4, abs=1e-5)


@settings(max_examples=100, deadline=None)
@given(seed=seeds, loss=losses, adaptive=st.booleans(), eta=st.floats(0.01, 100), c=targets)
def test_a_step_never_passes_its_target_and_returns_the_resulting_score(seed, loss, adaptive, eta, c):
    weights, x = started(seed)
    step = RegressorStep(LOSSES.index(loss), adaptive, eta)
    before, after = take_step(weights, x, c, step)
    again = score_node(weights, start_of(weights, 1, 0), at_offsets(as_instances(x[np.newaxis]), weights), 0)
    assert again == pytest.approx(after, rel=1e-3, abs=1e-4 * max(1.0, abs(after)))
    if loss != "logistic":
        low, high = sorted([before, c])
        assert low <= after <= high
    else:
        assert (after - before) * c > 0


def test_scores_at_their_target_are_bit_identical():
    reached = set()
    for seed in range(50):
        weights, x = started(seed)
        reached.add(take_step(weights, x, 1.0, RegressorStep(LOSSES.index("squared"), True, 50.0))[1])
    assert reached == {1.0}


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_loss_of_zero_changes_nothing(adaptive):
    weights, x = started(0)
    weights.table[7:14, 0] = np.insert(5 * x, 0, 0)  # far on the right side
    before = weights.table.copy()
    take_step(weights, x, 1.0, RegressorStep(LOSSES.index("hinge"), adaptive, 0.1))
    assert_array_equal(weights.table, before)


def test_a_row_without_features_changes_the_bias_only():
    weights = dense_weights(np.zeros((14, 2), np.float32), 6)
    take_step(weights, np.zeros(6, np.float32), -1.0, RegressorStep(0, True, 0.25), slot=0)
    assert_array_equal(weights.table[0], np.array([-0.25, 1.0], np.float32))
    assert not weights.table[1:].any()


def test_values_too_small_to_square_are_skipped_without_division_by_zero():
    weights = dense_weights(np.zeros((2, 2), np.float32), 1)
    take_step(weights, np.array([1e-30], np.float32), 1.0, RegressorStep(0, True, 0.5), slot=0)
    assert_array_equal(weights.table[:, 0], np.array([0.5, 0.0], np.float32))


@settings(max_examples=20, deadline=None)
@given(uid=st.integers(0, 2**32 - 1))
def test_features_of_one_node_have_distinct_slots_in_a_hashed_table(uid):
    weights = hashed_weights(np.zeros((2**12, 2), np.float32))
    start = start_of(weights, 0, uid)
    row = at_offsets(as_instances(np.ones((1, 2**12 - 1), np.float32)), weights)
    places = {int(place(weights, start, offset)) for offset in row.indices} | {int(start & weights.mask)}
    assert places == set(range(2**12))


def test_features_of_a_block_are_adjacent_in_a_hashed_table():
    weights = hashed_weights(np.zeros((2**16, 2), np.float32))
    row = at_offsets(as_instances(np.ones((1, 3 * BLOCK), np.float32)), weights)
    places = [int(place(weights, start_of(weights, 0, 7), offset)) for offset in row.indices]
    blocks = np.array(places[BLOCK - 1 : -1]).reshape(2, BLOCK)  # the bias is the first of the first block
    assert_array_equal(np.diff(blocks, axis=1), 1)
    assert_array_equal(blocks[:, 0] % BLOCK, 0)
    assert blocks[1, 0] != blocks[0, -1] + 1


def test_generations_of_a_hashed_table_use_distinct_slots_without_clearing():
    weights, x = hashed_weights(np.zeros((2**16, 2), np.float32)), np.ones(6, np.float32)
    take_step(weights, x, 1.0, RegressorStep(0, True, 0.1), slot=3, uid=5)
    before = weights.table.copy()
    assert np.count_nonzero(before[:, 0]) == 7
    clear_slot(weights, 3)
    assert_array_equal(weights.table, before)
    assert score_node(weights, start_of(weights, 3, 6), at_offsets(as_instances(x[np.newaxis]), weights), 0) == 0.0


def test_clearing_a_slot_of_a_dense_table_leaves_the_others_unchanged():
    weights, _ = started(0)
    before = weights.table.copy()
    clear_slot(weights, 1)
    assert not weights.table[7:14].any()
    assert_array_equal(weights.table[:7], before[:7])
    assert_array_equal(weights.table[14:], before[14:])
