"""Learners built round any other: committees, sparsified ones, and ones that see rare classes more often.

The classes are loaded when they are asked for; until then this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness_committee.committee import Committee
    from harness_committee.oversample import Oversample
    from harness_committee.sparsify import Sparsify

__all__ = ["Committee", "Oversample", "Sparsify"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{name.lower()}"), name)
