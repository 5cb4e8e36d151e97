"""PA, the perceptron and MMP on dense rows: the updates of the sparse kernels, on a block of rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int32, void

from harness.sdk.kernels.compile import LABELS, LEAN, helper, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Labels
from harness.sdk.kernels.moves import MOVES, Moves, forget
from harness.sdk.kernels.score import best_class
from harness.sdk.kernels.vectors import BLOCK, WEIGHTS, Block, correct_scores, move_class
from harness_prototype.kernels.mmp import hold_true, plan_pairs
from harness_prototype.kernels.passive_aggressive import PA_STEP, PAStep, worst_pair


@helper()
def take_scores(block: Block, r: Any, truth: Array, base: Array, scores: Array) -> None:
    """Score all classes for an instance. Its own classes count as seen; classes never seen score -inf."""
    for p in range(truth.size):
        base[np.uint32(truth[p])] = 0.0
    for c in range(np.uint64(scores.size)):
        scores[c] = np.float64(block.scores[r, c]) + base[c]


@helper()
def move_apart(W: Array, block: Block, r: Any, gainer: Any, loser: Any, amount: float) -> None:
    """Add amount x to w_gainer, and subtract it from w_loser."""
    move_class(W, gainer, amount, block.rows[r])
    move_class(W, loser, -amount, block.rows[r])
    correct_scores(block, r, gainer, amount)
    correct_scores(block, r, loser, -amount)


@kernel(void(WEIGHTS, BLOCK, LABELS, writes(float64), writes(float64), PA_STEP), **LEAN)
def learn_pa(W: Array, block: Block, labels: Labels, base: Array, scores: Array, step: PAStep) -> None:
    """Update a block by the rule of `update_pa`."""
    for r in range(block.numbers.size):
        i = block.numbers[r]
        truth = labels.indices[labels.indptr[i] : labels.indptr[i + 1]]
        if truth.size == 0:
            continue
        take_scores(block, r, truth, base, scores)
        y, rival, loss = worst_pair(scores, truth, step.margin)
        norm2 = np.float64(block.products[r, r])
        if loss > 0 and norm2 > 0:
            move_apart(W, block, r, y, rival, min(step.cap, loss / (step.scale * norm2 + step.ridge)))


@helper()
def is_known(W: Array, c: Any, x: Array) -> bool:
    """Return whether any feature of x has a weight for class c."""
    found = False
    for f in range(x.size):
        found |= (W[c, f] != 0) & (x[f] != 0)
    return found


@kernel(void(WEIGHTS, BLOCK, reads(int32), writes(float64), writes(float64)), **LEAN)
def learn_perceptron(W: Array, block: Block, labels: Array, base: Array, scores: Array) -> None:
    """Update a block by the rule of `update_perceptron`."""
    for r in range(block.numbers.size):
        i = block.numbers[r]
        y = np.uint32(labels[i])
        take_scores(block, r, labels[i : i + 1], base, scores)
        s_y = scores[y]
        scores[y] = -np.inf
        rival = np.uint32(best_class(scores))
        if scores[rival] < s_y:  # -inf if no other class has occurred
            continue
        if scores[rival] == s_y and y < rival and is_known(W, y, block.rows[r]):
            continue
        move_apart(W, block, r, y, rival, 1.0)


@kernel(void(WEIGHTS, BLOCK, LABELS, writes(float64), writes(float64), writes(float64), MOVES), **LEAN)
def learn_mmp(W: Array, block: Block, labels: Labels, base: Array, scores: Array, held: Array, moves: Moves) -> None:
    """Update a block by the rule of `update_mmp` with all classes."""
    for r in range(block.numbers.size):
        i = block.numbers[r]
        truth = labels.indices[labels.indptr[i] : labels.indptr[i + 1]]
        take_scores(block, r, truth, base, scores)
        low = hold_true(scores, truth, held)
        n = plan_pairs(scores, truth, held, low, moves)
        for m in range(np.uint32(n)):
            c = moves.classes[m]
            move_class(W, c, moves.changes[c], block.rows[r])
            correct_scores(block, r, c, moves.changes[c])
        forget(moves, n)
