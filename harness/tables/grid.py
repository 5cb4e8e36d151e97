"""A plain grid of words for what is no comparison table: matrices, average ranks, published numbers, two folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.tables.formats import find_format
from harness.tables.render_html import grid_fragment

if TYPE_CHECKING:
    import pandas as pd  # at run time only where a frame is asked for


@dataclass(frozen=True)
class Grid:
    """Rows of text under headings, and the same rows as plain values for programs; shows itself in a notebook."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: tuple[Mapping[str, object], ...]
    """All with the same keys: numbers in full, None where there is none."""
    foot: tuple[str, ...] = ()

    def render(self, format: str = "terminal") -> str:  # noqa: A002 - the command line's own word for it
        """The grid as text, in one of `harness.tables.formats.FORMATS`."""
        return find_format(format).render_grid(self)

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        return grid_fragment(self)

    def to_frame(self) -> pd.DataFrame:
        """The plain values as a data frame."""
        from harness.tables.frame import grid_frame  # noqa: PLC0415 (brings pandas, which only frames need)

        return grid_frame(self)
