"""`harness completion SHELL`: the script that teaches a shell to complete commands, learners and data sets."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a completion script: eval "$(harness completion bash)"."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "harness", "_HARNESS_COMPLETE").source())
