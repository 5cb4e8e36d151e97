"""FilterTree: a tournament of the classes. Only the winner of a match trains the next one."""

from __future__ import annotations

from typing import ClassVar

from harness_tree.static_tree import StaticTree


class FilterTree(StaticTree):
    """Filter tree (Beygelzimer, Langford and Ravikumar): classes at the leaves of a complete tree, in random order.

    A row goes from the leaf of its class towards the root and trains each node to choose its side. It stops at the
    first node that would have chosen the other side before the step. Prediction follows the scores from the root, left
    below 0, otherwise right. Further classes are ranked by the product of sigma(2 h) along their paths.

    The defaults are chosen on validation sets (results/defaults); the LOMtree paper uses 20 passes.

    When to use
    -----------
    Prediction in logarithmic time by a reduction with a regret bound.

    References
    ----------
    Beygelzimer, Langford and Ravikumar, Error-correcting tournaments, ALT 2009.

    Parameters
    ----------
    loss : {"hinge", "absolute", "squared", "logistic"}, default="hinge"
        Loss of each regressor.
    step : {"adagrad", "plain"}, default="adagrad"
        "adagrad" adapts the learning rate of each weight; "plain" uses one rate for all.
    eta : float, default=1.0
        Learning rate of the first pass, above 0.
    decay : float, default=0.85
        Factor applied to the learning rate after each pass, above 0 and at most 1.
    passes : int, default=5
        Number of passes over the training rows, at least 1, each in a new random order.
    store : {"auto", "dense", "hashed"}, default="auto"
        Storage of the weights. "dense" is an array for each inner node, "hashed" one hash table for all nodes. "auto"
        is dense up to 1 GB.
    bits : int or "auto", default="auto"
        A hash table has 2^bits weights of 8 bytes each, bits from 1 to 32. "auto" chooses a size by the number of
        values in the training rows, at most 2^27.
    random_state : int, RandomState instance or None, default=None
        Seed of the tree and of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    nodes_ : ndarray
        The nodes of the tree, with the fields described in `harness_tree.kernels.nodes`.
    leaf_of_ : ndarray of shape (n_classes,)
        The leaf of each class.
    depth_ : int
        Maximum number of decisions to a leaf, at most ceil(log2 K).
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of all learned arrays.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_tree import FilterTree
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = FilterTree(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 1])
    """

    winners_only: ClassVar[bool] = True
