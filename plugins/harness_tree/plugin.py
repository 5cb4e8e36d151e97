"""Registers the learners of this plugin by name; imports none of them."""

from __future__ import annotations

from harness import LearnerSpec, hookimpl


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    """Return the built-in learners of this family."""
    return [
        LearnerSpec(
            name="lomtree",
            load="harness_tree.lomtree:LOMtree",
            kind="tree",
            summary="logarithmic online multi-class tree: its splits are learned, even and pure",
            preload=("harness_tree.lomtree",),
            paper_params={"passes": 20},
            tune={"eta": [0.05, 0.1, 0.2, 0.5]},
        ),
        LearnerSpec(
            name="random-tree",
            load="harness_tree.random_tree:RandomTree",
            kind="tree",
            summary="a complete tree over the classes in random order",
            preload=("harness_tree.random_tree",),
            paper_params={"passes": 20},
            tune={"eta": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="filter-tree",
            load="harness_tree.filter_tree:FilterTree",
            kind="tree",
            summary="a tournament of the classes: only winners train the next match",
            preload=("harness_tree.filter_tree",),
            paper_params={"passes": 20},
            tune={"eta": [0.3, 1.0, 3.0, 10.0]},
        ),
        LearnerSpec(
            name="oaa",
            load="harness_tree.oaa:OAA",
            kind="flat",
            summary="online one-against-all: a linear regressor for each class, dense",
            preload=("harness_tree.oaa",),
            paper_params={"passes": 20},
            tune={"eta": [0.3, 1.0, 3.0, 10.0]},
        ),
    ]
