"""Registers the learners of this plugin by name; imports none of them."""

from __future__ import annotations

from harness import LearnerSpec, hookimpl


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    """Return the learner. It is used around another learner: shortlist(ff), shortlist(pa, candidates=10)."""
    return [
        LearnerSpec(
            name="shortlist",
            load="harness_shortlist.shortlist:Shortlist",
            kind="flat",
            summary="one learner proposes some classes a row, support vector machines decide among them",
            supports=frozenset({"multilabel"}),
            preload=("harness_shortlist.shortlist",),
            wraps="learner",
            tune={"C": [0.5, 1.5, 3.0, 5.0]},
        ),
    ]
