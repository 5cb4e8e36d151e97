"""Commands about plugins: list, plugins and explain, which import no learner; and for plugin authors, new and check.

`harness new` makes a package from the files in `templates`: one folder for each kind and one that all kinds share.
`_module_` in file names and words such as `$name` in their text are replaced.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import zip_longest
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import OneName, entries_of, plugin_options
from harness.cli.output import fit_rows, print_warning, reader_width, show_rows
from harness.environments import describe_state, environment_for
from harness.errors import HarnessError, UnknownName
from harness.host.catalog import THINGS, Catalog, Entry, family_of, find_metric, has_metric, similar_names
from harness.host.contract import CONTRACT
from harness.host.introspection import (
    REQUIRED,
    Docstring,
    parameters_of,
    parse_docstring,
    read_docstring,
    read_parameters,
    read_timing,
)
from harness.syntax.values import parse_duration
from harness.text import choose, counted, printable

if TYPE_CHECKING:
    from harness.checks.run import CheckResult
    from harness.host.catalog import Catalog
    from harness.host.contract import DatasetSpec, LearnerSpec, MetricSpec, RepresentationSpec
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
        complete = {"kind": checked.kind, "name": name, "origin": str(checked.entry.origin), "checks": rows}
        click.echo(json.dumps(complete, indent=2))
        return 1 if any(row["result"] == WORDS["failed"] for row in rows) else 0
    click.echo(f"{checked.kind} {name} ({checked.entry.origin})\n")
    click.echo("\n".join(_row("result", "check", "what and why")))
    counts: Counter[str] = Counter()
    for result in results:
        counts[_word(result)] += 1
        click.echo("\n".join(_describe_check(result, complete=debug)))
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


def _describe_check(result: CheckResult, *, complete: bool) -> list[str]:
    """Return the lines on a check; for a failure also the author's line and the output, or all of it if `complete`."""
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
    if complete and end.traceback:
        lines.append(_indented(end.traceback))
    if result.output.strip():
        kept = result.output.strip() if complete else "\n".join(result.output.strip().splitlines()[-LAST_LINES:])
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


PARAMETERS = "parameters"
FOLDED = {"summary": 32, "parameters": 28, "tune": 24, "paper": 20, "environment": 16, "licence": 24}
"""Columns that may be folded, with their least widths."""
SPARE = ("origin", "paper", "tune", "licence", "parameters", "supports", "title", "needs", "environment")
"""Columns that may be hidden, in this order."""
EXPLAINED = ("learners", "datasets", "metrics", "representations")
"""Kinds that `harness explain` describes."""
SLOW_SECONDS = 0.5
"""A plugin whose import takes longer gets a warning."""


@click.command("list")
@click.argument("kind", type=click.Choice(THINGS), default="learners")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plugin_options
def list_things(kind: str, as_json: bool, session: Session, debug: bool) -> None:
    """List learners, datasets, metrics, experiments or representations."""
    entries = sorted(entries_of(session.catalog, kind), key=lambda entry: str(entry.spec.name))
    if as_json:
        rows = [_describe(kind, entry) for entry in entries]
        click.echo(json.dumps(rows, indent=2, default=repr))
    elif not entries:
        click.echo(f"No {kind}. `harness plugins` lists the plugins and their errors.")
    else:
        explained = ", or `harness explain NAME` for one" if kind in EXPLAINED else ""
        show_rows(_rows_to_show(kind, entries), FOLDED, SPARE, f"Use --json for all{explained}.")


def _rows_to_show(kind: str, entries: Sequence[Entry[Any]]) -> list[dict[str, str]]:
    """Return the rows as text. Parameters are read from source files only where the terminal has room for them."""
    rows = [_as_text(_describe(kind, entry, with_parameters=False)) for entry in entries]
    hidden = fit_rows(rows, FOLDED, SPARE).left_out
    if set(hidden) & set(SPARE[SPARE.index(PARAMETERS) :]):  # columns that are hidden later have no room either
        return rows
    return [_as_text(_describe(kind, entry)) for entry in entries]


def _as_text(row: Mapping[str, Any]) -> dict[str, str]:
    return {heading: _show(value) for heading, value in row.items()}


def _describe(kind: str, entry: Entry[Any], *, with_parameters: bool = True) -> dict[str, Any]:
    spec = entry.spec
    row: dict[str, Any] = {"name": spec.name}
    if kind == "learners":
        row |= {"kind": spec.kind, "needs": sorted(spec.needs), "supports": sorted(spec.supports)}
    if kind in ("learners", "datasets", "representations"):
        row |= {PARAMETERS: _parameters_of(spec) if with_parameters else {}}
    if kind == "learners":
        row |= {
            "tune": dict(spec.tune),
            "paper": dict(spec.paper_params),
            "environment": describe_state(environment_for(spec.environment)),
        }
    if kind == "datasets":
        row |= {"representation": spec.representation, "licence": spec.licence}
    if kind == "metrics":
        row |= {"title": spec.title or spec.name, "unit": spec.unit, "better": spec.direction, "shown": spec.shown}
    if kind == "representations":
        row |= {"takes": spec.takes, "gives": spec.gives}
    return row | {"summary": spec.summary, "origin": str(entry.origin)}


def _parameters_of(spec: Any) -> Mapping[str, Any] | None:
    return spec.parameters if spec.parameters is not None else read_parameters(spec.load)


def _show(value: Any) -> str:
    if value is None:
        return "(known when loaded)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}={default!r}" for name, default in value.items())
    if isinstance(value, list):
        return ", ".join(value)
    return str(value)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plugin_options
def plugins(as_json: bool, session: Session, debug: bool) -> None:
    """List installed plugins, and the errors of broken ones."""
    rows = []
    for report in session.catalog.plugins:
        row = {
            "name": report.origin.plugin,
            "distribution": report.origin.distribution,
            "version": report.origin.version,
            "status": report.status,
            "seconds": round(report.seconds, 3),
            "reason": report.reason,
        }
        rows.append(row)
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    shown = [{**row, "seconds": f"{row['seconds']:.2f}"} for row in rows]
    show_rows(shown, {"distribution": 12, "reason": 24}, ("seconds", "version"), "Use --json for all.")
    for report in session.catalog.plugins:
        if report.seconds > SLOW_SECONDS:
            print_warning(
                f"plugin {report.origin.plugin!r} of {report.origin} delays every command by {report.seconds:.1f} s. "
                "Move its learners to modules that the plugin does not import."
            )


MOST_WIDTH = 100
"""Longest line of prose."""


@click.command()
@click.argument("name", type=OneName("learners", "datasets", "metrics", "representations"))
@plugin_options
def explain(name: str, session: Session, debug: bool) -> None:
    """Explain a learner, dataset, metric or representation, and its parameters."""
    for line in explanation_of(name, session.catalog):
        click.echo(line if "\n" in line else _wrap(line))


def explanation_of(name: str, catalog: Catalog) -> list[str]:
    """Return the lines on the learner, dataset, representation and metric of this name.

    Parameters
    ----------
    name : str
        A registered name.
    catalog : Catalog
        The registered plugins.

    Raises
    ------
    UnknownName
        If there is none; lists similar learners.
    """
    found = []
    if _has(catalog.learners, name):
        found.append(explain_learner(catalog.learner(name)))
    if _has(catalog.datasets, name):
        found.append(explain_dataset(catalog.dataset(name)))
    if _has(catalog.representations, name):
        found.append(explain_representation(catalog.representation(name)))
    if has_metric(name, catalog):
        found.append(explain_metric(name, catalog))
    if found:
        return [line for lines in found for line in ["", *lines]][1:]
    try:
        return explain_learner(catalog.learner(name))
    except UnknownName as error:
        others: list[Entry[Any]] = [*catalog.datasets, *catalog.metrics, *catalog.representations]
        near = [] if similar_names(name, catalog.learners) else similar_names(name, others)
        if near:
            raise UnknownName(f"unknown name {name!r}. Did you mean {' or '.join(near)}?") from None
        raise error.adding("`harness list datasets`, `metrics` and `representations` list other names.") from None


def _has(entries: Sequence[Entry[Any]], name: str) -> bool:
    return any(entry.spec.name == name for entry in entries)


def explain_learner(entry: Entry[LearnerSpec]) -> list[str]:
    """Return the lines on a learner: purpose, needs, parameters with defaults and the paper's values."""
    spec = entry.spec
    docstring = parse_docstring(read_docstring(spec.load))
    lines = _opening(spec.name, f"learner, {spec.kind}", spec.summary, docstring)
    if spec.needs:
        lines.append(f"Needs: {', '.join(sorted(spec.needs))}.")
    if spec.supports:
        lines.append(f"Several labels a row: {'yes' if 'multilabel' in spec.supports else 'no'}.")
    if "text" in spec.supports:
        lines.append("Reads texts directly, without a representation.")
    if spec.environment:
        state = describe_state(environment_for(spec.environment))
        lines.append(f"Runs in an environment with {', '.join(spec.environment)} ({state}).")
    if not spec.deterministic:
        lines.append("Not deterministic: two fits with the same random_state may differ.")
    for title, text in (("When to use it", docstring.use), ("Paper", docstring.references)):
        if text:
            lines += ["", _wrap(f"{title}: {text}")]
    lines += ["", _parameter_table(spec, docstring), ""]
    if timing := read_timing(spec.load):
        lines.append(timing)
    if spec.tune:
        lines.append(f"Tuning: --tune auto tries {_grid_text(spec.tune)}.")
    if spec.paper_params:
        lines.append("`paper`: values of its paper. docs/explanation/defaults.md explains the defaults.")
    inside = _example_of(spec)
    # The default dataset has texts and a taxonomy; digits is faster and has neither.
    data = "" if spec.needs & {"taxonomy", "text"} else " --datasets digits"
    return [*lines, f"From {entry.origin}.", f"Try it: harness run --learners {inside}{data}"]


def _grid_text(grid: Mapping[str, Sequence[Any]]) -> str:
    """Return a grid in words: C = 0.3, 1 or 3, with each of passes = 5 or 10."""
    parts = []
    for name, values in grid.items():
        *most, last = map(str, values)
        parts.append(f"{name} = {', '.join(most)} or {last}" if most else f"{name} = {last}")
    return ", with each of ".join(parts)


def _example_of(spec: LearnerSpec) -> str:
    """Return the learner with its required parameters, quoted for a shell."""
    if spec.wraps_several:
        return f'"{spec.name}(pa, label-tree)"'
    if spec.wraps:
        return f'"{spec.name}(pa)"'
    needed = [f"{name}=..." for name, default in parameters_of(spec).items() if default is REQUIRED]
    return f'"{spec.name}({", ".join(needed)})"' if needed else spec.name


def explain_dataset(entry: Entry[DatasetSpec]) -> list[str]:
    """Return the lines on a dataset: content, parameters, licence and source."""
    spec = entry.spec
    docstring = parse_docstring(read_docstring(spec.load))
    lines = _opening(spec.name, "dataset", spec.summary, docstring)
    lines += ["", _parameter_table(spec, docstring), ""]
    for title, text in (("Licence", spec.licence), ("Citation", spec.citation), ("Source", spec.obtain)):
        if text:
            lines.append(f"{title}: {text}.")
    return [*lines, f"From {entry.origin}.", f"More: harness data info {spec.name}"]


def explain_metric(name: str, catalog: Catalog) -> list[str]:
    """Return the lines on a metric: formula, use, unit, direction and depth of ranks."""
    entry = find_metric(name, catalog)
    spec = entry.spec
    docstring = metric_docstring(spec, catalog.metrics)
    lines = _opening(spec.name, "metric", spec.summary, docstring)
    for title, text in (("Formula", docstring.formula), ("When to use it", docstring.use)):
        if text:
            lines += ["", _wrap(f"{title}: {text}")]
    lines.append("")
    better = "higher is better" if spec.direction == "higher" else "lower is better"
    lines.append(f"Unit: {spec.unit}; {better}; uses {counted(spec.depth, 'rank')} of each row.")
    return [
        *lines,
        f"From {entry.origin}.",
        f"Try it: harness run --learners pa --datasets digits --metrics {spec.name}",
    ]


def metric_docstring(spec: MetricSpec, metrics: Sequence[Entry[MetricSpec]]) -> Docstring:
    """Return the docstring of a metric; a member such as r5 has the formula and use of its family, here rk."""
    found = parse_docstring(read_docstring(spec.compute))
    family = family_of(spec.name, metrics)
    if found.formula or family is None:
        return found
    shared = parse_docstring(read_docstring(family.spec.compute))
    return replace(found, formula=shared.formula, use=found.use or shared.use)


def explain_representation(entry: Entry[RepresentationSpec]) -> list[str]:
    """Return the lines on a representation: input and parameters."""
    spec = entry.spec
    docstring = parse_docstring(read_docstring(spec.load))
    lines = _opening(spec.name, "representation", spec.summary, docstring)
    taken = "texts" if spec.takes == "text" else "counts or vectors; texts are counted by their dataset first"
    lines += [f"Input: {taken}.", "", _parameter_table(spec, docstring), ""]
    try_it = f"harness run --learners pa --data icd10cm --representation {spec.name}"
    return [*lines, f"From {entry.origin}.", f"Try it: {try_it}"]


def _wrap(text: str) -> str:
    return click.wrap_text(text, min(MOST_WIDTH, reader_width()))


def _opening(name: str, kind: str, summary: str, docstring: Docstring) -> list[str]:
    lines = [f"{name} ({kind}): {summary}" if summary else f"{name} ({kind})"]
    for paragraph in docstring.paragraphs:
        lines += ["", _wrap(paragraph)]
    return lines


def _parameter_table(spec: LearnerSpec | DatasetSpec | RepresentationSpec, docstring: Docstring) -> str:
    paper = getattr(spec, "paper_params", {})
    rows = []
    for name, default in parameters_of(spec).items():
        row = {"parameter": name, "default": repr(default)}
        if paper:
            row["paper"] = repr(paper[name]) if name in paper else ""
        rows.append(row | {"meaning": docstring.parameters.get(name, "")})
    if not rows:
        return "No parameters."
    return fit_rows(rows, {"default": 12, "paper": 12, "meaning": 30}).text
