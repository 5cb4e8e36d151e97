"""A learner that decides among few: one proposes candidates for each row, support vector machines choose among them.

Its module is imported when its name is first used. This keeps listing fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sdk import lazy_names

if TYPE_CHECKING:
    from harness_shortlist.shortlist import Shortlist

__all__ = ["Shortlist"]

__getattr__, __dir__ = lazy_names(__name__, {"Shortlist": "harness_shortlist.shortlist"})
