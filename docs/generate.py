"""Write the generated parts of the reference pages from the code: `python docs/generate.py`.

A generated part of a page is between `<!-- generated: NAME -->` and `<!-- end -->`. Quoted files
are copied too. With `--check` nothing is
written, and the exit code is 1 if a page differs from the code.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from harness.cli import GROUPS, cli
from harness.experiment import schema
from harness.experiment.options import declared_options
from harness.host.catalog import HOST_DISTRIBUTION, Entry
from harness.host.contract import DatasetSpec, LearnerSpec, MetricSpec
from harness.host.discovery import discover
from harness.host.introspection import parameters_of, parse_docstring, read_docstring, read_timing
from harness.records import record

DOCS = Path(__file__).resolve().parent
QUOTED_FILE = re.compile(r"^(```\w+ file=(\S+)\n).*?^(```)$", re.DOTALL | re.MULTILINE)
"""A block that quotes a file of the checkout."""
PART = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
SHARED_OPTIONS = {"--data-home", "--debug", "--disable-plugin", "--plugins-dir", "--help"}
"""Options of most commands, described once."""
FILE_TABLES = {
    "Top level": schema.Experiment,
    "[[learners]]": schema.LearnerTable,
    "[[datasets]]": schema.DatasetTable,
    "[tune]": schema.TuneTable,
    "[budget]": schema.BudgetTable,
    "[[figures]]": schema.FigureTable,
}
RECORD_PARTS = {
    "Names": record.TrialNames,
    "Measurements": record.Measured,
    "Conditions": record.Circumstances,
    "Added later": record.Record,
}
FAMILIES = {
    "harness_index": "Index learners",
    "harness_prototype": "Prototype learners",
    "harness_svm": "Support vector machines",
    "harness_tree": "Trees and one-against-all",
    "harness_shortlist": "Shortlist",
    "harness_committee": "Wrappers around other learners",
    "harness_sklearn": "Presets of scikit-learn",
    "harness_peers": "External tools",
}
"""Headings of the learners page, by package; a package without one goes by its name."""
TOOLS = ("harness_sklearn", "harness_peers")
"""Packages that wrap tools of others: one line for each learner, since their manuals have the parameters."""


def main() -> int:
    """Rewrite every page that has a generated part, or compare with `--check`."""
    parser = argparse.ArgumentParser(description="Write the generated parts of the reference pages.")
    parser.add_argument("--check", action="store_true", help="Compare only; exit with 1 if a page is out of date.")
    check = parser.parse_args().check
    stale = [page for page in sorted(DOCS.rglob("*.md")) if not is_current(page, write=not check)]
    for page in stale:
        print(page.relative_to(DOCS.parent), "is out of date" if check else "written")
    if check and stale:
        print("Run `python docs/generate.py`.")
    return int(check and bool(stale))


def is_current(page: Path, *, write: bool) -> bool:
    """Return whether the generated parts of a page equal the code; optionally rewrite them."""
    before = page.read_text(encoding="utf-8")
    after = PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]().strip()}\n\n{part[3]}", before)
    after = QUOTED_FILE.sub(lambda block: f"{block[1]}{(DOCS.parent / block[2]).read_text()}{block[3]}", after)
    if write and after != before:
        page.write_text(after, encoding="utf-8")
    return after == before


# Commands


def commands() -> str:
    """Return every command with its options, by topic, as `harness --help` sorts them."""
    lines: list[str] = []
    described: dict[tuple[str, str], str] = {}
    for topic, members in GROUPS.items():
        lines += [f"## {topic}", ""]
        for name in members:
            command = cli.get_command(click.Context(cli), name)
            assert command is not None
            lines += command_lines(f"harness {name}", command, described)
    return "\n".join([*lines, "## Shared options", "", *shared_options()])


def command_lines(path: str, command: click.Command, described: dict[tuple[str, str], str]) -> Iterator[str]:
    """Yield the Markdown of a command and of its sub-commands.

    `described` has the command that first describes an option. Other commands refer to it.
    """
    context = click.Context(command, info_name=path)
    usage = " ".join([path, *(piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]")])
    yield from (f"### {path}", "", f"`{usage}`", "", inspect.cleandoc(command.help or ""), "")
    own = [one for one in command.params if isinstance(one, click.Option) and not SHARED_OPTIONS & {*one.opts}]
    by_command: dict[str, list[str]] = {}
    for option in own:
        shown = option.get_help_record(context)
        first = described.setdefault(shown, path) if shown else path
        if first == path:
            yield from option_lines(option, context)
        else:
            by_command.setdefault(first, []).append(f"`{option.opts[0]}`")
    for first, flags in by_command.items():
        yield f"- {', '.join(flags)}: as for `{first}`."
    if own:
        yield ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            assert member is not None
            yield from command_lines(f"{path} {name}", member, described)


def option_lines(option: click.Option, context: click.Context) -> Iterator[str]:
    shown = option.get_help_record(context)
    if shown is not None:
        flag, text = shown
        yield f"- `{flag}`: {plain(' '.join(text.split()))}"


def shared_options() -> Iterator[str]:
    """Yield the options that most commands have, from `harness run`."""
    run = cli.get_command(click.Context(cli), "run")
    assert run is not None
    for option in run.params:
        if isinstance(option, click.Option) and SHARED_OPTIONS & {*option.opts}:
            yield from option_lines(option, click.Context(run))


def plain(text: str) -> str:
    """Escape what Markdown would take for markup."""
    return re.sub(r"([*_|<>])", r"\\\1", text)


# Experiment files


def experiment_keys() -> str:
    """Return the keys of an experiment file, table by table."""
    options = declared_options(schema.Experiment)
    lines: list[str] = []
    for title, model in FILE_TABLES.items():
        notes = attribute_docs(model)
        flags = [name for name in model.model_fields if model is schema.Experiment and name in options]
        lines += ["", f"## {title if title == 'Top level' else f'`{title}`'}", ""]
        for name, field in model.model_fields.items():
            if name not in flags:
                default = shown_default(field)
                text = plain(sentence(notes.get(name, "")))
                lines.append(f"- `{name}`{f' (default `{default}`)' if default else ''}: {text}")
            elif name == flags[0]:
                names = ", ".join(f"`{flag}`" for flag in flags)
                lines.append(f"- {names}: see the flags of [`harness run`](commands.md#harness-run).")
    return "\n".join(lines)


def shown_default(field: Any) -> str:
    value = None if field.is_required() else field.get_default()
    return "" if value in (None, (), {}, "") else str(value)


def attribute_docs(kind: type) -> dict[str, str]:
    """Return the docstrings below the fields of a class, from its source."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text(after):
            found[field.target.id] = " ".join(after.value.value.split())  # type: ignore[attr-defined]
    return found


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def sentence(text: str) -> str:
    """Return a text with a full stop and a capital letter, unless it starts with a name such as fastText."""
    text = text.strip()
    if not text:
        return ""
    first = text.split(maxsplit=1)[0]
    is_name = first != first.lower() or first.startswith("scikit-learn")
    return (text if is_name else text[0].upper() + text[1:]) + ("" if text[-1] in ".:" else ".")


# Records


def record_fields() -> str:
    """Return the fields of a record by group, with type and meaning."""
    lines: list[str] = []
    for title, kind in RECORD_PARTS.items():
        notes = attribute_docs(kind)
        lines += ["", f"## {title}", "", sentence((kind.__doc__ or "").splitlines()[0]), ""]
        for name, annotation in inspect.get_annotations(kind).items():
            meaning = plain(sentence(notes.get(name, "")))
            lines.append(f"- `{name}` ({plain(str(annotation))}){f': {meaning}' if meaning else ''}")
    return "\n".join(lines)


# Registered things


def built_in(things: str) -> list[Any]:
    """Return the specs of one kind that this project registers, sorted by name."""
    entries: list[Entry[Any]] = getattr(discover(), things)
    own = [entry.spec for entry in entries if entry.origin.distribution == HOST_DISTRIBUTION]
    return sorted(own, key=lambda spec: spec.name)


def learners() -> str:
    """Return the built-in learners by package: summary, abilities, when to use them, parameters."""
    by_package: dict[str, list[LearnerSpec]] = {}
    for spec in built_in("learners"):
        by_package.setdefault(spec.load.partition(".")[0], []).append(spec)
    known = [package for package in FAMILIES if package in by_package]
    lines: list[str] = []
    for package in [*known, *sorted(set(by_package) - set(known))]:
        lines += [f"## {FAMILIES.get(package, package)}", ""]
        for spec in by_package[package]:
            lines += [tool_line(spec)] if package in TOOLS else learner_lines(spec)
        lines += ["", *timing_lines(by_package[package])]
    return "\n".join(lines)


def timing_lines(specs: Iterable[LearnerSpec]) -> list[str]:
    """Return what is timed for learners that adapt other tools, once for all that share a module."""
    by_timing: dict[str, list[str]] = {}
    for spec in specs:
        if timing := read_timing(spec.load):
            by_timing.setdefault(timing, []).append(f"`{spec.name}`")
    lines = [f"- {', '.join(names)}: {timing}" for timing, names in by_timing.items()]
    return ["What is timed:", "", *lines, ""] if lines else []


def tool_line(spec: LearnerSpec) -> str:
    return f"- `{spec.name}`: {sentence(spec.summary)} {abilities(spec)}"


def learner_lines(spec: LearnerSpec) -> Iterator[str]:
    parsed = parse_docstring(read_docstring(spec.load))
    yield from (f"### `{spec.name}`", "", f"{sentence(spec.summary)} {abilities(spec)}", "")
    if parsed.references:
        yield from (f"Paper: {plain(sentence(parsed.references))}", "")
    yield from (f"Class: `{spec.load}`. Defaults: {values_of(parameters_of(spec))}.", "")
    if spec.paper_params:
        yield from (f"Values of the paper: {values_of(spec.paper_params)}.", "")


def values_of(params: Mapping[str, Any]) -> str:
    """Return parameters as `name=value`, without the seed."""
    return ", ".join(f"`{name}={value!r}`" for name, value in params.items() if name != "random_state")


def abilities(spec: LearnerSpec) -> str:
    """Return kind, requirements and abilities of a learner in one sentence."""
    words: list[str] = [spec.kind]
    if "multilabel" in spec.supports:
        words.append("takes several labels per row")
    if "taxonomy" in spec.needs:
        words.append("needs a taxonomy")
    if "text" in spec.needs | spec.supports:
        words.append("reads texts")
    if "nonnegative" in spec.needs:
        words.append("needs values of at least 0")
    if spec.environment:
        words.append("installs " + ", ".join(f"`{package}`" for package in spec.environment))
    if not spec.deterministic:
        words.append("not deterministic")
    return sentence("; ".join(words))


def metrics() -> str:
    """Return every metric with its formula: those in tables, those in every record, then those on request."""
    groups: dict[str, list[str]] = {"In tables by default": [], "In every record": [], "On request": []}
    for spec in built_in("metrics"):
        group = "On request" if not spec.always else "In tables by default" if spec.shown else "In every record"
        groups[group].append(metric_line(spec))
    return "\n".join("\n".join([f"## {title}", "", *lines, ""]) for title, lines in groups.items())


def metric_line(spec: MetricSpec) -> str:
    """Return a metric with its own formula, or its summary if the formula is that of its family."""
    symbol, _, formula = parse_docstring(read_docstring(spec.compute)).formula.partition(" = ")
    if symbol.casefold() != spec.name.replace("_", " "):
        formula = f"{symbol} = {formula}"
    text = plain(formula if symbol else sentence(spec.summary)).rstrip(".")
    family = f"`{spec.short}`, " if spec.short else ""
    lower = " (lower is better)" if spec.direction == "lower" and spec.depth else ""
    return f"- {family}`{spec.name}`: {text}{lower}"


def datasets() -> str:
    """Return the table of all datasets that are not formats of user files."""
    rows = ["| name | rows | classes | source | licence | content |", "|---|---:|---:|---|---|---|"]
    rows += [dataset_row(spec) for spec in built_in("datasets") if not spec.opens and not spec.wraps]
    return "\n".join(rows)


def dataset_row(spec: DatasetSpec) -> str:
    counts = [f"{spec.facts[name]:,}" if name in spec.facts else "" for name in ("rows", "classes")]
    cells = [f"`{spec.name}`", *counts, how_to_get(spec), plain(spec.licence), plain(sentence(spec.summary))]
    return f"| {' | '.join(cells)} |"


def how_to_get(spec: DatasetSpec) -> str:
    if not spec.files and not spec.obtain:
        return "built in"
    return "`fetch`" if any(file.urls for file in spec.files) else "`import`"


def representations() -> str:
    """Return the table of all representations."""
    rows = ["| name | input | parameters | meaning |", "|---|---|---|---|"]
    for spec in built_in("representations"):
        values = ", ".join(f"`{name}={value}`" for name, value in parameters_of(spec).items())
        rows.append(f"| `{spec.name}` | {spec.takes} | {values} | {plain(sentence(spec.summary))} |")
    return "\n".join(rows)


# Models


MODELS = DOCS / "assets" / "models.json"
"""What each learner did as a model; `tests/public/python/test_every_learner_as_model.py` measures it."""
EXPLAINED = {"parts": "exact: the parts add up to the score", "left out": "the fall if a word is left out"}


def models() -> str:
    """Return a table of what learners do as models: learners that do the same share a row."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    known = json.loads(MODELS.read_text(encoding="utf-8"))
    for name, facts in known.items():
        where = "in this Python" if facts["here"] else "in its environment"
        kind = where, "yes" if facts["confidence"] else "no", EXPLAINED[facts["explained"]]
        alike.setdefault(kind, []).append(f"`{name}`")
    lines = ["| runs | confidence | explanation | learners |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(kind)} | {', '.join(names)} |" for kind, names in sorted(alike.items(), reverse=True)]
    others = [f"`{spec.name}`" for spec in built_in("learners") if spec.name not in known]
    rest = ["", f"Not measured: {', '.join(others)}."] if others else []
    return "\n".join([*lines, *rest])


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "experiment-keys": experiment_keys,
    "record-fields": record_fields,
    "learners": learners,
    "models": models,
    "metrics": metrics,
    "datasets": datasets,
    "representations": representations,
}

if __name__ == "__main__":
    sys.exit(main())
