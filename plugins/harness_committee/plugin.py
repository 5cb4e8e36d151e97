"""Registers the wrappers by name; imports none of them."""

from collections.abc import Iterable

from harness import LearnerSpec, hookimpl


@hookimpl
def harness_learners() -> Iterable[LearnerSpec]:
    """Return the wrappers. Each is used around another learner, as in sparsify(pa, share=0.3)."""
    return [
        LearnerSpec(
            name="committee",
            load="harness_committee.committee:Committee",
            kind="flat",
            summary="members with other seeds, taken after some passes; they vote",
            preload=("harness_committee.committee",),
            wraps="learner",
            tune={"members": [2, 4, 6, 8]},
        ),
        LearnerSpec(
            name="blend",
            load="harness_committee.blend:Blend",
            kind="both",
            summary="flat and tree learners together: their calibrated scores are averaged",
            supports=frozenset({"multilabel"}),
            preload=("harness_committee.blend",),
            wraps="learners",
            wraps_several=True,
            tune={"candidates": [5, 10, 20, 40]},
        ),
        LearnerSpec(
            name="sparsify",
            load="harness_committee.sparsify:Sparsify",
            kind="flat",
            summary="only the largest share of the weights is kept, at the end or after each pass",
            preload=("harness_committee.sparsify",),
            wraps="learner",
            tune={"share": [0.1, 0.3, 0.5, 0.7]},
        ),
        LearnerSpec(
            name="oversample",
            load="harness_committee.oversample:Oversample",
            kind="flat",
            summary="rows of rare classes are drawn again until each class has enough",
            preload=("harness_committee.oversample",),
            wraps="learner",
            tune={"least": [5, 10, 20, 40]},
        ),
        LearnerSpec(
            name="batches",
            load="harness_committee.batches:Batches",
            kind="flat",
            summary="training by partial_fit, so many rows at a time: for more rows than memory holds",
            preload=("harness_committee.batches",),
            wraps="learner",
            tune={"passes": [1, 2, 5, 10]},
        ),
    ]
