"""`harness check NAME`: the public conformance suite on a learner, a data set or a metric, each check on its own."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

import click

from harness import api
from harness.cli.options import OneName, plugin_options, read_duration
from harness.wording import printable

if TYPE_CHECKING:
    from harness.api import CheckResult, Session

WORDS = {"ok": "ok", "failed": "FAIL", "skipped": "n/a"}
FOLLOWS = "hence"
"""What stands before a check that failed by the cause of another one."""
LAST_LINES = 20
"""So many of what a failing check printed are shown; --debug shows all."""


@click.command()
@click.argument("name", type=OneName("learners", "datasets", "metrics", "representations"))
@click.option("--timeout", default="60s", show_default=True, help="For each check.")
@click.option("--within", default="10m", show_default=True, help="For all of them: no check begins later.")
@plugin_options
def check(name: str, timeout: str, within: str, session: Session, debug: bool) -> int:
    """Run the conformance suite on whatever a plugin brings.

    NAME is a learner, a data set, a metric, a representation or an experiment. A learner may also be module:Class, a
    data set a file such as ./titles.csv; parameters are set as in 'pa(C=0.1)'.
    Of what fails by one cause, the first check is FAIL, and the others are named as following from it (hence).
    """
    seconds, all_seconds = read_duration(timeout, "--timeout"), read_duration(within, "--within")
    checked = api.find_checked(name, session.catalog)
    click.echo(f"{checked.kind} {name} ({checked.entry.origin})")
    counts: Counter[str] = Counter()
    for result in api.run_checks(checked, session, seconds, all_seconds, api.choose_progress(True, session)):
        word = FOLLOWS if result.follows else WORDS[result.end.status]
        counts[word] += 1
        click.echo("\n".join(_describe(word, result, whole=debug)))
    click.echo(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["FAIL"] else 0


def _describe(word: str, result: CheckResult, *, whole: bool) -> list[str]:
    """A line; below a failure the author's own line, what it printed, and with `whole` the traceback."""
    line = f"  {word:<5} {_in_words(result.name)}"
    if result.follows:
        return [f"{line}: by the cause of {_in_words(result.follows)!r}"]
    end = result.end
    lines = [f"{line}: {printable(end.reason)}" if end.reason else line]
    if end.status != "failed":
        return lines
    if end.where:
        lines.append(f"          {printable(end.where)}")
    if whole and end.traceback:
        lines.append(_indented(end.traceback))
    if result.output.strip():
        kept = result.output.strip() if whole else "\n".join(result.output.strip().splitlines()[-LAST_LINES:])
        lines += ["          it printed:", _indented(kept)]
    return lines


def _in_words(name: str) -> str:
    return name.replace("_", " ")


def _indented(text: str) -> str:
    return textwrap.indent(printable(text).rstrip(), "          | ")
