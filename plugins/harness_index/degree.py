"""The degree limit of the index learners: how many edges of a feature are scored, and how many are stored."""

from __future__ import annotations

from typing import Literal

from harness.sdk.kernels.rows import MOST_EDGES

Keep = Literal["all", "scored"]
KEPT = ("all", "scored")
"""What an update leaves of a row: all edges, or those alone that are scored."""


def scored_edges(d: int | None) -> int:
    """How many edges of a row are scored."""
    return d or MOST_EDGES


def stored_edges(d: int | None, keep: Keep) -> int:
    """How many edges of a row an update leaves."""
    if keep == "all":
        return MOST_EDGES
    return scored_edges(d)
