"""The duals of one instance along a tree of classes: shifted between two classes until their gradients agree.

Only members, the classes that have a dual, and classes that gain one take part in a step. They are in the order of the
tree, so the common part of two of them is the least of the common parts of the neighbours between them. A step looks
once at each member, for any number of classes. When the members agree, all classes are checked, better ones become
members, and so on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.sdk.kernels.compile import helper
from harness.sdk.kernels.instances import Array
from harness.sdk.kernels.moves import Moves
from harness.sdk.kernels.score import BLOCK_CLASSES, highest
from harness_svm.structured.kernels.class_tree import OrderedTree, alike, cost_beyond, last_in_common
from harness_svm.structured.kernels.subproblem import (
    MOST_STEPS,
    NOBODY,
    Block,
    Goal,
    left_over,
    set_gradients,
    steepest,
)

OVERSHOOT = 0.5
"""Duals move this share beyond the optimum of one instance alone (measured: half as many sweeps)."""
LEAST_OVERSHOOT = 0.05
"""A smaller overshoot is not carried into the scores."""
INNER_SHARE = 0.1
"""Gradients of an instance agree well enough for a round at this share of their initial difference."""
MOST_ROUNDS = 10
"""Maximum number of rounds, each with a check of all classes, in one visit."""
MOST_SHIFTS = 1000
"""Maximum number of steps among the members of one instance in a round."""
WORTH_JOINING = 0.5
"""A class becomes a member if its lead over the members is this share of the best class's lead."""


class Relations(NamedTuple):
    """The functions that depend on how classes share nodes, in a tree or in a lattice."""

    set_gradients: Any
    """As `subproblem.set_gradients`."""
    line_up: Any
    """Compute the rate of each member, and what `compare` needs."""
    compare: Any
    """Compute <L(one), L(c)> of the member at a place with each of the others."""
    alike: Any
    """Return <L(c), L(other)>."""
    spread: Any
    """Add the effect of a growing coefficient of a class to the scores of all classes."""


@helper()
def join_in_order(c: Any, block: Block, size: Any) -> Any:
    """Insert class c among the members in tree order; returns the new number of members."""
    place: Any = size
    while place > 0 and block.members[place - np.uint32(1)] > c:
        block.members[place] = block.members[place - np.uint32(1)]
        place -= np.uint32(1)
    block.members[place], block.member[c] = c, True
    return size + np.uint32(1)


@helper()
def invite(bar: float, block: Block, size: Any, most: Any) -> Any:
    """Make members of classes with a gradient of at least `bar`, at most `most`; returns the new number of members."""
    gradient = block.gradient
    for lo in range(0, gradient.size, BLOCK_CLASSES):
        hi = min(lo + BLOCK_CLASSES, gradient.size)
        if not highest(gradient, lo, hi) >= bar:
            continue
        for c in range(np.uint32(lo), np.uint32(hi)):
            if gradient[c] >= bar and not block.member[c] and size < most:
                size = join_in_order(c, block, size)
    return size


@helper()
def line_up(tree: OrderedTree, y: Any, slack: bool, block: Block, size: Any) -> None:
    """Compute the rate of each member, and its common part with the true class and with the next member."""
    for p in range(size):
        c = block.members[p]
        last = last_in_common(tree, y, c)
        block.own[p] = tree.scale[y] * tree.scale[c] * tree.shared[last]
        block.rate[p] = cost_beyond(tree, y, c, last) if slack else 1.0
        if p + np.uint32(1) < size:
            block.common[p] = tree.shared[last_in_common(tree, c, block.members[p + np.uint32(1)])]


@helper()
def compare(tree: OrderedTree, place: Any, block: Block, size: Any, likeness: Array) -> None:
    """Compute <L(one), L(c)> of the member at this place with each of the others."""
    one = block.members[place]
    scale, least = tree.scale[one], tree.shared[tree.leaf[one]]
    likeness[place] = scale * scale * least
    for p in range(place + np.uint32(1), size):
        least = min(least, block.common[p - np.uint32(1)])
        likeness[p] = scale * tree.scale[block.members[p]] * least
    least = tree.shared[tree.leaf[one]]
    for back in range(np.uint32(1), place + np.uint32(1)):
        p = place - back
        least = min(least, block.common[p])
        likeness[p] = scale * tree.scale[block.members[p]] * least


@helper()
def steepest_places(block: Block, size: Any, spare: float) -> Any:
    """Return the same as `steepest`, among the members only, as places."""
    up: Any = NOBODY
    down: Any = NOBODY
    top, bottom = 0.0, 0.0 if spare > 0 else np.inf
    for p in range(size):
        c = block.members[p]
        g = block.gradient[c]
        if g > top:
            up, top = p, g
        if block.beta[c] > 0 and g < bottom:
            down, bottom = p, g
    return up, down, top - bottom


@helper()
def spread(tree: OrderedTree, c: Any, amount: float, shift: Array) -> None:
    """Add the effect of a growing coefficient of class c to the score of each class that shares a node with it."""
    z = tree.leaf[c]
    amount *= tree.scale[c]
    while z != 0:
        part = amount * tree.weight[z]
        for other in range(np.uint64(tree.first[z]), np.uint64(tree.end[z])):
            shift[other] += part * tree.scale[other]
        z = tree.parent[z]


@helper()
def forget_shift(tree: OrderedTree, shift: Array, moves: Moves, n: int) -> None:
    """Reset all shifts of scores; only those in the branches of the moving classes are not 0."""
    for m in range(np.uint32(n)):
        top = tree.top[moves.classes[m]]
        for c in range(np.uint64(tree.first[top]), np.uint64(tree.end[top])):
            shift[c] = 0.0


@helper()
def go_further(y: Any, square: float, C: float, block: Block, size: Any) -> bool:
    """Move from the former duals beyond the new best ones; returns whether that is allowed.

    Instances that share most of their features undo much of each other's gains: the best duals of one, with the others
    fixed, are too near. The objective is a parabola on this line. Up to twice the distance to its top, it is not lower
    than at the start.
    """
    further, total, change, gain, slope, bend = OVERSHOOT, 0.0, 0.0, 0.0, 0.0, 0.0
    for p in range(size):
        c = block.members[p]
        grown = block.beta[c] - block.before[c]
        total, change, gain = total + block.beta[c], change + grown, gain + block.rate[p] * grown
        slope += block.gradient[c] * grown
        bend -= block.rate[p] * grown * block.shift[c]
        if grown < 0:
            further = min(further, -block.beta[c] / grown)
    bend = square * (bend + gain * block.shift[y])
    if change > 0:
        further = min(further, (C - total) / change)
    if slope < 0:
        further = min(further, 1.0 + 2.0 * slope / bend) if bend > 0 else 0.0
    if further < LEAST_OVERSHOOT:
        return False
    for p in range(size):
        c = block.members[p]
        block.beta[c] = max(0.0, block.beta[c] + further * (block.beta[c] - block.before[c]))
    return True


class PairSteps(NamedTuple):
    """The steps for one way of sharing nodes. They are compiled into the kernel that calls them."""

    settle: Any
    move: Any
    carry: Any
    improve: Any


def pair_steps(related: Relations) -> PairSteps:
    """Return the steps that use these relations."""
    settle, (move, carry) = _settle_by(related), _carry_by(related)
    return PairSteps(settle, move, carry, _improve_by(related.set_gradients, settle, carry))


def _settle_by(related: Relations) -> Any:
    line_up, compare, alike = related.line_up, related.compare, related.alike

    @helper()
    def settle(tree: Any, y: Any, square: float, goal: Goal, near: float, block: Block, size: Any) -> None:
        """Shift duals between the members until their gradients agree, up to `near`."""
        members, beta, rate, own = block.members, block.beta, block.rate, block.own
        line_up(tree, y, goal.slack, block, size)
        true, spare = alike(tree, y, y), left_over(goal.C, block, size)
        for _ in range(MOST_SHIFTS):
            up, down, apart = steepest_places(block, size, spare)
            if apart <= near:
                break
            # ||rate_up dL(up) - rate_down dL(down)||^2, where NOBODY has rate 0
            up_rate, down_rate, up_own, down_own, bend = 0.0, 0.0, 0.0, 0.0, 0.0
            if up != NOBODY:
                compare(tree, up, block, size, block.near_up)
                up_rate, up_own = rate[up], own[up]
                bend += up_rate**2 * (true - 2.0 * up_own + block.near_up[up])
            if down != NOBODY:
                compare(tree, down, block, size, block.near_down)
                down_rate, down_own = rate[down], own[down]
                bend += down_rate**2 * (true - 2.0 * down_own + block.near_down[down])
                if up != NOBODY:
                    bend -= 2.0 * up_rate * down_rate * (true - up_own - down_own + block.near_up[down])
            bend *= square
            have = spare if down == NOBODY else beta[members[down]]
            step = have if bend * have <= apart else apart / bend
            if up == NOBODY:
                spare += step
            else:
                beta[members[up]] += step
            if down == NOBODY:
                spare -= step
            else:
                beta[members[down]] -= step
            up_rate *= step * square
            down_rate *= step * square
            flat = up_rate * (true - up_own) - down_rate * (true - down_own)
            slope = up_rate - down_rate
            for p in range(size):
                c = members[p]
                lead = flat - slope * own[p] + up_rate * block.near_up[p] - down_rate * block.near_down[p]
                block.gradient[c] -= rate[p] * lead

    return settle


def _carry_by(related: Relations) -> tuple[Any, Any]:
    spread, set_gradients = related.spread, related.set_gradients

    @helper()
    def move(tree: Any, c: Any, amount: float, block: Block, moves: Moves, n: int) -> int:
        """u_c += r_c amount x: plan the move after n others, add it to the scores, return the number of moves."""
        if moves.changes[c] == 0:
            moves.classes[np.uint32(n)] = c
            n += 1
        moves.changes[c] += tree.scale[c] * amount
        if moves.changes[c] == 0:  # it came back to where it was, and stays in the list: let it move by next to nothing
            moves.changes[c] = 1e-300
        spread(tree, c, amount, block.shift)
        return n

    @helper()
    def carry(tree: Any, y: Any, square: float, slack: bool, block: Block, size: Any, moves: Moves, n: int) -> int:
        """Update scores and gradients of all classes from the members' duals; returns the number of moving classes."""
        gain = 0.0
        for p in range(size):
            c = block.members[p]
            amount = block.rate[p] * (block.beta[c] - block.carried[c])
            if amount != 0:
                n = move(tree, c, -amount, block, moves, n)
                gain += amount
                block.carried[c] = block.beta[c]
        if gain != 0:
            n = move(tree, y, gain, block, moves, n)
        set_gradients(tree, y, square, slack, block)
        return n

    return move, carry


def _improve_by(set_gradients: Any, settle: Any, carry: Any) -> Any:
    @helper()
    def improve(
        tree: Any,
        y: Any,
        square: float,
        goal: Goal,
        near: float,
        block: Block,
        size: Any,
        moves: Moves,
    ) -> Any:
        """Shift duals until the gradients of all classes agree, up to `near`, or there are too many new members.

        The gradients are computed from the scores. Returns their former difference, the number of members, and the
        number of classes that move.
        """
        set_gradients(tree, y, square, goal.slack, block)
        up, _, violation = steepest(block, size, left_over(goal.C, block, size))
        n, most = 0, size + np.uint32(MOST_STEPS)
        if violation <= near:
            return violation, size, n
        near = max(near, INNER_SHARE * violation)
        if up != NOBODY and not block.member[up]:
            size = join_in_order(up, block, size)
        for _ in range(MOST_ROUNDS):
            settle(tree, y, square, goal, near, block, size)
            n = carry(tree, y, square, goal.slack, block, size, moves, n)
            level = 0.0
            for p in range(size):
                level = max(level, block.gradient[block.members[p]])
            lead = highest(block.gradient, 0, block.gradient.size) - level
            if lead <= near or size == most:
                break
            size = invite(level + WORTH_JOINING * lead, block, size, most)
        if go_further(y, square, goal.C, block, size):
            n = carry(tree, y, square, goal.slack, block, size, moves, n)
        return violation, size, n

    return improve


IN_TREE = Relations(set_gradients, line_up, compare, alike, spread)
settle, move, carry, improve = pair_steps(IN_TREE)
