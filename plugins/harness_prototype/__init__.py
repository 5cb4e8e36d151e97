"""Learners that keep one prototype, a weight vector, per class: `from harness_prototype import PA`.

A learner's module is imported when its name is first asked for, so that listing the plugin stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness_prototype.mmp import MMP
    from harness_prototype.ovr_perceptron import OVRPerceptron
    from harness_prototype.pa import PA
    from harness_prototype.perceptron import Perceptron
    from harness_prototype.winnow import Winnow

__all__ = ["MMP", "PA", "OVRPerceptron", "Perceptron", "Winnow"]

_MODULES = {
    "MMP": "harness_prototype.mmp",
    "OVRPerceptron": "harness_prototype.ovr_perceptron",
    "PA": "harness_prototype.pa",
    "Perceptron": "harness_prototype.perceptron",
    "Winnow": "harness_prototype.winnow",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
