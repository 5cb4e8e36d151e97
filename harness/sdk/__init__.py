"""What built-in and third-party plugins share; the host itself uses only its reading of files.

`OnlineClassifier` and `rules` are for learners, `reading` for data sets, `kernels` for both. Names are loaded when they
are asked for: a data set that reads a file must not wait for compiled kernels.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.sdk import rules
    from harness.sdk.online import OnlineClassifier

__all__ = ["OnlineClassifier", "rules"]


def __getattr__(name: str) -> Any:
    if name == "OnlineClassifier":
        return import_module("harness.sdk.online").OnlineClassifier
    if name == "rules":
        return import_module("harness.sdk.rules")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
