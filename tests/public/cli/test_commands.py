"""The command group: commands are imported on use, and the list describes them correctly."""

import subprocess
import sys

import click
import pytest

from internals import COMMANDS, RUNNER, cli
from messages import assert_names, naming


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_each_commands_summary(name):
    command = cli.get_command(click.Context(cli), name)
    assert command.get_short_help_str(limit=200).rstrip(".") == COMMANDS[name][1].rstrip(".")


def test_an_unknown_command_is_rejected(harness):
    ended = harness("runn")
    assert ended.returncode == 2
    assert_names(ended.stderr, "runn")


@pytest.mark.parametrize("words", [["--help"], ["list"], ["plugins"], ["completion", "bash"]])
def test_listing_commands_imports_nothing_heavy(harness, heavy_imports, words):
    ended = harness(*words, python=["-X", "importtime"])
    assert ended.returncode == 0, ended.stderr
    assert heavy_imports(ended.stderr) == []


def test_the_flags_of_run_import_only_the_models_that_declare_them(harness, heavy_imports):
    ended = harness("run", "--help", python=["-X", "importtime"])
    assert ended.returncode == 0, ended.stderr
    assert {name.partition(".")[0] for name in heavy_imports(ended.stderr)} == {"pydantic"}


def test_importing_the_package_imports_nothing_heavy():
    heavy = ("numpy", "pydantic", "rich", RUNNER)
    code = f"import sys, harness; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_public_names_are_listed():
    import harness

    assert {"run", "open_results", "Results", "LearnerSpec"} <= set(dir(harness))
    with pytest.raises(AttributeError, match=naming("harness", "walk")):
        _ = harness.walk


def test_a_command_with_scikit_learn_does_not_import_pandas_which_a_plugin_still_can():
    code = """
import sys
from harness.cli import cli
cli.get_command(None, "predict")
assert "sklearn.base" in sys.modules
print("pandas" in sys.modules)
import pandas
print(pandas.DataFrame({"a": [1]}).shape)
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split("\n")[:2] == ["False", "(1, 1)"]
