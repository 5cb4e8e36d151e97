"""`harness check NAME`: the public conformance suite on a learner, a data set or a metric, each check on its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from harness.cli.options import OneName, entries_of, plugin_options
from harness.errors import UnknownName
from harness.experiment.dataset_ref import choice_of, is_file
from harness.host import Catalog, discover

WORDS = {"failed": "FAIL", "skipped": "n/a"}


@click.command()
@click.argument("name", type=OneName("learners", "datasets", "metrics"))
@click.option("--timeout", default="60s", show_default=True, help="For each check.")
@plugin_options
def check(name: str, timeout: str, folders: tuple[Path, ...], disabled: tuple[str, ...], debug: bool) -> int:
    """Run the conformance suite on a learner (also module:Class), a data set (also a file) or a metric."""
    from harness.executors.local import Job, LocalExecutor
    from harness.experiment.schema import parse_duration

    try:
        seconds = parse_duration(timeout)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--timeout") from None
    kind, entry, make = find(name, discover(folders, disabled))
    content = {key: list(v) if isinstance(v, frozenset) else v for key, v in asdict(entry.spec).items()}
    click.echo(f"{kind} {name} ({entry.origin})")
    jobs = [
        Job("harness.checks:run_job", {"kind": kind, "spec": content, "check": check.name}, seconds)
        for check in make(entry.spec)
    ]
    counts: Counter[str] = Counter()
    preload = ["harness.checks", *getattr(entry.spec, "preload", ())]
    with LocalExecutor(preload=preload, path=[str(folder.resolve()) for folder in folders]) as executor:
        for job, end in executor.run(jobs):
            answer = end.answer if end.status == "ok" else {"failed": f"{end.status}: {end.message}"}
            word, why = next(((WORDS[key], f": {reason}") for key, reason in answer.items()), ("ok", ""))
            counts[word] += 1
            click.echo(f"  {word:<5} {job.payload['check'].replace('_', ' ')}{why}")
    click.echo(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["FAIL"] else 0


def find(name: str, catalog: Catalog) -> tuple[str, Any, Callable[[Any], list[Any]]]:
    """The thing of that name, what it is, and the checks for its kind."""
    from harness.checks import dataset_checks, learner_checks, metric_checks
    from harness.experiment.resolve import find_learner

    if is_file(name):
        return "data set", _opened(name, catalog), dataset_checks
    kinds: list[tuple[str, Callable[[str], Any], Callable[[Any], list[Any]]]] = [
        ("data set", catalog.dataset, dataset_checks),
        ("metric", catalog.metric, metric_checks),
    ]
    for kind, look_up, make in kinds:
        try:
            return kind, look_up(name), make
        except UnknownName:
            continue
    try:
        return "learner", find_learner(name, catalog), learner_checks
    except UnknownName as error:
        raise error if ":" in name else UnknownName(_unknown(name, catalog)) from None


def _unknown(name: str, catalog: Catalog) -> str:
    """What is said of a name that nothing has: the nearest ones of every kind, and what may be checked."""
    kinds = {"learners": "learner", "datasets": "data set", "metrics": "metric"}
    known = {entry.spec.name: word for kind, word in kinds.items() for entry in entries_of(catalog, kind)}
    near = [f"{found} (a {known[found]})" for found in get_close_matches(name, known, n=3)]
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return (
        f"there is no learner, data set or metric {name!r}; {hint}`harness check` takes one that `harness list "
        "learners`, `datasets` or `metrics` shows, a classifier as module:Class, or a file of data such as ./titles.csv"
    )


def _opened(name: str, catalog: Catalog) -> Any:
    """The data set that opens a file, as one whose parameters are those given."""
    from harness.experiment.resolve import resolve_dataset

    found = resolve_dataset(choice_of(name), catalog)
    return replace(found.entry, spec=replace(found.entry.spec, parameters=dict(found.choice.params)))
