"""Support vector machines that train all classes at once, flat or along a tree of classes, by blocks of the dual.

Each node z of the tree has a vector w_z; z <= y are the nodes on the path of class y, without the root. With
attributes L_z(y) = r_y sqrt(m_z) on that path and dL_i(y) = L(y_i) - L(y), an instance x_i and a class y score

    F(x, y) = sum_{z <= y} L_z(y) <w_z, x>,    g_iy = cost_iy - rate_iy (F(x_i, y_i) - F(x_i, y))
    max_b  sum_iy cost_iy b_iy - 1/2 ||w||^2,    b_iy >= 0,  sum_y b_iy <= C,
    w_z = sum_iy b_iy rate_iy dL_iz(y) x_i

(Cai and Hofmann, CIKM 2004; with a flat tree and all costs 1 Crammer and Singer, JMLR 2001). Of all w_z only one vector
a class is kept, u_y = r_y sum_i (coefficient of y in i) x_i: w_z = sqrt(m_z) times the sum of those below z. Here is
what is done for one instance; `structured_sweeps` and `flat_sweeps` go through them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int32, int64, uint8, uint32
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import helper, named, reads, writes
from harness.sdk.kernels.moves import Moves
from harness.sdk.kernels.rows import Rows, append
from harness.sdk.kernels.signatures import INSTANCES
from harness.sdk.kernels.topk import best_class
from harness_svm.kernels.class_tree import CLASS_TREE, ClassTree, alike, come_down

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
"""Stands for the part of C that no class has."""


class Block(NamedTuple):
    """Space for the instance at hand; `member` is all False and `beta` all 0 between instances."""

    sums: NDArray[np.float64]
    """By node: <sum of u_y below it, x>."""
    totals: NDArray[np.float64]
    """By node: sum of m_z sums_z from the root."""
    common: NDArray[np.uint32]
    """By node: the last node that it has in common with the true path."""
    scores: NDArray[np.float64]
    cost: NDArray[np.float64]
    rate: NDArray[np.float64]
    gradient: NDArray[np.float64]
    beta: NDArray[np.float64]
    members: NDArray[np.uint32]
    """Classes that have a dual, or had one a moment ago, in front."""
    member: NDArray[np.bool_]


_NUMBERS = writes(float64)
BLOCK = named(
    Block, _NUMBERS, _NUMBERS, writes(uint32), *[_NUMBERS] * 5, writes(uint32), writes(boolean)
)  # fmt: skip


class Goal(NamedTuple):
    """`slack`: the loss is rescaled by the cost, rate = cost; else the margin is, rate = 1."""

    C: float
    tolerance: float
    slack: bool


GOAL = named(Goal, float64, float64, boolean)
DUALS = named(Rows, *map(writes, (uint32, uint32, uint8, uint32, float64, uint32)))
"""b_iy, the rows being instances."""
GIVEN = (INSTANCES, reads(float64), reads(int32), reads(int64), CLASS_TREE, GOAL)
"""The types of what a sweep reads only: instances, their squared lengths and classes, the order, tree and goal."""


def empty_block(tree: ClassTree) -> Block:
    nodes, classes = tree.parent.size, tree.leaf.size
    return Block(
        sums=np.zeros(nodes),
        totals=np.zeros(nodes),
        common=np.zeros(nodes, np.uint32),
        scores=np.zeros(classes),
        cost=np.zeros(classes),
        rate=np.zeros(classes),
        gradient=np.zeros(classes),
        beta=np.zeros(classes),
        members=np.zeros(classes, np.uint32),
        member=np.zeros(classes, np.bool_),
    )


@helper()
def judge(tree: ClassTree, y: Any, slack: bool, block: Block) -> None:
    """The cost and the rate of each class where y is true."""
    common, parent, own = block.common, tree.parent, tree.leaf[y]
    for z in range(np.uint32(parent.size)):
        common[z] = 0
    climb(parent, own, common)
    for z in range(np.uint32(1), np.uint32(parent.size)):
        common[z] = max(common[z], common[parent[z]])
    for c in range(np.uint32(tree.leaf.size)):
        leaf = tree.leaf[c]
        last = common[leaf]
        cost = tree.missed[own] - tree.missed[last] + tree.false[leaf] - tree.false[last]
        block.cost[c] = cost
        block.rate[c] = cost if slack else 1.0


@helper()
def climb(parent: Array, z: Any, common: Array) -> None:
    """Each node on the way to the root has itself in common."""
    while z != 0:
        common[z] = z
        z = parent[z]


@helper()
def set_gradients(tree: ClassTree, y: Any, block: Block) -> None:
    """The gradient g_y of each class but the true one, from the node sums."""
    come_down(tree, block.sums, block.totals)
    own = tree.scale[y] * block.totals[tree.leaf[y]]
    for c in range(np.uint32(tree.leaf.size)):
        lead = own - tree.scale[c] * block.totals[tree.leaf[c]]
        block.gradient[c] = block.cost[c] - block.rate[c] * lead
    block.gradient[y] = -np.inf


@helper()
def curvature(tree: ClassTree, y: Any, up: Any, down: Any, rate: Array) -> Any:
    """||rate_up dL(up) - rate_down dL(down)||^2, where nobody's dL is 0."""
    if down == NOBODY:
        return rate[up] ** 2 * (2.0 - 2.0 * alike(tree, y, up))
    if up == NOBODY:
        return rate[down] ** 2 * (2.0 - 2.0 * alike(tree, y, down))
    squares = rate[up] ** 2 * (2.0 - 2.0 * alike(tree, y, up)) + rate[down] ** 2 * (2.0 - 2.0 * alike(tree, y, down))
    mixed = 1.0 - alike(tree, y, up) - alike(tree, y, down) + alike(tree, up, down)
    return squares - 2.0 * rate[up] * rate[down] * mixed


@helper()
def push(tree: ClassTree, c: Any, amount: float, square: float, block: Block, moves: Moves, n: int) -> int:
    """u_c += r_c amount x, planned behind n others and carried into the node sums; gives how many move now."""
    change = tree.scale[c] * amount
    if moves.changes[c] == 0:
        moves.classes[np.uint32(n)] = c
        n += 1
    moves.changes[c] += change
    if moves.changes[c] == 0:  # it came back to where it was, and stays in the list: let it move by next to nothing
        moves.changes[c] = 1e-300
    z = tree.leaf[c]
    while z != 0:
        block.sums[z] += change * square
        z = tree.parent[z]
    return n


@helper()
def steepest(block: Block, size: Any, spare: float) -> Any:
    """(who should gain, who should lose, by how much their gradients differ); nobody's gradient is 0."""
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
    """What of C no member has."""
    spare = C
    for m in range(size):
        spare -= block.beta[block.members[m]]
    return spare if spare > ROUNDING_SHARE * C else 0.0


@helper()
def join(c: Any, block: Block, size: Any) -> Any:
    """Class c becomes a member; gives how many there are now."""
    block.member[c], block.members[size] = True, c
    return size + np.uint32(1)


@helper()
def improve(
    tree: ClassTree, y: Any, square: float, goal: Goal, near: float, block: Block, size: Any, moves: Moves
) -> Any:
    """Shift duals between two classes at a time until their gradients agree, up to `near`.

    Gives how far they were apart, how many members there are now, and how many classes move.
    """
    beta, n, violation = block.beta, 0, 0.0
    spare = left_over(goal.C, block, size)
    for number in range(MOST_STEPS):
        up, down, apart = steepest(block, size, spare)
        if number == 0:
            violation = apart
        if apart <= near:
            break
        bend = square * curvature(tree, y, up, down, block.rate)
        have = spare if down == NOBODY else beta[down]
        step = have if bend * have <= apart else apart / bend
        gain = 0.0
        if up == NOBODY:
            spare += step
        else:
            if not block.member[up]:
                size = join(up, block, size)
            beta[up] += step
            gain += step * block.rate[up]
            n = push(tree, up, -step * block.rate[up], square, block, moves, n)
        if down == NOBODY:
            spare -= step
        else:
            beta[down] -= step
            gain -= step * block.rate[down]
            n = push(tree, down, step * block.rate[down], square, block, moves, n)
        if gain != 0:
            n = push(tree, y, gain, square, block, moves, n)
        set_gradients(tree, y, block)
    return violation, size, n


@helper()
def fetch_duals(duals: Rows, i: Any, block: Block) -> Any:
    """Put the duals of an instance into the block; gives how many there are."""
    start, size = duals.start[i], duals.length[i]
    for e in range(size):
        c = duals.classes[start + e]
        block.members[e], block.member[c], block.beta[c] = c, True, duals.weights[start + e]
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
        block.beta[c], block.member[c] = 0.0, False
