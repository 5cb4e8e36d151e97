"""`harness status`: what a run does now, from another terminal, by what it keeps in its results folder."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

import click
from tabulate import tabulate

from harness import api
from harness.cli.options import FilePath
from harness.wording import counted, printable


@click.command()
@click.argument("results", type=FilePath())
@click.option("--json", "as_json", is_flag=True, help="In JSON, for programs.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def status(results: Path, as_json: bool, debug: bool) -> None:
    """Tell what a run does now, and what is left of it."""
    found = api.read_status(results)
    if as_json:
        click.echo(json.dumps({**asdict(found), "folder": str(found.folder)}, indent=1))
        return
    for line in tell_status(found, time.time()):
        click.echo(line)


def tell_status(found: api.FolderStatus, now: float) -> list[str]:
    """What is known of a results folder, line by line."""
    failed = f", {found.failed} of them failed" if found.failed else ""
    kept = f"{found.folder}: {counted(found.kept, 'record')} kept{failed}"
    run = found.run
    if not found.is_at_work:
        killed = "; the last run was killed: the same command goes on from there" if run else ""
        return [f"{kept}; no run is at work{killed}"]
    if run is None:
        return [f"{kept}; a run is at work, and has not come to its trials"]
    left = "" if run.seconds_left is None else f", about {tell_seconds(run.seconds_left)} left"
    done = f"{run.done} of {counted(run.total, 'trial')} done, {len(run.running)} running"
    lines = [kept, f"this run: {done}; {tell_seconds(now - run.began)} so far{left}"]
    rows = []
    for trial in run.running:
        seconds = tell_seconds(now - trial.began)
        rows.append([printable(trial.worker or "this machine"), printable(trial.what), trial.phase, seconds])
    if rows:
        table = tabulate(sorted(rows), headers=["worker", "trial", "phase", "for"], tablefmt="simple")
        lines += ["", table]
    return lines


def tell_seconds(seconds: float) -> str:
    """A stretch of time as people say it: 42 s, 3 min, 1 h 20 min."""
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes = round(whole / 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
