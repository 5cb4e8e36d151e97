"""--format, for commands that print tables: apart from `options`, since it brings every way to write one."""

from __future__ import annotations

import click

from harness.tables.formats import FORMATS

format_option = click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), default="terminal", show_default=True
)
