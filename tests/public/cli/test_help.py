"""Help texts: every command has one, and its wording is in the snapshot of the command."""

import re

import click
import pytest

from internals import cli
from snapshots import text_for_reviewers


def commands_below(command, words=()):
    """Return the words of a command and of all commands below it."""
    found = [words]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found += commands_below(command.get_command(context, name), (*words, name))
    return found


COMMANDS = commands_below(cli)
WORDS_A_MINUTE = 500
"""Speed of a reader who skims lists of options."""
COMMON_OPTIONS = re.compile(r"  --data-home DIR.*-h, --help +Show this message and exit\.", re.DOTALL)
"""Options that all commands have; only the snapshot of `harness run` shows them."""


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_a_help_text(harness, snapshot, words):
    ended = harness(*words, "--help", env={"COLUMNS": "100"})
    assert ended.returncode == 0
    assert ended.stdout.startswith("Usage: ")
    text = ended.stdout
    if words != ("run",):
        text = COMMON_OPTIONS.sub("  [common options]", text)
    snapshot(words[0] if words else "harness", text, case=f"harness {' '.join((*words, '--help'))}")


def test_a_reviewer_can_read_all_help_texts_and_messages_in_ten_minutes():
    words = text_for_reviewers().split()
    assert len(words) < 10 * WORDS_A_MINUTE
