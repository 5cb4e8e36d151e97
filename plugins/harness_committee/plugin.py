"""Registers the wrappers by name; imports none of them."""

from collections.abc import Iterable

from harness import LearnerSpec, hookimpl


@hookimpl
def harness_learners() -> Iterable[LearnerSpec]:
    """Each is built round another learner: committee(pa), sparsify(pa, share=0.3), oversample(pa, least=10)."""
    return [
        LearnerSpec(
            name="committee",
            load="harness_committee.committee:Committee",
            kind="flat",
            summary="members with other seeds, taken after some passes; they vote",
            preload=("harness_committee.committee",),
            wraps="learner",
        ),
        LearnerSpec(
            name="sparsify",
            load="harness_committee.sparsify:Sparsify",
            kind="flat",
            summary="only the largest share of the weights is kept, at the end or after each pass",
            preload=("harness_committee.sparsify",),
            wraps="learner",
        ),
        LearnerSpec(
            name="oversample",
            load="harness_committee.oversample:Oversample",
            kind="flat",
            summary="rows of rare classes are drawn again until each class has enough",
            preload=("harness_committee.oversample",),
            wraps="learner",
        ),
    ]
