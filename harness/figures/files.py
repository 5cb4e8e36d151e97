"""Drawings -> PNG, SVG or PDF, the same file for the same drawing. Imports matplotlib."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

from harness.errors import HarnessError
from harness.figures.file_formats import FILE_FORMATS
from harness.figures.styles import DEFAULT_STYLE, FIGURE_STYLES, FigureStyle

if TYPE_CHECKING:
    from harness.figures.drawing import Drawing

SETTINGS = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "harness",  # the same records give the same file
    "pdf.fonttype": 42,
}


def save_figure(drawing: Drawing, path: Path, style: FigureStyle) -> Path:
    """Draw into a file, whose ending says which kind of file; gives its path."""
    ending = path.suffix.lstrip(".").lower()
    if ending not in FILE_FORMATS:
        raise HarnessError(f"the file's ending must be one of {', '.join(FILE_FORMATS)}", culprit=str(path))
    content = render_figure(drawing, ending, style)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def render_figure(drawing: Drawing, file_format: str, style: FigureStyle = FIGURE_STYLES[DEFAULT_STYLE]) -> bytes:
    """The content of a file of this kind."""
    content = io.BytesIO()
    with mpl.rc_context({**SETTINGS, "font.size": style.font_size}):
        drawing.draw(style).savefig(content, format=file_format, metadata=FILE_FORMATS[file_format])
    return content.getvalue()
