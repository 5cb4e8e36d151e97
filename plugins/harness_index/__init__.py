"""Learners that let each feature keep an index of the classes it speaks for: `from harness_index import OOZ`.

A learner's module is imported when its name is first asked for, so that listing the plugin stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness_index.ema import EMA
    from harness_index.ff import FF
    from harness_index.ooz import OOZ

__all__ = ["EMA", "FF", "OOZ"]

_MODULES = {"EMA": "harness_index.ema", "FF": "harness_index.ff", "OOZ": "harness_index.ooz"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
