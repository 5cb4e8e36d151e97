"""`harness explain`: what a learner, a data set, a metric or a representation is, and how to try it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from harness.cli.lists import fit_rows, reader_width
from harness.cli.options import OneName, plugin_options
from harness.docstring import Docstring, parse_docstring
from harness.environments.environment import environment_for, tell_state
from harness.errors import UnknownName
from harness.signature import REQUIRED, parameters_of, read_docstring

if TYPE_CHECKING:
    from harness.api import Session
    from harness.catalog import Catalog, Entry
    from harness.contract import DatasetSpec, LearnerSpec, MetricSpec, RepresentationSpec

MOST_WIDTH = 100
"""Of prose: longer lines are hard to read."""


@click.command()
@click.argument("name", type=OneName("learners", "datasets", "metrics", "representations"))
@plugin_options
def explain(name: str, session: Session, debug: bool) -> None:
    """Tell what a learner, a data set, a metric or a representation is, and what its parameters change."""
    for line in explanation_of(name, session.catalog):
        click.echo(line if "\n" in line else _wrap(line))


def explanation_of(name: str, catalog: Catalog) -> list[str]:
    """The lines on whatever goes by this name; UnknownName where nothing does."""
    for learner in catalog.learners:
        if learner.spec.name == name:
            return explain_learner(learner)
    for dataset in catalog.datasets:
        if dataset.spec.name == name:
            return explain_dataset(dataset)
    for metric in catalog.metrics:
        if metric.spec.name == name:
            return explain_metric(metric)
    for representation in catalog.representations:
        if representation.spec.name == name:
            return explain_representation(representation)
    try:
        return explain_learner(catalog.learner(name))
    except UnknownName as error:
        raise UnknownName(f"{error}; `harness list datasets` and `harness list metrics` show the others") from None


def explain_learner(entry: Entry[LearnerSpec]) -> list[str]:
    """What a learner does, needs and takes; its paper's values beside the defaults."""
    spec = entry.spec
    told = parse_docstring(read_docstring(spec.load))
    lines = _opening(spec.name, f"learner, {spec.kind}", spec.summary, told)
    if spec.needs:
        lines.append(f"Needs: {', '.join(sorted(spec.needs))}.")
    if spec.supports:
        lines.append(f"Takes several labels a row: {'yes' if 'multilabel' in spec.supports else 'no'}.")
    if "text" in spec.supports:
        lines.append("Takes texts as they are, where there are any.")
    if spec.environment:
        state = tell_state(environment_for(spec.environment))
        lines.append(f"Runs in an environment with {', '.join(spec.environment)} ({state}).")
    if not spec.deterministic:
        lines.append("Two fits with one random_state may differ.")
    for title, text in (("When to use it", told.use), ("Paper", told.references)):
        if text:
            lines += ["", _wrap(f"{title}: {text}")]
    lines += ["", _parameter_table(spec, told), ""]
    if spec.paper_params:
        lines.append("`paper` has the values of its paper; the defaults are chosen on data, see docs/defaults.md.")
    inside = _example_of(spec)
    # What is run on by default has texts and a class tree; the digits, which are quicker, have neither.
    data = "" if spec.needs & {"taxonomy", "text"} else " --datasets digits"
    return [*lines, f"From {entry.origin}.", f"Try it: harness run --learners {inside}{data}"]


def _example_of(spec: LearnerSpec) -> str:
    """The learner as a command names it, with what it cannot do without; quoted, since a shell reads brackets."""
    if spec.wraps:
        return f'"{spec.name}(pa)"'
    needed = [f"{name}=..." for name, default in parameters_of(spec).items() if default is REQUIRED]
    return f'"{spec.name}({", ".join(needed)})"' if needed else spec.name


def explain_dataset(entry: Entry[DatasetSpec]) -> list[str]:
    """What a data set is, where it is from and how it is parsed."""
    spec = entry.spec
    told = parse_docstring(read_docstring(spec.load))
    lines = _opening(spec.name, "data set", spec.summary, told)
    lines += ["", _parameter_table(spec, told), ""]
    for title, text in (("Licence", spec.licence), ("To be cited", spec.citation), ("Made from", spec.obtain)):
        if text:
            lines.append(f"{title}: {text}.")
    return [*lines, f"From {entry.origin}.", f"More: harness data info {spec.name}"]


def explain_metric(entry: Entry[MetricSpec]) -> list[str]:
    """What a metric measures and which direction is better."""
    spec = entry.spec
    lines = _opening(spec.name, "metric", spec.summary, parse_docstring(read_docstring(spec.compute)))
    better = "higher is better" if spec.direction == "higher" else "lower is better"
    lines.append(f"Unit: {spec.unit}; {better}; reads {spec.depth} ranks a row.")
    return [
        *lines,
        f"From {entry.origin}.",
        f"Try it: harness run --learners pa --datasets digits --metrics {spec.name}",
    ]


def explain_representation(entry: Entry[RepresentationSpec]) -> list[str]:
    """What a representation makes of texts or counts."""
    spec = entry.spec
    told = parse_docstring(read_docstring(spec.load))
    lines = _opening(spec.name, "representation", spec.summary, told)
    taken = "texts" if spec.takes == "text" else "counts or vectors; of texts, the counts that their data set makes"
    lines += [f"Takes: {taken}.", "", _parameter_table(spec, told), ""]
    try_it = f"harness run --learners pa --data icd10cm --representation {spec.name}"
    return [*lines, f"From {entry.origin}.", f"Try it: {try_it}"]


def _wrap(text: str) -> str:
    return click.wrap_text(text, min(MOST_WIDTH, reader_width()))


def _opening(name: str, kind: str, summary: str, told: Docstring) -> list[str]:
    lines = [f"{name} ({kind}): {summary}" if summary else f"{name} ({kind})"]
    for paragraph in told.paragraphs:
        lines += ["", _wrap(paragraph)]
    return lines


def _parameter_table(spec: LearnerSpec | DatasetSpec | RepresentationSpec, told: Docstring) -> str:
    paper = getattr(spec, "paper_params", {})
    rows = []
    for name, default in parameters_of(spec).items():
        row = {"parameter": name, "default": repr(default)}
        if paper:
            row["paper"] = repr(paper[name]) if name in paper else ""
        rows.append(row | {"meaning": told.parameters.get(name, "")})
    if not rows:
        return "It has no parameters."
    return fit_rows(rows, {"default": 12, "paper": 12, "meaning": 30}).text
