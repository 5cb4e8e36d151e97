"""Learners that keep one prototype, a weight vector, per class: `from harness_prototype import PA`.

A learner's module is imported when its name is first used. This keeps listing fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sdk import lazy_names

if TYPE_CHECKING:
    from harness_prototype.bounded_perceptron import BoundedPerceptron
    from harness_prototype.mmp import MMP
    from harness_prototype.ovr_perceptron import OVRPerceptron
    from harness_prototype.pa import PA
    from harness_prototype.perceptron import Perceptron
    from harness_prototype.winnow import Winnow

__all__ = ["MMP", "PA", "BoundedPerceptron", "OVRPerceptron", "Perceptron", "Winnow"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BoundedPerceptron": "harness_prototype.bounded_perceptron",
        "MMP": "harness_prototype.mmp",
        "OVRPerceptron": "harness_prototype.ovr_perceptron",
        "PA": "harness_prototype.pa",
        "Perceptron": "harness_prototype.perceptron",
        "Winnow": "harness_prototype.winnow",
    },
)
