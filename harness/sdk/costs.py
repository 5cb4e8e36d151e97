"""Choice of the cost parameter by the data: `C="auto"` of the support vector machines.

A path of costs is trained on a sample of the training rows, each cost from the solution of the one before, and judged
on held-out rows. A learner implements `_train_path` and calls `settle_cost` before training.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from harness.sdk import rules
from harness.sdk.kernels.instances import Labels, frozen

AUTO = "auto"
COSTS = (0.3, 1.0, 3.0, 10.0)
"""The costs that `C="auto"` tries, smallest first."""
HELD_OUT = 0.1
"""Share of the training rows that judge, at most."""
SAMPLE = 0.12
"""Share of the other rows that the path is trained on: choosing shall take about half the time of a training."""


class TrainsPath(Protocol):
    """A learner that can be trained at several costs, one after the other."""

    classes_: NDArray[Any]

    def _train_path(self, rows: Any, labels: Labels, costs: Sequence[float], seed: int, **given: Any) -> Iterator[Self]:
        """Yield the learner after training at each cost, from the solution of the cost before.

        Labels are positions in `classes_`.
        """

    def _get_ready(self) -> None: ...

    def _rank(self, X: Any, k: int) -> NDArray[np.int32]: ...


def cost_rule(value: object) -> rules.Rule:
    """Return the rule for a finite number above 0, or "auto".

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.

    Examples
    --------
    >>> cost_rule("auto")
    (True, 'a finite number above 0, or "auto"')
    """
    holds, allowed = rules.positive(value)
    return holds or (isinstance(value, str) and value == AUTO), f'{allowed}, or "{AUTO}"'


def settle_cost(
    learner: TrainsPath,
    C: float | Literal["auto"],
    rows: Any,
    labels: Labels,
    seed: int,
    *,
    share: float = SAMPLE,
    **given: Any,
) -> float:
    """Return C as a number: for "auto", the cost of `COSTS` with the highest R1 on held-out rows, the smallest on ties.

    Parameters
    ----------
    learner : TrainsPath
        The learner, which is not changed.
    C : float or "auto"
        The parameter.
    rows : csr_array or ndarray of shape (n_rows, n_features)
        All training rows.
    labels : Labels
        Their labels, as positions in `classes_`.
    seed : int
        Seed of the sample and of the training.
    share : float, default=0.12
        Share of the rows that are not held out to train on.
    **given
        Passed on to `_train_path`, such as the taxonomy.

    Returns
    -------
    float
        The cost. Without a row to hold out, the second of `COSTS`.
    """
    if not isinstance(C, str):
        return float(C)
    random = np.random.default_rng(seed)
    train, held = hold_out(labels, HELD_OUT, random)
    if not held.size:
        return COSTS[1]
    # A class that the sample misses is lost at every cost alike.
    sample = np.sort(train[: max(1, round(share * train.size))])
    own = take_rows(labels, sample)
    seen, places = np.unique(own.indices, return_inverse=True)
    path = copy(learner)
    path.classes_ = learner.classes_[seen]
    truth = take_rows(labels, held)
    shares = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the training at the chosen cost warns by itself
        compact = own._replace(indices=frozen(places, np.int32))
        for fitted in path._train_path(rows[sample], compact, COSTS, seed, **given):
            fitted._get_ready()
            best = fitted._rank(rows[held], 1)[:, 0]
            shares.append(share_right(np.where(best >= 0, seen[best], -1), truth))
    return COSTS[int(np.argmax(shares))]


def hold_out(labels: Labels, share: float, random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to train on and the held-out rows.

    The first row of each class in the random order is not held out, so no class is left without a row. Rows without a
    label are not held out either.

    Parameters
    ----------
    labels : Labels
        Labels of all rows, as positions.
    share : float
        Share of the rows to hold out, at most.
    random : Generator
        Source of the random order.

    Returns
    -------
    train : ndarray of int64
        Rows to train on, in random order.
    held : ndarray of int64
        Held-out rows, sorted.
    """
    n_rows = labels.indptr.size - 1
    order = random.permutation(n_rows)
    place = np.empty(n_rows, np.int64)
    place[order] = np.arange(n_rows)
    owners = np.repeat(np.arange(n_rows), np.diff(labels.indptr))
    by_class = np.lexsort((place[owners], labels.indices))
    _, first = np.unique(labels.indices[by_class], return_index=True)
    needed = np.diff(labels.indptr) == 0
    needed[owners[by_class[first]]] = True
    spare = order[~needed[order]]
    held = spare[: round(share * n_rows)]
    is_held = np.zeros(n_rows, np.bool_)
    is_held[held] = True
    return order[~is_held[order]], np.sort(held)


def take_rows(labels: Labels, rows: NDArray[np.int64]) -> Labels:
    """Return the labels of some rows, in their order.

    Parameters
    ----------
    labels : Labels
        Labels of all rows, as positions.
    rows : ndarray of int64
        Rows to take.

    Returns
    -------
    Labels
        Labels of these rows.
    """
    counts = np.diff(labels.indptr)[rows]
    ends = np.cumsum(counts)
    at = np.arange(ends[-1] if ends.size else 0) + np.repeat(labels.indptr[rows] - (ends - counts), counts)
    return Labels(frozen(np.concatenate([[0], ends]), np.int64), frozen(labels.indices[at], np.int32))


def share_right(best: NDArray[np.int64], truth: Labels) -> float:
    """Return the share of rows whose best class is one of their labels.

    Parameters
    ----------
    best : ndarray of int64, shape (n_rows,)
        Position of the best class of each row; -1 for none.
    truth : Labels
        Labels of the rows, as positions.

    Returns
    -------
    float
        The share, from 0 to 1.
    """
    owners = np.repeat(np.arange(best.size), np.diff(truth.indptr))
    right = np.zeros(best.size, np.bool_)
    right[owners[truth.indices == best[owners]]] = True
    return float(right.mean())
