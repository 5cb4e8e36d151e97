"""Linear support vector machines with squared hinge loss, each on its own few rows, by coordinate descent in the dual.

    min_w  1/2 ||w||^2 + C sum_i max(0, 1 - y_i <w, x_i>)^2
    max_a  sum_i a_i - 1/2 ||w||^2 - D/2 sum_i a_i^2,   a_i >= 0,   w = sum_i a_i y_i x_i,   D = 1 / (2 C)

The bias is the weight of a constant feature 1 (Hsieh and others, ICML 2008). All machines are trained in the same
space, one after the other, so the cost of a machine depends on its rows, not on the number of features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, int64, uint32, uint64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.random_numbers import draw_number
from harness_shortlist.kernels.training_pairs import PAIRS, Pairs

IDLE_SHARE = 0.1
"""An a_i whose gradient is below this share of the tolerance is not changed."""


class Goal(NamedTuple):
    """The problem and when it counts as solved: no projected gradient above the tolerance, or the maximum of sweeps."""

    C: float
    tolerance: float
    most_sweeps: int
    prune: float
    """Weights up to this absolute value are not stored."""


GOAL = named(Goal, float64, float64, int64, float64)


class MachineSpace(NamedTuple):
    """Temporary arrays for one machine at a time; `w` is all 0 between machines."""

    w: NDArray[np.float32]
    """The last element is the bias."""
    alpha: NDArray[np.float64]
    order: NDArray[np.uint32]
    random: NDArray[np.uint64]


MACHINE_SPACE = named(MachineSpace, writes(float32), writes(float64), writes(uint32), writes(uint64))


class Found(NamedTuple):
    """Trained machines: the weights of machine z are between `start[z]` and `start[z + 1]`."""

    start: NDArray[np.int64]
    features: NDArray[np.uint32]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    sweeps: NDArray[np.int64]
    """By machine; one more than allowed if the tolerance was not reached."""


FOUND = named(Found, writes(int64), writes(uint32), writes(float32), writes(float32), writes(int64))


@helper()
def product(instances: Instances, i: Any, w: Array) -> Any:
    """Return <w, x_i>, in two sums side by side, since each addition would otherwise wait for the one before."""
    one, two = np.float32(0.0), np.float32(0.0)
    indices, data = instances.indices, instances.data
    j, end = np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + np.uint32(1)])
    while j + np.uint64(2) <= end:
        one += w[np.uint32(indices[j])] * data[j]
        two += w[np.uint32(indices[j + np.uint64(1)])] * data[j + np.uint64(1)]
        j += np.uint64(2)
    if j < end:
        one += w[np.uint32(indices[j])] * data[j]
    return one + two


@helper()
def add_instance(instances: Instances, i: Any, amount: Any, w: Array) -> None:
    """Add amount x_i to w."""
    for j in range(np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + np.uint32(1)])):
        w[np.uint32(instances.indices[j])] += amount * instances.data[j]


@helper()
def forget_instance(instances: Instances, i: Any, w: Array) -> None:
    """Set w to 0 for each feature of the instance."""
    for j in range(np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + np.uint32(1)])):
        w[np.uint32(instances.indices[j])] = 0.0


@helper()
def shuffle(order: Array, n: Any, random: Array) -> None:
    """Shuffle the first n elements."""
    for p in range(np.uint64(n)):
        other = p + draw_number(random, np.uint64(n) - p)
        order[p], order[other] = order[other], order[p]


@helper()
def sweep(
    instances: Instances, squares: Array, rows: Array, signs: Array, goal: Goal, space: MachineSpace, active: Any
) -> Any:
    """Improve the a_i of each active row in turn; a row whose a_i is 0 and should stay 0 becomes inactive.

    Returns the number of rows that are still active, and the largest absolute projected gradient.
    """
    w, alpha, order, _ = space
    last, ridge = np.uint32(w.size - 1), 0.5 / goal.C
    kept, worst = np.uint64(0), 0.0
    for s in range(active):
        p = order[s]
        i, a, y = rows[p], alpha[p], np.float64(signs[p])
        gradient = y * np.float64(product(instances, i, w) + w[last]) - 1.0 + ridge * a
        if a == 0 and gradient >= 0:
            continue
        order[s], order[kept] = order[kept], p
        kept += np.uint64(1)
        size = abs(gradient)
        worst = max(worst, size)
        if size <= IDLE_SHARE * goal.tolerance:
            continue
        target = max(0.0, a - gradient / (squares[i] + 1.0 + ridge))
        alpha[p] = target
        change = np.float32((target - a) * y)
        add_instance(instances, i, change, w)
        w[last] += change
    return kept, worst


@helper()
def solve(instances: Instances, squares: Array, rows: Array, signs: Array, goal: Goal, space: MachineSpace) -> int:
    """Train one machine from its a_i, until a sweep over all of its rows finds the tolerance kept.

    Between such sweeps, only active rows are visited. Returns the number of all sweeps, or one more than allowed.
    """
    n = np.uint64(rows.size)
    for p in range(n):
        space.order[p] = p
    active, whole = n, True
    for number in range(1, goal.most_sweeps + 1):
        shuffle(space.order, active, space.random)
        active, worst = sweep(instances, squares, rows, signs, goal, space, active)
        if worst <= goal.tolerance:
            if whole:
                return number
            active, whole = n, True
        else:
            whole = False
    return goal.most_sweeps + 1


@helper()
def begin(instances: Instances, rows: Array, signs: Array, space: MachineSpace, duals: Array) -> None:
    """Set the a_i of one machine, with w: those of `duals`, or 0 if it is empty."""
    w, last = space.w, np.uint32(space.w.size - 1)
    for p in range(np.uint64(rows.size)):
        space.alpha[p] = 0.0
        if duals.size > 0 and duals[p] > 0:
            space.alpha[p] = duals[p]
            amount = np.float32(duals[p] * np.float64(signs[p]))
            add_instance(instances, rows[p], amount, w)
            w[last] += amount


@helper()
def store(instances: Instances, rows: Array, goal: Goal, space: MachineSpace, found: Found, z: Any, place: Any) -> bool:
    """Copy the weights of machine z to `found` and reset w to 0; returns False if there is no room."""
    w, end = space.w, found.start[z]
    for p in range(np.uint64(rows.size)):
        if space.alpha[p] == 0:
            continue
        i = rows[p]
        for j in range(np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + np.uint32(1)])):
            f = np.uint32(instances.indices[j])
            if abs(w[f]) > goal.prune and place < found.features.size:
                found.features[place], found.weights[place] = f, w[f]
            place += abs(w[f]) > goal.prune
            w[f] = 0.0
    for p in range(np.uint64(rows.size)):
        if space.alpha[p] == 0:  # it may have moved and come back, which floats do not undo to the last bit
            forget_instance(instances, rows[p], w)
    fits = bool(place <= found.features.size)
    found.bias[z], w[w.size - 1] = w[w.size - 1], 0.0
    found.start[z + 1] = place if fits else end
    return fits


@kernel(
    int64(INSTANCES, reads(float64), PAIRS, GOAL, MACHINE_SPACE, FOUND, int64, int64, int64, writes(float64)), **LEAN
)
def train_machines(
    instances: Instances,
    squares: Array,
    pairs: Pairs,
    goal: Goal,
    space: MachineSpace,
    found: Found,
    done: int,
    first: int,
    seed: int,
    duals: Array,
) -> int:
    """Train the machines from number `done` on; returns the number of trained machines: all, or those with room.

    `first` is the number of the first of them among all machines of the training. `duals` has the a_i of all pairs to
    begin with, and gets the new ones; it is empty to begin with 0 and to keep none.
    """
    for z in range(done, pairs.start.size - 1):
        lo, hi = pairs.start[z], pairs.start[z + 1]
        rows, signs = pairs.rows[lo:hi], pairs.signs[lo:hi]
        own = np.uint64(2 * (first + z) + 1)  # independent of the machines trained before it
        space.random[0] = (np.uint64(seed) << np.uint64(32)) + own
        for _ in range(4):  # states that differ in few bits give numbers that differ little
            draw_number(space.random, np.uint64(2))
        known = duals[lo:hi] if duals.size > 0 else duals
        begin(instances, rows, signs, space, known)
        found.sweeps[z] = solve(instances, squares, rows, signs, goal, space)
        if not store(instances, rows, goal, space, found, z, found.start[z]):
            return z
        for p in range(np.uint64(known.size)):
            known[p] = space.alpha[p]
    return pairs.start.size - 1
