"""The command line: each command parses, calls and prints; everything else lives elsewhere."""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import NoReturn

import click

from harness import __version__
from harness.cli.check import check
from harness.cli.compare import compare
from harness.cli.completion import completion
from harness.cli.data import data
from harness.cli.listing import list_things, plugins
from harness.cli.options import data_home_option
from harness.cli.plot import plot
from harness.cli.reproduce import reproduce
from harness.cli.rescore import rescore
from harness.cli.run import run
from harness.cli.table import table
from harness.errors import HarnessError

BAD_INPUT, UNEXPECTED, INTERRUPTED = 2, 3, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="harness")
@data_home_option
def cli() -> None:
    """Honest comparison of flat and tree methods for many-class classification."""


for command in (run, table, rescore, compare, plot, reproduce, list_things, data, plugins, check, completion):
    cli.add_command(command)


def main() -> NoReturn:
    """The command's entry: errors become one line and an exit code, unless --debug asks for the traceback."""
    debug = "--debug" in sys.argv
    warnings.showwarning = _show_warning
    try:
        code = cli.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except HarnessError as error:
        if debug:
            traceback.print_exc()
        click.echo(f"harness: {error}", err=True)
        sys.exit(BAD_INPUT)
    except Exception as error:
        if debug:
            traceback.print_exc()
        click.echo(f"harness: unexpected {type(error).__name__}: {error} (--debug shows where)", err=True)
        sys.exit(UNEXPECTED)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"warning: {message}", err=True)
