"""Learners that wrap others: committees, blends, pruning of weights, training in batches, oversampling of rare classes.

A class is imported when its name is first used. This keeps listing fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sdk import lazy_names

if TYPE_CHECKING:
    from harness_committee.batches import Batches
    from harness_committee.blend import Blend
    from harness_committee.committee import Committee
    from harness_committee.oversample import Oversample
    from harness_committee.sparsify import Sparsify

__all__ = ["Batches", "Blend", "Committee", "Oversample", "Sparsify"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Batches": "harness_committee.batches",
        "Blend": "harness_committee.blend",
        "Committee": "harness_committee.committee",
        "Oversample": "harness_committee.oversample",
        "Sparsify": "harness_committee.sparsify",
    },
)
