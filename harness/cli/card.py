"""The command `model`: print the card of a model, or write it as a page."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.output import reader_width
from harness.errors import ModelError
from harness.files.atomic import write_file
from harness.models.card import card_to_html, card_to_text, read_card


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="HTML file to write.")
@click.option("--debug", is_flag=True, help="Print the traceback of an error.")
def model(model: Path, html: Path | None, debug: bool) -> None:
    """Describe a model: learner, data, accuracy, confusions, reliability and use."""
    card = read_card(model)
    if html is None:
        click.echo(card_to_text(card, reader_width()), nl=False)
        return
    if html.is_dir() or not html.parent.is_dir():
        problem = "is a folder" if html.is_dir() else f"there is no folder {html.parent}"
        raise ModelError(problem, culprit=f"--html {html}", next_step="Name a file, such as card.html.")
    replaced = html.exists()
    write_file(html, card_to_html(card))
    click.echo(f"wrote {html}{' (replaced)' if replaced else ''}", err=True)
