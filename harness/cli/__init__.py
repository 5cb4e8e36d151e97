"""The command line. A command parses its flags, calls a function of the package and prints the result.

Commands are imported when they are used. This keeps `harness --help` and shell completion fast.
"""

from __future__ import annotations

import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import NoReturn

import click

from harness import __version__
from harness.cli.options import data_home_option
from harness.cli.output import check_output, discard_output, print_error, print_warning, set_up_streams
from harness.errors import HarnessError, join_sentences, next_step_after, reason_of

BAD_INPUT, UNEXPECTED, INTERRUPTED = 2, 3, 130
MOST_LETTERS = 8_000
"""Longest error message that is printed whole."""
GROUPS = {
    "Run": {
        "run": (
            "harness.cli.run:run",
            "Run an experiment: a TOML file, a registered experiment, or the learners and datasets in the flags.",
        ),
        "reproduce": (
            "harness.cli.run:reproduce",
            "Run the experiment of a paper and compare with its published numbers.",
        ),
        "status": ("harness.cli.run:status", "Show the progress of a run."),
        "rescore": ("harness.cli.run:rescore", "Compute metrics from saved ranks and store them in the records."),
    },
    "Look": {
        "table": ("harness.cli.report:table", "Print the comparison table of results folders."),
        "show": ("harness.cli.report:show", "Show the trials of one learner: parameters, tuning, tracebacks, output."),
        "compare": (
            "harness.cli.report:compare",
            "Compare two results folders: before and after a change.",
        ),
        "plot": ("harness.cli.report:plot", "Draw a figure from results folders."),
        "page": ("harness.cli.report:page", "Write an interactive HTML page of results folders."),
    },
    "Use": {
        "suggest": (
            "harness.cli.run:suggest",
            "Suggest three learners for a dataset, with expected accuracy and times.",
        ),
        "fit": ("harness.cli.model:fit", "Train a learner on all rows of a dataset and save the model."),
        "predict": ("harness.cli.model:predict", "Predict classes for a text or for each row of a file."),
        "update": (
            "harness.cli.model:update",
            "Update a model with the labelled rows of a file, new classes included.",
        ),
        "model": (
            "harness.cli.model:model",
            "Describe a model: learner, data, accuracy, confusions, reliability and use.",
        ),
        "serve": ("harness.cli.model:serve", "Serve a model over HTTP."),
    },
    "Data": {
        "data": ("harness.cli.data:data", "Fetch, describe, check and remove datasets."),
    },
    "Plugins": {
        "list": (
            "harness.cli.plugins:list_things",
            "List learners, datasets, metrics, experiments or representations.",
        ),
        "explain": (
            "harness.cli.plugins:explain",
            "Explain a learner, dataset, metric or representation, and its parameters.",
        ),
        "plugins": ("harness.cli.plugins:plugins", "List installed plugins, and the errors of broken ones."),
        "new": ("harness.cli.plugins:new", "Create a package for a new plugin, ready to install."),
        "check": (
            "harness.cli.plugins:check",
            "Run the conformance suite on a learner, dataset, metric or representation.",
        ),
        "env": ("harness.cli.data:env", "List, build and remove the Python environments of learners that need one."),
        "completion": (
            "harness.cli.options:completion",
            'Print a shell completion script; enable it with eval "$(harness completion bash)".',
        ),
    },
}
"""Commands by topic: the function of each command and its line in `harness --help`."""
COMMANDS = {name: place for group in GROUPS.values() for name, place in group.items()}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        with hidden("pandas"):
            command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))  # one column for all groups
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary) for name, (_, summary) in group.items()])


@contextmanager
def hidden(module: str) -> Iterator[None]:
    """Make imports of a module fail in the block, unless it is imported already.

    scikit-learn imports pandas if it finds it, for a function that no command calls. pandas takes a quarter of a second
    and 60 MB.
    """
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]  # Python's way to let an import fail
    try:
        yield
    finally:
        del sys.modules[module]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="harness")
@data_home_option
def cli() -> None:
    """Compare flat and tree methods for many-class classification on equal terms."""


def main() -> NoReturn:
    """Run the command line.

    An error becomes a message and an exit code: 1 for failed trials, 2 for input that the user can correct, 3 for an
    unexpected error, 130 after Ctrl-C. `--debug` adds the traceback.
    """
    check_platform(sys.platform)
    set_up_streams()
    debug = "--debug" in sys.argv
    warnings.showwarning = _show_warning
    try:
        for number in (signal.SIGINT, signal.SIGTERM):  # SIGTERM ends like Ctrl-C
            signal.signal(number, signal.default_int_handler)
        code = cli.main(standalone_mode=False)
        sys.stdout.flush()  # a full disk is an error of the command, not of the interpreter's exit
        check_output(sys.stdout)
        sys.exit(code if isinstance(code, int) else 0)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except click.Abort as error:  # click turns Ctrl-C into this; the cause of an interrupted run names its results
        click.echo(str(error.__cause__ or "") or "interrupted", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        _print_click_error(error)
        sys.exit(error.exit_code)
    except HarnessError as error:
        if debug:
            traceback.print_exc()
        print_error(shortened(str(error)))
        sys.exit(BAD_INPUT)
    except OSError as error:  # a full disk, a read-only folder, a name that is too long
        if debug:
            traceback.print_exc()
        discard_output()
        print_error(describe_os_error(error))
        sys.exit(BAD_INPUT)
    except Exception as error:
        if debug:
            traceback.print_exc()
        message = shortened(f"unexpected {type(error).__name__}: {error}")
        print_error(f"{message}. Use --debug to see the traceback.")
        sys.exit(UNEXPECTED)


def describe_os_error(error: OSError) -> str:
    """Return the message for an error of the operating system, with its file and the next step."""
    place = str(error.filename or "standard output")
    return join_sentences(f"{place}: {reason_of(error)}", next_step_after(error))


def shortened(text: str) -> str:
    """Return a message with its middle removed if it is too long, since a message may quote any input."""
    if len(text) <= MOST_LETTERS:
        return text
    return f"{text[: MOST_LETTERS // 2]} [...] {text[-MOST_LETTERS // 2 :]}"


def check_platform(platform: str) -> None:
    """Exit on Windows, which lacks the POSIX calls that fork trials and lock results folders."""
    if platform in ("win32", "cygwin"):
        sys.exit("error: Windows is not supported. Use Linux, macOS or the Windows Subsystem for Linux (WSL).")


def _print_click_error(error: click.ClickException) -> None:
    """Print an error of click in the form of all other errors."""
    message = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        stop = "" if message.endswith((".", "?", "!")) else "."
        message += f"{stop} See `{context.command_path} --help`."
    print_error(message)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print_warning(str(message))
