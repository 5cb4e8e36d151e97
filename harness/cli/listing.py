"""`harness list` and `harness plugins`: what there is and where it comes from. Imports no learner code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from harness.catalog import THINGS, Entry
from harness.cli.lists import show_rows
from harness.cli.options import entries_of, plugin_options
from harness.environments.environment import environment_for, tell_state
from harness.signature import read_parameters

if TYPE_CHECKING:
    from harness.api import Session


FOLDED = {"summary": 34, "parameters": 28, "paper": 20, "environment": 16, "licence": 24}
"""Columns that are folded, and how far at most."""
SPARE = ("origin", "paper", "licence", "parameters", "supports", "title", "needs", "environment")
"""Columns that leave where there is no room, in this order."""
EXPLAINED = ("learners", "datasets", "metrics", "representations")
"""What `harness explain` knows of."""
SLOW_SECONDS = 0.5
"""From so long an import on, a plugin is told of by name."""


@click.command("list")
@click.argument("kind", type=click.Choice(THINGS), default="learners")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@plugin_options
def list_things(kind: str, as_json: bool, session: Session, debug: bool) -> None:
    """List learners, datasets, metrics, experiments or representations."""
    entries = sorted(entries_of(session.catalog, kind), key=lambda entry: str(entry.spec.name))
    rows = [_describe(kind, entry) for entry in entries]
    if as_json:
        click.echo(json.dumps(rows, indent=2, default=repr))
    elif not rows:
        click.echo(f"no {kind}; `harness plugins` shows what was found")
    else:
        shown = [{heading: _show(value) for heading, value in row.items()} for row in rows]
        explained = "`harness explain NAME` tells more of one; " if kind in EXPLAINED else ""
        show_rows(shown, FOLDED, SPARE, f"{explained}--json has all.")


def _describe(kind: str, entry: Entry[Any]) -> dict[str, Any]:
    spec = entry.spec
    row: dict[str, Any] = {"name": spec.name}
    if kind == "learners":
        row |= {"kind": spec.kind, "needs": sorted(spec.needs), "supports": sorted(spec.supports)}
    if kind in ("learners", "datasets", "representations"):
        row |= {"parameters": spec.parameters if spec.parameters is not None else read_parameters(spec.load)}
    if kind == "learners":
        row |= {"paper": dict(spec.paper_params), "environment": tell_state(environment_for(spec.environment))}
    if kind == "datasets":
        row |= {"representation": spec.representation, "licence": spec.licence}
    if kind == "metrics":
        row |= {"title": spec.title or spec.name, "unit": spec.unit, "better": spec.direction, "shown": spec.shown}
    if kind == "representations":
        row |= {"takes": spec.takes, "gives": spec.gives}
    return row | {"summary": spec.summary, "origin": str(entry.origin)}


def _show(value: Any) -> str:
    if value is None:
        return "(told when it is loaded)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}={default!r}" for name, default in value.items())
    if isinstance(value, list):
        return ", ".join(value)
    return str(value)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@plugin_options
def plugins(as_json: bool, session: Session, debug: bool) -> None:
    """List the plugins found, and why a broken one is broken."""
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
    show_rows(shown, {"distribution": 12, "reason": 24}, ("seconds", "version"), "--json has all.")
    for report in session.catalog.plugins:
        if report.seconds > SLOW_SECONDS:
            click.echo(
                f"\nplugin {report.origin.plugin!r} of {report.origin} takes {report.seconds:.1f} s to import, which "
                "every command waits for: keep the learners in modules of their own, which only trials import",
                err=True,
            )
