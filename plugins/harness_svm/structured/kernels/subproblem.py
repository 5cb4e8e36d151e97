"""Support vector machines that train all classes at once, flat or along a tree of classes, by blocks of the dual.

Each node z of the tree has a vector w_z; z <= y are the nodes on the path of class y, without the root. With
attributes L_z(y) = r_y sqrt(m_z) on that path and dL_i(y) = L(y_i) - L(y), an instance x_i and a class y score

    F(x, y) = sum_{z <= y} L_z(y) <w_z, x>,    g_iy = cost_iy - rate_iy (F(x_i, y_i) - F(x_i, y))
    max_b  sum_iy cost_iy b_iy - 1/2 ||w||^2,    b_iy >= 0,  sum_y b_iy <= C,
    w_z = sum_iy b_iy rate_iy dL_iz(y) x_i

(Cai and Hofmann, CIKM 2004; with a flat tree and all costs 1 Crammer and Singer, JMLR 2001). Of all w_z only one vector
a class is kept in an index, u_y = r_y sum_i (coefficient of y in i) x_i: w_z = sqrt(m_z) times the sum of those below
z; in a matrix v_y = sum_{z <= y} L_z(y) w_z, which scores class y at once. Here is what the machines share for one
instance: its gradients and duals. `pair_steps` and `flat_sweeps` improve them. Classes are in the order of the tree.
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

MOST_STEPS = 50
"""For one instance in one visit: so many duals may become new."""
IDLE = 0.02
"""The share of the tolerance up to which gradients agree well enough."""
RELUCTANCE = 0.25
"""The same where the weights are in an index: with thousands of classes most are nearly as good, and each dual is an
edge for every feature of the instance (measured: less than half of the edges)."""
ROUNDING_SHARE = 1e-9
"""The share of C below which what is left of it is an error of rounding: a thousand duals leave 1e-12, and a row that
could give away so little would count as far from its optimum for ever."""
NOBODY = np.uint32(0xFFFFFFFF)
"""In place of a class: the part of C that no class has."""


class Block(NamedTuple):
    """Space for the current instance. Between instances `member` is all False; `beta`, `carried`, `before` and `shift`
    are all 0."""

    sums: NDArray[np.float64]
    """By node: <sum of u_y below it, x>."""
    totals: NDArray[np.float64]
    """By node: sum of m_z sums_z from the root."""
    scores: NDArray[np.float64]
    """F(x, y) by class, before the visit of the instance."""
    shift: NDArray[np.float64]
    """By class: how far the scores have moved since then, over ||x||^2."""
    gradient: NDArray[np.float64]
    beta: NDArray[np.float64]
    carried: NDArray[np.float64]
    """By class: the dual that `shift` knows of."""
    before: NDArray[np.float64]
    """By class: the dual that it had when the instance was reached."""
    members: NDArray[np.uint32]
    """Classes that have a dual, or had one a moment ago, in front."""
    member: NDArray[np.bool_]
    rate: NDArray[np.float64]
    """By place among the members: the rate of each."""
    common: NDArray[np.float64]
    """By place among the members: the sum of m_z over the nodes that it has in common with the next one."""
    own: NDArray[np.float64]
    """By place: <L(y), L(c)> with the true class y."""
    near_up: NDArray[np.float64]
    """By place: <L(up), L(c)> with the class that gains."""
    near_down: NDArray[np.float64]


_NUMBERS = writes(float64)
BLOCK = named(Block, *[_NUMBERS] * 8, writes(uint32), writes(boolean), *[_NUMBERS] * 5)


class Goal(NamedTuple):
    """`slack`: the loss is rescaled by the cost, rate = cost; else the margin is, rate = 1."""

    C: float
    tolerance: float
    slack: bool


GOAL = named(Goal, float64, float64, boolean)
DUALS = named(Rows, *map(writes, (uint32, uint32, uint8, uint32, float64, uint32)))
"""b_iy, the rows being instances."""


class Sweep(NamedTuple):
    """The rows that a sweep visits, in order, and the problem that it solves. It only reads them."""

    instances: Instances
    squares: NDArray[np.float64]
    """By row: its squared length."""
    labels: NDArray[np.int32]
    order: NDArray[np.int64]
    tree: OrderedTree
    goal: Goal


class SweepState(NamedTuple):
    """The arrays that a sweep changes besides the weights."""

    duals: Rows
    block: Block
    moves: Moves
    violations: NDArray[np.float64]
    """By row: how far from its optimum it was when it was last visited."""


SWEEP = named(Sweep, INSTANCES, reads(float64), reads(int32), reads(int64), ORDERED_TREE, GOAL)
SWEEP_STATE = named(SweepState, DUALS, BLOCK, MOVES, writes(float64))


def empty_block(tree: ClassTree | OrderedTree) -> Block:
    nodes, classes = tree.parent.size, tree.leaf.size
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
    """The gradient g_c of each class but the true one, from the scores as they have moved.

    On the way up from the leaf of y each node adds those classes that have it as their last in common with y.
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
    """The gradients of the classes from lo to hi - 1, which cost `base` and what it takes to enter them."""
    scores, shift, gradient = block.scores, block.shift, block.gradient
    if slack:
        for c in range(lo, hi):
            gradient[c] = (base + entered[c]) * (1.0 - own + (scores[c] + square * shift[c]))
    else:
        for c in range(lo, hi):
            gradient[c] = base + entered[c] - own + (scores[c] + square * shift[c])


@helper()
def steepest(block: Block, size: Any, spare: float) -> Any:
    """Return the class that should gain, the class that should lose, and the difference of their gradients. NOBODY has
    gradient 0."""
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
    """Class c becomes a member; returns how many there are now."""
    block.member[c], block.members[size] = True, c
    return size + np.uint32(1)


@helper()
def fetch_duals(duals: Rows, i: Any, block: Block) -> Any:
    """Put the duals of an instance into the block; returns how many there are."""
    start, size = duals.start[i], duals.length[i]
    for e in range(size):
        c = duals.classes[start + e]
        block.members[e], block.member[c] = c, True
        block.beta[c] = block.carried[c] = block.before[c] = duals.weights[start + e]
    return size


@helper()
def put_duals_back(duals: Rows, i: Any, block: Block, size: Any, changed: bool) -> None:
    """Write the duals of an instance, where they changed, and leave the block empty."""
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
    """Return whether the next instance may get as many new duals as one visit gives."""
    return has_room(duals, order[done : done + 1], MOST_STEPS)


@helper()
def move_rows(rows: Rows, instances: Instances, i: Any, state: SweepState, size: Any, n: Any, changed: bool) -> bool:
    """Move n classes in an index by instance i, and write its duals if they changed.

    Returns False, without any change, if the index has no room.
    """
    moved = move_all(rows, instances, i, state.moves, n)
    put_duals_back(state.duals, np.uint32(i), state.block, size, moved and changed)
    forget(state.moves, n)
    return moved
