"""RandomTree: a binary tree over the classes in random order, every node on the way to a class trained for it."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from harness_tree.static_tree import StaticTree


class RandomTree(StaticTree):
    """Random tree: classes at the leaves of a complete tree, in random order.

    Each instance trains all nodes between the root and the leaf of its class, to send it there. Prediction follows the
    scores, left below 0, else right; further classes are ranked by the product of sigma(2 h) along their way.

    The defaults are chosen on validation parts (docs/defaults.md); the paper of LOMtree has 20 passes.

    When to use
    -----------
    To see what a learned tree is worth: the same time as `lomtree`, without learning where classes belong.

    References
    ----------
    Choromanska and Langford, Logarithmic time online multiclass prediction, NIPS 2015.

    Parameters
    ----------
    loss : "hinge", "absolute", "squared" or "logistic".
    step : "adagrad", a rate of its own for each weight, or "plain".
    eta : the rate of the first pass.
    decay : what the rate is multiplied by after each pass.
    passes : times that training goes through the data, in a fresh random order each time.
    store : where weights are. "dense": a stretch for each inner node; "hashed": one table for all of them;
        "auto": dense up to 1 GB.
    bits : a hashed table has 2^bits weights, of 8 bytes each. "auto": as many as the rows that arrive can use, 2^27 at
        most.
    random_state : seed of the tree and of the orders; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    nodes_, root_, leaf_of_ : the tree, as described in `harness_tree.kernels.nodes`, and the leaf of each class.
    depth_ : decisions on the longest way to a leaf, at most ceil(log2 K).
    index_size_, index_bytes_ : non-zero weights, and the bytes of all that was learned.
    n_features_in_ : the number of features.
    """

    winners_only: ClassVar[bool] = False

    def __init__(
        self,
        *,
        loss: Literal["hinge", "absolute", "squared", "logistic"] = "hinge",
        step: Literal["adagrad", "plain"] = "adagrad",
        eta: float = 1.0,
        decay: float = 0.85,
        passes: int = 5,
        store: Literal["auto", "dense", "hashed"] = "auto",
        bits: int | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.loss = loss
        self.step = step
        self.eta = eta
        self.decay = decay
        self.passes = passes
        self.store = store
        self.bits = bits
        self.random_state = random_state
