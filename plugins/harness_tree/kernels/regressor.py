"""The linear regressors of a tree's nodes, h(x) = <w, x> + w_0, all in one table, and an online step of a regressor.

A weight is at place (start of its node + offset of its feature) mod the table size, with offset 0 for the bias. A dense
table gives each slot its own range. A hashed table spreads all nodes over a fixed size, by node generation (uid), so a
recycled node starts at other places and nothing needs to be cleared.

Most of the time is spent waiting for memory. The offsets of an instance are the same for all nodes, so they are
computed once and replace its feature numbers (`at_offsets`): with less work for each weight, a processor requests more
weights at once. In a hashed table, features of similar frequency are neighbours, BLOCK of them, so an instance finds
several of its weights in the same page.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float32, float64, int64, uint32, uint64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import helper, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness.sdk.kernels.score import squared_norm

LOSSES = ("hinge", "absolute", "squared", "logistic")
HINGE, ABSOLUTE, SQUARED, LOGISTIC = range(4)
SPREAD, HOP = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
"""Odd, so two features of a node share a place only if the table has fewer places than features."""
BLOCK = 64
"""Number of neighbouring weights in a hashed table, a power of two. A prediction at 12,000 classes took 27 µs with 1,
20 with 8, 17 with 64, 18 with 512."""
WHOLE = 2**64 - 1


class Weights(NamedTuple):
    """`table[place]` holds a weight and G, the sum of its squared gradients, side by side in one cache line."""

    table: NDArray[np.float32]
    stride: np.uint64
    """Number of weights of a slot; 0 in a hashed table."""
    hop: np.uint64
    """Distance of two generations in a hashed table; 0 in a dense one."""
    spread: np.uint32
    """Distance of two blocks of features in a hashed table; 1 in a dense one."""
    mask: np.uint64


class RegressorStep(NamedTuple):
    """Settings of a step: its loss (position in LOSSES), AdaGrad or plain, and the learning rate."""

    loss: int
    adaptive: bool
    eta: float


WEIGHTS = named(Weights, writes(float32, 2), uint64, uint64, uint32, uint64)
FROZEN_WEIGHTS = named(Weights, reads(float32, 2), uint64, uint64, uint32, uint64)
REGRESSOR_STEP = named(RegressorStep, int64, boolean, float64)


def dense_weights(table: NDArray[np.float32], n_features: int) -> Weights:
    """Return the table as ranges of n_features + 1 weights, one for each slot."""
    return Weights(table, np.uint64(n_features + 1), np.uint64(0), np.uint32(1), np.uint64(WHOLE))


def hashed_weights(table: NDArray[np.float32]) -> Weights:
    """Return the table, whose size is a power of two, shared by all nodes."""
    hop = np.uint64(HOP * BLOCK & WHOLE)
    return Weights(table, np.uint64(0), hop, np.uint32(SPREAD & 0xFFFFFFFF), np.uint64(len(table) - 1))


def at_offsets(instances: Instances, weights: Weights) -> Instances:
    """Return the instances with the offsets of their features instead of the feature numbers.

    32 bits suffice for an offset, since no hashed table has more than 2^32 places, and no dense one as many features.
    """
    numbers = instances.indices.astype(np.uint32) + np.uint32(1)  # 0 is the bias
    within = numbers & np.uint32(BLOCK - 1)
    offsets = (numbers - within) * weights.spread + within
    return instances._replace(indices=frozen(offsets.view(np.int32)))


@helper()
def offset(weights: Weights, slot: Any, uid: Any) -> Any:
    """Return the position of a node's bias, before the mask."""
    return np.uint64(slot) * weights.stride + np.uint64(uid) * weights.hop


@helper()
def place(weights: Weights, start: Any, feature_offset: Any) -> Any:
    """Return the position of a feature's weight. The mask cuts off bits beyond the 32 of its offset."""
    return (start + np.uint64(feature_offset)) & weights.mask


@helper(fastmath={"reassoc", "nsz", "contract"})  # several sums side by side: the same bits again on the same machine
def score_node(weights: Weights, start: Any, instances: Instances, i: int) -> float:
    """Return h = w_0 + sum_f x_f w_f for an instance with offsets (`at_offsets`)."""
    h = np.float64(weights.table[start & weights.mask, 0])
    for p in range(np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1])):
        at = place(weights, start, instances.indices[p])
        h += np.float64(instances.data[p]) * np.float64(weights.table[at, 0])
    return h


@helper()
def loss_slope(loss: int, h: float, c: float) -> Any:
    """Return minus the derivative of the loss in h, for the target c = -1 or 1."""
    if loss == HINGE:
        return c if c * h < 1.0 else 0.0
    if loss == ABSOLUTE:
        return np.sign(c - h)
    if loss == SQUARED:
        return c - h
    return c / (1.0 + np.exp(c * h))


@helper()
def limit(step: RegressorStep, h: float, c: float, g: float, A: float) -> float:
    """Return the learning rate, reduced if it would carry h past its target; the logistic loss has no target to pass.

    eta_eff = min(eta, |c - h| / (A |g|))
    """
    if step.loss == LOGISTIC or A <= 0.0:
        return step.eta
    return min(step.eta, abs(c - h) / (A * abs(g)))


@helper(error_model="numpy", fastmath={"reassoc", "nsz", "contract"})  # no branch in it, so in vector registers
def adapt(instances: Instances, lo: Any, hi: Any, squared: Any, space: Array) -> float:
    """G_f += g^2 x_f^2 and r_f = x_f / sqrt(G_f), 0 where G_f is 0; returns sum_f x_f r_f.

    G is in `space[1]`, r goes to `space[0]`, both in the order of the row.
    """
    total = 0.0
    for p in range(lo, hi):
        x, at = instances.data[p], p - lo
        G = space[1, at] + squared * (x * x)
        r = x / np.sqrt(G) if G > 0 else np.float32(0.0)  # G is no constant
        space[1, at], space[0, at] = G, r
        total += np.float64(x) * np.float64(r)
    return total


@helper(error_model="numpy")
def move_regressor(
    weights: Weights, start: Any, instances: Instances, i: int, h: float, c: float, step: RegressorStep, space: Array
) -> float:
    """Take one step of a regressor that scores h towards c; returns its new score, without a second product.

        AdaGrad:  G_f += g^2 x_f^2,  r_f = x_f / sqrt(G_f)        plain:  r_f = x_f
        w_f += eta_eff g r_f         new score = h + eta_eff g A,  A = sum_f x_f r_f

    with x_0 = 1 for the bias. A feature with G_f = 0 does not move. `space` has two rows of the length of the instance.
    """
    g = loss_slope(step.loss, h, c)
    if g == 0.0:
        return h
    lo, hi = np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1])
    bias, squared = start & weights.mask, np.float32(g * g)
    own, A = 1.0, 1.0
    if not step.adaptive:
        A += squared_norm(instances, i)
        for p in range(lo, hi):
            space[0, p - lo] = instances.data[p]
    else:
        for p in range(lo, hi):
            space[1, p - lo] = weights.table[place(weights, start, instances.indices[p]), 1]
        weights.table[bias, 1] += squared
        own = 1.0 / np.sqrt(np.float64(weights.table[bias, 1]))
        A = own + adapt(instances, lo, hi, squared, space)
    eta = limit(step, h, c, g, A)
    pull = eta * g
    weights.table[bias, 0] += np.float32(pull * own)
    for p in range(lo, hi):
        at = place(weights, start, instances.indices[p])
        weights.table[at, 0] += np.float32(pull * space[0, p - lo])
        if step.adaptive:
            weights.table[at, 1] = space[1, p - lo]
    return c if eta < step.eta else h + pull * A  # at the target without rounding, so equal scores tie


@helper()
def clear_slot(weights: Weights, slot: Any) -> None:
    """Reset the weights of a slot.

    A hashed table has nothing to reset, since the next user of the slot has another uid.
    """
    first = np.uint64(slot) * weights.stride
    for at in range(first, first + weights.stride):
        weights.table[at, 0] = np.float32(0.0)
        weights.table[at, 1] = np.float32(0.0)
