"""A plain grid of words for what is no comparison table: matrices, average ranks, published numbers, two folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Grid:
    """Rows of text under headings, and the same rows as plain values for programs."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: tuple[dict[str, Any], ...]
    """One for each row, all with the same keys: numbers in full, None where there is none."""
    foot: tuple[str, ...] = ()
