"""Support vector machines, in three parts. Each learner has its own module.

- Flat, one machine for each class: `SVM` (`ovr`). Solver and parameters are in `flat`.
- Structured, one problem for all classes: `CrammerSinger` (`crammer_singer`) and `HSVM` (`hierarchical`). Base class,
  solver and compiled sweeps are in `structured`.
- Top-down, a choice at each node of a class tree: `TopDownSVM` (`topdown_svm`), `TopDownPerceptron`
  (`topdown_perceptron`) and `LabelTree` (`label_tree`). Base class and searches are in `topdown`.
- `linear` is the base of `SVM` and of the structured machines. `hierarchy` makes class trees.

Each part has its compiled code in `kernels`. Modules are imported when a name is first used, so listing learners
stays fast.
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
