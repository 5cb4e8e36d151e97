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
