"""The group of commands: each is imported when it is asked for, and what is said of it beforehand is true."""

import subprocess
import sys

import click
import pytest

from harness.cli import COMMANDS, cli


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_command_says_of_itself(name):
    command = cli.get_command(click.Context(cli), name)
    assert command.get_short_help_str(limit=200).rstrip(".") == COMMANDS[name][1].rstrip(".")


def test_an_unknown_command_is_refused(harness):
    ended = harness("runn")
    assert ended.returncode == 2
    assert "No such command 'runn'" in ended.stderr


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["list"], ["plugins"], ["completion", "bash"]])
def test_asking_what_there_is_imports_nothing_heavy(harness, heavy_imports, words):
    ended = harness(*words, python=["-X", "importtime"])
    assert ended.returncode == 0, ended.stderr
    assert heavy_imports(ended.stderr) == []


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, harness; print([m for m in ('numpy', 'pydantic', 'rich', 'harness.api') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_front_door_is_listed():
    import harness

    assert {"run", "open_results", "Results", "LearnerSpec"} <= set(dir(harness))
    with pytest.raises(AttributeError, match="module 'harness' has no attribute 'walk'"):
        _ = harness.walk
