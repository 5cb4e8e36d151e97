"""The command line: each command parses, calls the api and prints. Commands are imported when they are asked for."""

from __future__ import annotations

import signal
import sys
import traceback
import warnings
from importlib import import_module
from typing import NoReturn

import click

from harness import __version__
from harness.cli.options import data_home_option
from harness.cli.streams import set_up_streams
from harness.errors import HarnessError

BAD_INPUT, UNEXPECTED, INTERRUPTED = 2, 3, 130
MOST_LETTERS = 8_000
"""Of an error."""
COMMANDS = {
    "run": ("harness.cli.run:run", "Run an experiment: a TOML file, a registered experiment, or what the flags say."),
    "status": ("harness.cli.status:status", "Tell what a run does now, and what is left of it."),
    "table": ("harness.cli.table:table", "Make the table of one or more results folders."),
    "show": ("harness.cli.show:show", "Show one learner's trials: parameters, tuning, tracebacks, output."),
    "rescore": ("harness.cli.rescore:rescore", "Compute metrics from saved ranks and keep them in the records."),
    "compare": ("harness.cli.compare:compare", "Compare two results folders: the first is before, the second after."),
    "plot": ("harness.cli.plot:plot", "Draw a figure of one or more results folders."),
    "page": ("harness.cli.page:page", "Make a page to look at in a browser, one file, of one or more results folders."),
    "reproduce": (
        "harness.cli.reproduce:reproduce",
        "Run an experiment of a paper and put the published numbers beside ours.",
    ),
    "suggest": ("harness.cli.suggest:suggest", "Propose three learners for some data, and say what they will cost."),
    "fit": ("harness.cli.fit:fit", "Train a learner on all rows of some data and keep it as a model."),
    "predict": ("harness.cli.predict:predict", "Say the class of a text, or of every row of a file, by a model."),
    "list": ("harness.cli.listing:list_things", "List learners, datasets, metrics, experiments or representations."),
    "explain": (
        "harness.cli.explain:explain",
        "Tell what a learner, a data set, a metric or a representation is, and what its parameters change.",
    ),
    "data": ("harness.cli.data:data", "Get data sets, look at them, check them and clear them away."),
    "env": ("harness.cli.env:env", "List, build and remove the environments of learners with packages of their own."),
    "plugins": ("harness.cli.listing:plugins", "List the plugins found, and why a broken one is broken."),
    "new": (
        "harness.cli.new:new",
        "Write a new package for whatever a plugin brings, ready to install.",
    ),
    "check": (
        "harness.cli.check:check",
        "Run the conformance suite on whatever a plugin brings.",
    ),
    "completion": (
        "harness.cli.completion:completion",
        'Print a completion script: eval "$(harness completion bash)".',
    ),
}
"""Each command's place, and what `harness --help` says of it without importing it."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for: listing must not wait for what running needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="harness")
@data_home_option
def cli() -> None:
    """Honest comparison of flat and tree methods for many-class classification."""


def main() -> NoReturn:
    """The command's entry: errors become one line and an exit code, unless --debug asks for the traceback."""
    check_platform(sys.platform)
    set_up_streams()
    debug = "--debug" in sys.argv
    warnings.showwarning = _show_warning
    try:
        for number in (signal.SIGINT, signal.SIGTERM):  # a polite kill ends like Ctrl-C
            signal.signal(number, signal.default_int_handler)
        code = cli.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except click.Abort as error:  # what click makes of Ctrl-C; a run that was interrupted says what is kept
        click.echo(str(error.__cause__ or "") or "interrupted", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except HarnessError as error:
        if debug:
            traceback.print_exc()
        click.echo(f"harness: {shortened(str(error))}", err=True)
        sys.exit(BAD_INPUT)
    except Exception as error:
        if debug:
            traceback.print_exc()
        told = shortened(f"unexpected {type(error).__name__}: {error}")
        click.echo(f"harness: {told} (--debug shows where)", err=True)
        sys.exit(UNEXPECTED)


def shortened(text: str) -> str:
    """An error as anybody would read it: what was given may be of any length, and stands in the message."""
    if len(text) <= MOST_LETTERS:
        return text
    return f"{text[: MOST_LETTERS // 2]} [...] {text[-MOST_LETTERS // 2 :]}"


def check_platform(platform: str) -> None:
    """Say so at once where nothing would work: trials are forked, and results folders locked, as POSIX does it."""
    if platform in ("win32", "cygwin"):
        sys.exit("harness: Windows is not supported: use Linux or macOS, or the Windows Subsystem for Linux (WSL)")


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"warning: {message}", err=True)
