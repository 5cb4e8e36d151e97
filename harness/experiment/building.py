"""Experiments from TOML files and flags, laid over each other, as one validated Experiment; and quick versions."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.catalog import Catalog, Entry
from harness.contract import DatasetSpec, LearnerSpec
from harness.errors import SpecError
from harness.experiment.explaining import explain
from harness.experiment.learner_ref import learner_refs
from harness.experiment.schema import Experiment, dataset_groups, kept_datasets
from harness.expression import MOST_NESTED, Expression, parse
from harness.wording import counted

RawTable = dict[str, Any]
"""What a file or flags say, before it is validated."""
Entries = tuple[Entry[LearnerSpec], ...] | tuple[Entry[DatasetSpec], ...]


def read_file(path: Path) -> RawTable:
    """The raw content of an experiment file."""
    if os.path.exists(path) and not path.is_file():  # whoever reads a pipe may wait for ever
        raise SpecError(f"{path}: cannot be read: it is no file, but a directory, a pipe or a device")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError(f"{path}: there is no such file (nor an experiment of that name)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError too
        raise SpecError(f"{path}: not valid TOML: {error}") from error


def build(raw: Mapping[str, Any], source: str, catalog: Catalog | None = None) -> Experiment:
    """The experiment that a raw table describes, checked as far as that goes; `source` is what errors call it.

    With a catalog, what wraps another thing is known, and `bag(base=pa)` is read as `bag(pa)`.
    """
    _check_depth(raw, source)
    try:
        experiment = Experiment.model_validate(dict(raw))
    except ValidationError as error:
        raise SpecError("\n".join(explain(source, problem) for problem in error.errors())) from None
    try:
        experiment = _with_wrapped(experiment, catalog or Catalog())
        experiment = _with_trials(experiment)
        groups = dataset_groups(experiment)
        learner_refs(experiment, groups)
        kept_datasets(groups, experiment.leave_out)
    except SpecError as error:
        raise error.within(source) from None
    return experiment


def _check_depth(raw: object, source: str) -> None:
    """SpecError for what is nested more deeply than anybody writes: it could be read, and nothing done with it."""
    level = [raw]
    for _ in range(MOST_NESTED):
        inside: list[object] = []
        for value in level:
            if isinstance(value, Mapping):
                inside += value.values()
            elif isinstance(value, list | tuple):
                inside += value
        level = inside
    if level:
        raise SpecError(f"nested more than {MOST_NESTED} deep", culprit=source, next_step="write it flatter")


def _with_wrapped(experiment: Experiment, catalog: Catalog) -> Experiment:
    """The same experiment, with what is named by the parameter that wraps it moved to where the others have it."""
    learners = []
    for learner in experiment.learners:
        params, wrapped = _unwrapped(learner.name, learner.params, learner.wrapped, catalog.learners)
        learners.append(learner.model_copy(update={"params": params, "wrapped": wrapped}))
    datasets = []
    for dataset in experiment.datasets:
        params, wrapped = _unwrapped(dataset.name or "", dataset.params, dataset.wrapped, catalog.datasets)
        datasets.append(dataset.model_copy(update={"params": params, "wrapped": wrapped}))
    return experiment.model_copy(update={"learners": tuple(learners), "datasets": tuple(datasets)})


def _unwrapped(
    name: str, params: Mapping[str, Any], wrapped: str | None, entries: Entries
) -> tuple[Mapping[str, Any], str | None]:
    """The parameters without the thing that is wrapped, and that thing, in which the same is done."""
    wraps = _wraps(name, entries)
    inside = params.get(wraps) if wraps else None
    if wrapped is None and isinstance(inside, str | Expression):  # a list is a grid, and stays one
        params = {parameter: value for parameter, value in params.items() if parameter != wraps}
        wrapped = str(inside)
    return params, None if wrapped is None else _unwrapped_inside(wrapped, entries)


def _unwrapped_inside(text: str, entries: Entries) -> str:
    try:
        expression = parse(text)
    except SpecError:
        return text  # the name of a file may be no expression; anything else is told when it is looked up
    before = next(iter(expression.positional), None)
    params, wrapped = _unwrapped(expression.name, expression.params, before, entries)
    if wrapped is None or wrapped == before:
        return text
    return str(replace(expression, params=params, positional=(wrapped,)))


def _wraps(name: str, entries: Entries) -> str:
    """The parameter by which a registered thing wraps another; empty where it does not, or is not known."""
    bare = name.rpartition(":")[2]
    return next((entry.spec.wraps for entry in entries if entry.spec.name == bare), "")


def _with_trials(experiment: Experiment) -> Experiment:
    """How many trials: unless told, as many as a k-fold split has folds; they begin at a multiple of their number."""
    folds = experiment.split.folds
    if not folds:
        return experiment
    if experiment.seed % folds:
        raise SpecError(
            f"seed = {experiment.seed} is in the middle of the folds of split '{experiment.split}': "
            f"take a multiple of {folds}, and trial n tests on fold n"
        )
    if "trials" in experiment.model_fields_set:
        return experiment
    return experiment.model_copy(update={"trials": folds})


# -- quick versions --------------------------------------------------------------------------------------------------


def quick_version(raw: Mapping[str, Any], source: str) -> RawTable:
    """The experiment with what its `quick` table says laid over it, table by table."""
    if not raw.get("quick"):
        raise SpecError(f"{source}: there is no quick version: the file has no table [quick]")
    whole = {key: value for key, value in raw.items() if key != "quick"}
    return _laid_over(whole, raw["quick"])


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> RawTable:
    both = {**below, **above}
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            both[key] = _laid_over(below[key], value)
    return both


def tell_left_out(
    whole: Mapping[str, Any], quick: Mapping[str, Any], source: str, catalog: Catalog | None = None
) -> str:
    """What a quick version does without, in words; nothing where it has all data sets and trials."""
    full, small = build(whole, source, catalog), build(quick, source, catalog)
    kept = {ref.label.text for ref in kept_datasets(dataset_groups(small), small.leave_out)}
    told = []
    if small.trials < full.trials:
        told.append(f"{small.trials} of {counted(full.trials, 'trial')} each")
    lost = _lost_datasets(full, kept)
    if lost:
        told.append(f"left out: {'; '.join(lost)}")
    return "; ".join(told)


def _lost_datasets(full: Experiment, kept: set[str]) -> list[str]:
    """What is missing of each group of data sets: all of it, some by name, or how many."""
    groups = dataset_groups(full)
    in_full = {ref.label.text for ref in kept_datasets(groups, full.leave_out)}
    lost = []
    for name, group in groups.items():
        members = [ref.label.text for ref in group if ref.label.text in in_full]
        missing = sorted(set(members) - kept)
        if not missing:
            continue
        if len(missing) == len(members):
            lost.append(name)
        elif len(missing) > 3:
            lost.append(f"{len(missing)} of {len(members)} of {name}")
        else:
            lost.append("; ".join(missing))
    return lost
