"""Online one-against-all on dense rows: the steps of the sparse kernel, on a block of rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int32, int64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Vectors
from harness.sdk.kernels.score import highest
from harness.sdk.kernels.vectors import BLOCK, BLOCK_ROWS, Block, correct_all_scores, correct_scores, row_blocks, scored
from harness_tree.kernels.regressor import HINGE, REGRESSOR_STEP, RegressorStep, limit, loss_slope

BLOCK_CLASSES = 256
"""Number of classes trained together, fixed for any number of threads, so the same products are computed."""
GROUP = 16
"""Number of classes that are skipped at once if none of them has a loss."""
FEW = 8
"""If fewer than one class in this many moves, they are moved one by one instead of by a product of pulls and rows."""


class Regressors(NamedTuple):
    """The regressors of some classes during training."""

    weights: Vectors
    """Classes x features."""
    bias: Vectors
    pulls: Vectors
    """Space: the pull on each class by each instance of a block, if the class has not moved yet."""
    moved: NDArray[np.int64]
    """Space: the classes that an instance moves."""
    first: int
    """The position of the first class."""


REGRESSORS = named(Regressors, writes(float32, 2), writes(float32), writes(float32, 2), writes(int64), int64)


def take_regressors(W: Vectors) -> list[Regressors]:
    """Copy the columns of W, biases first, into blocks of classes that can be trained separately."""
    found = []
    for first in range(0, W.shape[1], BLOCK_CLASSES):
        part = np.ascontiguousarray(W[:, first : first + BLOCK_CLASSES].T)
        n = part.shape[0]
        weights, bias = np.ascontiguousarray(part[:, 1:]), np.ascontiguousarray(part[:, 0])
        pulls = np.zeros((BLOCK_ROWS, n), np.float32)
        found.append(Regressors(weights, bias, pulls, np.empty(n, np.int64), first))
    return found


def put_back(regressors: Regressors, W: Vectors) -> None:
    """Copy the weights back into the columns of W."""
    classes = slice(regressors.first, regressors.first + regressors.bias.size)
    W[0, classes] = regressors.bias
    W[1:, classes] = regressors.weights.T


def train_densely(
    parts: Sequence[Regressors],
    X: Vectors,
    labels: NDArray[np.int32],
    order: NDArray[np.int64],
    step: RegressorStep,
) -> None:
    """Learn from the rows in this order; the scores of a block of rows are computed once for all classes."""
    for rows in row_blocks(X, order):
        for part in parts:
            block = scored(rows, rows.values @ part.weights.T + part.bias)
            if learn_block(part, block, labels, step):
                waiting = part.pulls[: block.numbers.size]
                part.weights[:] += waiting.T @ block.rows
                waiting[:] = 0


@helper()
def find_moved(part: Regressors, block: Block, r: Any, own: Any, step: RegressorStep) -> int:
    """Compute the pull of an instance on each class, and list the classes that move; returns their number."""
    scores, pulls, moved = block.scores[r], part.pulls[r], part.moved
    A, n = np.float64(block.products[r, r]) + 1.0, 0
    quiet = -1.0 if step.loss == HINGE else -np.inf
    for lo in range(0, scores.size, GROUP):
        hi = min(lo + GROUP, scores.size)
        if highest(scores, lo, hi) <= quiet and not lo <= own < hi:
            continue
        for k in range(lo, hi):
            s, c = np.float64(scores[k]), 1.0 if k == own else -1.0
            g = loss_slope(step.loss, s, c)
            if g != 0.0:
                pulls[k] = limit(step, s, c, g, A) * g
                moved[n] = k
                n += pulls[k] != 0
    return n


@helper()
def add_pull(weights: Array, k: Any, pull: Any, x: Array) -> None:
    """Add pull x to w_k, entirely in float32, like the sparse kernel."""
    for f in range(np.uint64(x.size)):
        weights[k, f] += pull * x[f]


@kernel(int64(REGRESSORS, BLOCK, reads(int32), REGRESSOR_STEP), **LEAN)
def learn_block(part: Regressors, block: Block, labels: Array, step: RegressorStep) -> int:
    """Learn from each instance of the block like `update_oaa`; returns the number of instances with pending moves.

    If few classes move, they move at once. Otherwise the moves of a block are added up first.
    """
    waiting = 0
    for r in range(block.numbers.size):
        pulls = part.pulls[r]
        n = find_moved(part, block, r, labels[block.numbers[r]] - part.first, step)
        for a in range(n):
            k = np.uint64(part.moved[a])
            part.bias[k] += pulls[k]
        if n * FEW >= pulls.size:
            waiting += 1
            correct_all_scores(block, r, pulls, 1.0)
            continue
        for a in range(n):
            k = np.uint64(part.moved[a])
            add_pull(part.weights, k, pulls[k], block.rows[r])
            correct_scores(block, r, k, np.float64(pulls[k]), 1.0)
            pulls[k] = 0.0
    return waiting
