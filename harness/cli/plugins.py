"""Commands for plugin authors: `harness new` writes a package, `harness check` runs the conformance suite.

A new package is made from the files in `templates`: one folder for each kind and one that all kinds share.
`_module_` in file names and words such as `$name` in their text are replaced.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import zip_longest
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import click

from harness.cli.options import OneName, plugin_options
from harness.cli.output import reader_width
from harness.errors import HarnessError
from harness.host.catalog import Catalog
from harness.host.contract import CONTRACT
from harness.syntax.values import parse_duration
from harness.text import choose, printable

if TYPE_CHECKING:
    from harness.checks.run import CheckResult
    from harness.host.discovery import Session

ENDING = ".template"
COMMON = "common"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class PackageKind:
    """How packages of one kind differ from those of other kinds."""

    words: str
    file: str
    """The file that the author edits first."""
    things: str
    """The field of the catalog that lists this kind."""
    try_it: str
    """A command that uses the plugin."""


KINDS_OF_PACKAGES: Mapping[str, PackageKind] = {
    "learner": PackageKind("learner", "learner.py", "learners", "harness run --learners pa,$name --datasets digits"),
    "dataset": PackageKind("dataset", "loading.py", "datasets", "harness run --learners pa --datasets $name"),
    "metric": PackageKind(
        "metric",
        "computing.py",
        "metrics",
        "harness run --learners pa --datasets digits --metrics $name",
    ),
    "representation": PackageKind(
        "representation",
        "transformer.py",
        "representations",
        "harness run --learners pa --datasets digits --representation $name",
    ),
    "peer": PackageKind("wrapper", "wrapper.py", "learners", "harness run --learners pa,$name --datasets digits"),
    "experiment": PackageKind("experiment", "experiment.toml", "experiments", "harness run $name"),
}


def new_package(kind: str, name: str, folder: Path | None = None, catalog: Catalog | None = None) -> list[Path]:
    """Write the files of a new plugin package.

    Parameters
    ----------
    kind : str
        Learner, dataset, metric, representation, peer (a wrapper of another tool) or experiment.
    name : str
        The name that the plugin registers.
    folder : the folder to create; by default one called `name`.
    catalog : Catalog, optional
        Installed plugins, whose names are taken.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    HarnessError
        If the name is invalid or taken, or if the folder exists.
    """
    chosen = choose(KINDS_OF_PACKAGES, kind, "new")
    _check_name(name, chosen, catalog or Catalog())
    place = folder or Path(name)
    if place.exists():
        raise HarnessError("the folder exists", culprit=str(place), next_step="Choose another one with --out.")
    words = _words_for(name, chosen)
    templates = resources.files("harness.cli") / "templates"
    files = {}
    for source in (COMMON, kind):
        for path, text in _texts_below(templates / source):
            files[place / path.replace("_module_", words["module"])] = Template(text).substitute(words)
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return list(files)


def _words_for(name: str, kind: PackageKind) -> dict[str, str]:
    """Return the replacement of each word of a template."""
    return {
        "name": name,
        "kind": kind.words,
        "file": kind.file,
        "module": name.replace("-", "_"),
        "class_name": "".join(map(str.capitalize, name.split("-"))),
        "distribution": f"harness-{name}",
        "try_it": kind.try_it.replace("$name", name),
        "verify": f"harness check {name}",
        "contract": CONTRACT,
    }


def _texts_below(folder: Traversable, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each template in a folder, subfolders included."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts_below(entry, f"{before}{entry.name}/")
        elif entry.name.endswith(ENDING):
            yield before + entry.name.removesuffix(ENDING), entry.read_text(encoding="utf-8")


def _check_name(name: str, kind: PackageKind, catalog: Catalog) -> None:
    """Raise HarnessError for a name that is malformed, cannot be imported or is taken."""
    if not NAME.fullmatch(name):
        raise HarnessError(
            f"{name!r} is not a name for a {kind.words}",
            next_step="Use lower-case letters, digits and single hyphens, such as my-own.",
        )
    module = name.replace("-", "_")
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or module.split("_")[0] == "harness":
        raise HarnessError(
            f"{name!r} cannot be a package: Python or harness has a module {module!r}", next_step="Choose another name."
        )
    taken = [entry.origin for entry in getattr(catalog, kind.things) if entry.spec.name == name]
    if taken:
        raise HarnessError(
            f"{taken[0]} has a {kind.words} of this name", culprit=name, next_step="Choose another name."
        )


@click.command()
@click.argument("kind", metavar="|".join(KINDS_OF_PACKAGES), type=click.Choice(list(KINDS_OF_PACKAGES)))
@click.argument("name")
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="Folder to create.  [default: ./NAME]")
@plugin_options
def new(kind: str, name: str, out: Path | None, session: Session, debug: bool) -> None:
    """Create a package for a new plugin, ready to install.

    The package holds a small working example with its hook, tests, a README and a CI workflow. A peer wraps another
    tool, in an environment with its own packages. `harness check NAME
    --plugins-dir DIR` passes as generated.
    """
    for path in new_package(kind, name, out, session.catalog):
        click.echo(f"wrote {path}", err=True)
    folder = out or Path(name)
    click.echo(f"Next: `harness check {name} --plugins-dir {folder}`, then read {folder / 'README.md'}.")


WORDS = {"ok": "ok", "failed": "FAIL", "skipped": "n/a"}
FOLLOWS = "hence"
"""Result of a check that failed for the same reason as an earlier one."""
LAST_LINES = 20
"""Lines shown of the output of a failing check; --debug shows all."""
RESULT_WIDTH, CHECK_WIDTH = 7, 28
"""Widths of the first two columns. The last one takes the rest."""


@click.command()
@click.argument("name", type=OneName("learners", "datasets", "metrics", "representations"))
@click.option("--timeout", default="60s", show_default=True, help="Time limit of each check.")
@click.option("--within", default="10m", show_default=True, help="Time limit of all checks: none starts later.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plugin_options
def check(name: str, timeout: str, within: str, as_json: bool, session: Session, debug: bool) -> int:
    """Run the conformance suite on a learner, dataset, metric or representation.

    NAME is a registered name, with parameters as in 'pa(C=0.1)'. A learner may also be module:Class, and a dataset a
    file such as ./titles.csv. The table states what each check is for. If several checks fail for one reason, the
    first is marked FAIL and the others hence.
    """
    # Imported here, since completion imports this module and must not wait for numpy.
    from harness.checks.run import find_checked, run_checks  # noqa: PLC0415
    from harness.runner.progress import choose_progress  # noqa: PLC0415

    seconds, all_seconds = _read_duration(timeout, "--timeout"), _read_duration(within, "--within")
    checked = find_checked(name, session.catalog)
    results = run_checks(checked, session, seconds, all_seconds, choose_progress(True, session))
    if as_json:
        rows = [_as_plain(result) for result in results]
        whole = {"kind": checked.kind, "name": name, "origin": str(checked.entry.origin), "checks": rows}
        click.echo(json.dumps(whole, indent=2))
        return 1 if any(row["result"] == WORDS["failed"] for row in rows) else 0
    click.echo(f"{checked.kind} {name} ({checked.entry.origin})\n")
    click.echo("\n".join(_row("result", "check", "what and why")))
    counts: Counter[str] = Counter()
    for result in results:
        counts[_word(result)] += 1
        click.echo("\n".join(_describe(result, whole=debug)))
    click.echo("\n" + ", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts[WORDS["failed"]] else 0


def _word(result: CheckResult) -> str:
    return FOLLOWS if result.follows else WORDS[result.end.status]


def _as_plain(result: CheckResult) -> dict[str, str]:
    """Return a check as a JSON object."""
    end = result.end
    return {
        "check": result.name,
        "why": result.why,
        "result": _word(result),
        "reason": end.reason,
        "where": end.where,
        "follows": result.follows,
        "output": result.output,
        "traceback": end.traceback,
    }


def _row(word: str, check: str, why: str) -> list[str]:
    """Return the lines of a row of the table."""
    names = textwrap.wrap(check, CHECK_WIDTH - 2)
    reasons = textwrap.wrap(why, reader_width() - RESULT_WIDTH - CHECK_WIDTH, break_on_hyphens=False)
    lines = []
    for number, (left, right) in enumerate(zip_longest(names, reasons, fillvalue="")):
        first = "" if number else word
        lines.append(f"{first:<{RESULT_WIDTH}}{left:<{CHECK_WIDTH}}{right}".rstrip())
    return lines


def _describe(result: CheckResult, *, whole: bool) -> list[str]:
    """Return the lines on a check: for a failure also the author's line, the output, and with `whole` the traceback."""
    lines = _row(_word(result), _in_words(result.name), result.why)
    if result.follows:
        return [*lines, _below(f"same reason as {_in_words(result.follows)!r}")]
    end = result.end
    if end.reason:
        lines.append(_below(printable(end.reason)))
    if end.status != "failed":
        return lines
    if end.where:
        lines.append(_below(printable(end.where)))
    if whole and end.traceback:
        lines.append(_indented(end.traceback))
    if result.output.strip():
        kept = result.output.strip() if whole else "\n".join(result.output.strip().splitlines()[-LAST_LINES:])
        lines += [_below("output:"), _indented(kept)]
    return lines


def _below(text: str) -> str:
    """Return a text below a row, within the width of the terminal."""
    indent = " " * RESULT_WIDTH
    return textwrap.fill(text, reader_width(), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _in_words(name: str) -> str:
    return name.replace("_", " ")


def _indented(text: str) -> str:
    return textwrap.indent(printable(text).rstrip(), " " * RESULT_WIDTH + "| ")


def _read_duration(text: str, flag: str) -> float:
    """Return the seconds of a time such as 90s or 10m."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=flag) from None
