"""Learners that let each feature keep an index of the classes it speaks for: `from harness_index import OOZ`.

A learner's module is imported when its name is first used. This keeps listing fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sdk import lazy_names

if TYPE_CHECKING:
    from harness_index.ema import EMA
    from harness_index.ff import FF
    from harness_index.ooz import OOZ

__all__ = ["EMA", "FF", "OOZ"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "EMA": "harness_index.ema",
        "FF": "harness_index.ff",
        "OOZ": "harness_index.ooz",
    },
)
