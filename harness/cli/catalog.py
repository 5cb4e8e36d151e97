"""Commands about installed plugins: list, plugins and explain. They read source files and import no learner."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import OneName, entries_of, plugin_options
from harness.cli.output import fit_rows, print_warning, reader_width, show_rows
from harness.environments.environment import describe_state, environment_for
from harness.errors import UnknownName
from harness.host.catalog import THINGS, Entry, family_of, find_metric, has_metric, similar_names
from harness.host.introspection import (
    REQUIRED,
    Docstring,
    parameters_of,
    parse_docstring,
    read_docstring,
    read_parameters,
    read_timing,
)
from harness.text import counted

if TYPE_CHECKING:
    from harness.host.catalog import Catalog
    from harness.host.contract import DatasetSpec, LearnerSpec, MetricSpec, RepresentationSpec
    from harness.host.discovery import Session

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
            raise UnknownName(f"unknown name {name!r}; did you mean {' or '.join(near)}?") from None
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
    whole = parse_docstring(read_docstring(family.spec.compute))
    return replace(found, formula=whole.formula, use=found.use or whole.use)


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
