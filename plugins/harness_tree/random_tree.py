"""RandomTree: a binary tree over the classes in random order. A row trains every node on the path to its class."""

from __future__ import annotations

from typing import ClassVar

from harness_tree.static_tree import StaticTree


class RandomTree(StaticTree):
    """Random tree: classes at the leaves of a complete tree, in random order.

    A row trains all nodes between the root and the leaf of its class. Prediction follows the scores, left below 0,
    otherwise right. Further classes are ranked by the product of sigma(2 h) along their paths.

    The defaults are chosen on validation sets (results/defaults); the LOMtree paper uses 20 passes.

    When to use
    -----------
    A baseline for `lomtree`: it takes the same time, but does not learn the places of the classes.

    References
    ----------
    Choromanska and Langford, Logarithmic time online multiclass prediction, NIPS 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_tree import RandomTree
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = RandomTree(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    winners_only: ClassVar[bool] = False
