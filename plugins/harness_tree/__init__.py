"""Tree learners, classes reached by a path of decisions, and their flat rival: `from harness_tree import LOMtree`.

A learner's module is imported when its name is first used. This keeps listing fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sdk import lazy_names

if TYPE_CHECKING:
    from harness_tree.filter_tree import FilterTree
    from harness_tree.lomtree import LOMtree
    from harness_tree.oaa import OAA
    from harness_tree.random_tree import RandomTree

__all__ = ["OAA", "FilterTree", "LOMtree", "RandomTree"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "FilterTree": "harness_tree.filter_tree",
        "LOMtree": "harness_tree.lomtree",
        "OAA": "harness_tree.oaa",
        "RandomTree": "harness_tree.random_tree",
    },
)
