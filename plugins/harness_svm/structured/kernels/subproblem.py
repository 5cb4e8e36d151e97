"""Support vector machines that train all classes at once, flat or along a tree of classes, by blocks of the dual.

Each node z of the tree has a vector w_z; z <= y are the nodes on the path of class y, without the root. With
attributes L_z(y) = r_y sqrt(m_z) on that path and dL_i(y) = L(y_i) - L(y), an instance x_i and a class y score

    F(x, y) = sum_{z <= y} L_z(y) <w_z, x>,    g_iy = cost_iy - rate_iy (F(x_i, y_i) - F(x_i, y))
    max_b  sum_iy cost_iy b_iy - 1/2 ||w||^2,    b_iy >= 0,  sum_y b_iy <= C,
    w_z = sum_iy b_iy rate_iy dL_iz(y) x_i

(Cai and Hofmann, CIKM 2004; with a flat tree and all costs 1 Crammer and Singer, JMLR 2001). An index keeps only one
vector per class, u_y = r_y sum_i (coefficient of y in i) x_i; w_z is sqrt(m_z) times the sum of those below z. A matrix
keeps v_y = sum_{z <= y} L_z(y) w_z, which scores class y directly. This module has the part of the machines that deals
with one instance: its gradients and duals. `pair_steps` and `flat_sweeps` improve them. Classes are in tree order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int32, int64, uint8, uint32
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, helper, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.moves import MOVES, Moves, forget, move_all
from harness.sdk.kernels.rows import Rows, append, has_room
from harness.sdk.kernels.score import best_class
from harness_svm.structured.kernels.class_tree import ORDERED_TREE, ClassTree, OrderedTree
from harness_svm.structured.kernels.lattice import LATTICE, Lattice

MOST_STEPS = 50
"""Maximum number of new duals of one instance in one visit."""
IDLE = 0.02
"""Gradients that agree up to this share of the tolerance are left alone."""
RELUCTANCE = 0.25
"""The same share if the weights are in an index: with thousands of classes most are nearly as good, and each dual is
an edge for every feature of the instance (measured: less than half of the edges)."""
ROUNDING_SHARE = 1e-9
"""A remainder of C below this share is a rounding error: a thousand duals leave 1e-12, and a row with such a remainder
would always count as far from its optimum."""
NOBODY = np.uint32(0xFFFFFFFF)
"""Placeholder for a class: the part of C that no class has."""


class Block(NamedTuple):
    """Temporary arrays for the current instance.

    Between instances, `member` is all False, and `beta`, `carried`, `before` and `shift` are all 0.
    """

    sums: NDArray[np.float64]
    """By node: <sum of u_y below it, x>."""
    totals: NDArray[np.float64]
    """By node: sum of m_z sums_z from the root."""
    scores: NDArray[np.float64]
    """F(x, y) by class, before the visit of the instance."""
    shift: NDArray[np.float64]
    """By class: change of the score since then, divided by ||x||^2."""
    gradient: NDArray[np.float64]
    beta: NDArray[np.float64]
    carried: NDArray[np.float64]
    """By class: the dual that is included in `shift`."""
    before: NDArray[np.float64]
    """By class: the dual at the beginning of the visit."""
    members: NDArray[np.uint32]
    """The members: classes that have a dual, or had one a moment ago. They are the first elements."""
    member: NDArray[np.bool_]
    rate: NDArray[np.float64]
    """By place among the members: the rate of each."""
    common: NDArray[np.float64]
    """By place among the members: sum of m_z over the nodes shared with the next member."""
    own: NDArray[np.float64]
    """By place: <L(y), L(c)> with the true class y."""
    near_up: NDArray[np.float64]
    """By place: <L(up), L(c)> with the gaining class."""
    near_down: NDArray[np.float64]


_NUMBERS = writes(float64)
BLOCK = named(Block, *[_NUMBERS] * 8, writes(uint32), writes(boolean), *[_NUMBERS] * 5)


class Goal(NamedTuple):
    """The goal of training. With `slack` the loss is rescaled (rate = cost), otherwise the margin (rate = 1)."""

    C: float
    tolerance: float
    slack: bool


GOAL = named(Goal, float64, float64, boolean)
DUALS = named(Rows, *map(writes, (uint32, uint32, uint8, uint32, float64, uint32)))
"""The duals b_iy; the rows are instances."""


class Sweep(NamedTuple):
    """The rows that a sweep visits, in order, and the problem to solve; read only."""

    instances: Instances
    squares: NDArray[np.float64]
    """By row: its squared length."""
    labels: NDArray[np.int32]
    order: NDArray[np.int64]
    tree: Any
    """An OrderedTree, or a Lattice if nodes have several parents."""
    goal: Goal


class SweepState(NamedTuple):
    """The arrays that a sweep changes besides the weights."""

    duals: Rows
    block: Block
    moves: Moves
    violations: NDArray[np.float64]
    """By row: distance from its optimum at the last visit."""


SWEEP = named(Sweep, INSTANCES, reads(float64), reads(int32), reads(int64), ORDERED_TREE, GOAL)
LATTICE_SWEEP = named(Sweep, INSTANCES, reads(float64), reads(int32), reads(int64), LATTICE, GOAL)
SWEEP_STATE = named(SweepState, DUALS, BLOCK, MOVES, writes(float64))


def empty_block(tree: ClassTree | OrderedTree | Lattice) -> Block:
    """Return a block of zeros for a tree or a lattice."""
    nodes, classes = tree.weight.size, tree.scale.size
    return Block(
        sums=np.zeros(nodes),
        totals=np.zeros(nodes),
        scores=np.zeros(classes),
        shift=np.zeros(classes),
        gradient=np.zeros(classes),
        beta=np.zeros(classes),
        carried=np.zeros(classes),
        before=np.zeros(classes),
        members=np.zeros(classes, np.uint32),
        member=np.zeros(classes, np.bool_),
        rate=np.zeros(classes),
        common=np.zeros(classes),
        own=np.zeros(classes),
        near_up=np.zeros(classes),
        near_down=np.zeros(classes),
    )


@helper()
def set_gradients(tree: OrderedTree, y: Any, square: float, slack: bool, block: Block) -> None:
    """Compute the gradient g_c of each false class, from the scores after the moves so far.

    On the way up from the leaf of y, each node adds the classes for which it is the last node shared with y.
    """
    z = tree.leaf[y]
    missed, own = tree.missed[z], block.scores[y] + square * block.shift[y]
    lo, hi = np.uint64(y), np.uint64(y) + np.uint64(1)
    while z != 0:
        z = tree.parent[z]
        lower, higher = np.uint64(tree.first[z]), np.uint64(tree.end[z])
        base = missed - tree.missed[z] - tree.false[z]
        fill_gradients(lower, lo, base, own, square, slack, tree.entered, block)
        fill_gradients(hi, higher, base, own, square, slack, tree.entered, block)
        lo, hi = lower, higher
    block.gradient[y] = -np.inf


@helper()
def fill_gradients(
    lo: Any, hi: Any, base: float, own: float, square: float, slack: bool, entered: Array, block: Block
) -> None:
    """Compute the gradients of the classes from lo to hi - 1, which cost `base` plus the price of entering them."""
    scores, shift, gradient = block.scores, block.shift, block.gradient
    if slack:
        for c in range(lo, hi):
            gradient[c] = (base + entered[c]) * (1.0 - own + (scores[c] + square * shift[c]))
    else:
        for c in range(lo, hi):
            gradient[c] = base + entered[c] - own + (scores[c] + square * shift[c])


@helper()
def steepest(block: Block, size: Any, spare: float) -> Any:
    """Return the class that should gain, the class that should lose, and the difference of their gradients.

    NOBODY has the gradient 0.
    """
    up: Any = NOBODY
    best = np.uint32(best_class(block.gradient))
    top = 0.0
    if block.gradient[best] > 0:
        up, top = best, block.gradient[best]
    down: Any = NOBODY
    bottom = 0.0 if spare > 0 else np.inf
    for m in range(size):
        c = block.members[m]
        if block.beta[c] > 0 and block.gradient[c] < bottom:
            down, bottom = c, block.gradient[c]
    return up, down, top - bottom


@helper()
def left_over(C: float, block: Block, size: Any) -> float:
    """Return the part of C that no member has."""
    spare = C
    for m in range(size):
        spare -= block.beta[block.members[m]]
    return spare if spare > ROUNDING_SHARE * C else 0.0


@helper()
def join(c: Any, block: Block, size: Any) -> Any:
    """Make class c a member; returns the new number of members."""
    block.member[c], block.members[size] = True, c
    return size + np.uint32(1)


@helper()
def fetch_duals(duals: Rows, i: Any, block: Block) -> Any:
    """Load the duals of an instance into the block; returns their number."""
    start, size = duals.start[i], duals.length[i]
    for e in range(size):
        c = duals.classes[start + e]
        block.members[e], block.member[c] = c, True
        block.beta[c] = block.carried[c] = block.before[c] = duals.weights[start + e]
    return size


@helper()
def put_duals_back(duals: Rows, i: Any, block: Block, size: Any, changed: bool) -> None:
    """Store the duals of an instance if they changed, and clear the block."""
    if changed:
        duals.length[i] = 0
    for m in range(size):
        c = block.members[m]
        if changed and block.beta[c] > 0:
            append(duals, i, c, block.beta[c])
        block.beta[c] = block.carried[c] = block.before[c] = 0.0
        block.member[c] = False


@helper()
def has_dual_room(duals: Rows, order: Array, done: Any) -> bool:
    """Return whether the next instance has room for all duals that one visit can add."""
    return has_room(duals, order[done : done + 1], MOST_STEPS)


@helper()
def move_rows(rows: Rows, instances: Instances, i: Any, state: SweepState, size: Any, n: Any, changed: bool) -> bool:
    """Move n classes in an index by instance i, and store its duals if they changed.

    Returns False, without any change, if the index has no room.
    """
    moved = move_all(rows, instances, i, state.moves, n)
    put_duals_back(state.duals, np.uint32(i), state.block, size, moved and changed)
    forget(state.moves, n)
    return moved
