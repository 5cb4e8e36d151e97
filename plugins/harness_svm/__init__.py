"""Support vector machines: one against the rest, Crammer and Singer's, hierarchical, top-down, label trees.

A learner's module is imported when its name is first asked for, so that listing the plugin stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sdk import lazy_names

if TYPE_CHECKING:
    from harness_svm.crammer_singer import CrammerSinger
    from harness_svm.hierarchical import HSVM
    from harness_svm.label_tree import LabelTree
    from harness_svm.ovr import SVM
    from harness_svm.topdown_perceptron import TopDownPerceptron
    from harness_svm.topdown_svm import TopDownSVM

__all__ = ["HSVM", "SVM", "CrammerSinger", "LabelTree", "TopDownPerceptron", "TopDownSVM"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "CrammerSinger": "harness_svm.crammer_singer",
        "HSVM": "harness_svm.hierarchical",
        "LabelTree": "harness_svm.label_tree",
        "SVM": "harness_svm.ovr",
        "TopDownPerceptron": "harness_svm.topdown_perceptron",
        "TopDownSVM": "harness_svm.topdown_svm",
    },
)
