"""Experiments: a TOML file, the command line's flags, or both, read into one validated Experiment.

Errors name the file, the table, the key and what is allowed. Names of learners and data sets are not looked up here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import SpecError
from harness.experiment.dataset_ref import DatasetChoice, is_file, variants
from harness.experiment.schema import DEFAULT_TRIALS, ExperimentTable, validate
from harness.expression import INNER, parse
from harness.trials.split import folds_of
from harness.wording import counted

# -- what the rest of the house sees ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnerChoice:
    """A learner to run: its parameters, each value a list where several are to be tried, also by data set."""

    name: str
    label: str
    params: Mapping[str, Any] = field(default_factory=dict)
    by_dataset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tune: Mapping[str, Any] = field(default_factory=dict)
    """Parameters to be chosen on a validation part: for each a list of values, or a range to draw from."""
    on: frozenset[str] | None = None
    """The only data sets that it runs on, by what they go by in tables; None stands for all."""


@dataclass(frozen=True)
class FigureChoice:
    """A figure to be drawn of the results: what `harness plot` would be told."""

    kind: str
    name: str
    metric: str | None
    x: str | None


@dataclass(frozen=True)
class Tuning:
    """How parameters are chosen: on which part of the training rows, by which metric, with what budget."""

    split: str
    metric: str
    search: str
    candidates: int | None
    seconds: float | None


@dataclass(frozen=True)
class Experiment:
    """A whole experiment, validated as far as that goes without knowing the plugins."""

    learners: tuple[LearnerChoice, ...]
    datasets: tuple[DatasetChoice, ...]
    name: str | None = None
    trials: int = DEFAULT_TRIALS
    seed: int = 0
    threads: int = 1
    jobs: int = 1
    timeout_seconds: float | None = None
    memory_bytes: int | None = None
    metrics: tuple[str, ...] | None = None
    split: str = "holdout:0.1"
    curves: bool = False
    tune: Tuning | None = None
    figures: tuple[FigureChoice, ...] = ()
    minutes: float | None = None
    """How long it took when it was measured, for an estimate."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Data sets that were published and nobody can run on, with the reason."""


# -- reading ---------------------------------------------------------------------------------------------------------


def read_file(path: Path) -> dict[str, Any]:
    """The raw content of an experiment file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError(f"{path}: there is no such file (nor an experiment of that name)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path}: not valid TOML: {error}") from error


def build(raw: Mapping[str, Any], source: str) -> Experiment:
    """The experiment that a file's content, flags, or both laid over each other describe."""
    model = validate(raw, source)
    groups = _chosen_datasets(source, model)
    learners = _with_settings(source, model, groups)
    labels = [learner.label for learner in learners]
    for label in labels:
        if labels.count(label) > 1:
            raise SpecError(f"{source}: two learners are labelled {label!r}: give one another label (label=...)")
    datasets = _without(source, groups, model.leave_out)
    names = [dataset.name for dataset in datasets]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"{source}: data set {name!r} stands twice in datasets: give one a label, as in other=NAME")
    return Experiment(
        learners=learners,
        datasets=datasets,
        name=model.name,
        trials=_trials(source, model),
        seed=model.seed,
        threads=model.threads,
        jobs=model.jobs,
        timeout_seconds=model.timeout,
        memory_bytes=model.memory,
        metrics=tuple(model.metrics) if model.metrics is not None else None,
        split=model.split,
        curves=model.curves,
        tune=Tuning(t.split, t.metric, t.search, t.candidates, t.time) if (t := model.tune) else None,
        figures=tuple(FigureChoice(f.kind, f.name or f.kind, f.metric, f.x) for f in model.figures),
        minutes=model.minutes,
        absent=model.absent,
    )


def quick_version(raw: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The experiment with what its `quick` table says laid over it, table by table."""
    if not raw.get("quick"):
        raise SpecError(f"{source}: there is no quick version: the file has no table [quick]")
    return _laid_over({key: value for key, value in raw.items() if key != "quick"}, raw["quick"])


def tell_left_out(whole: Mapping[str, Any], quick: Mapping[str, Any], source: str) -> str:
    """What a quick version does without, in words; nothing where it has all data sets and trials."""
    known, kept = (_kept_datasets(raw, source) for raw in (whole, quick))
    lost = []
    for called, names in known.items():
        rest = set(names) - {name for group in kept.values() for name in group}
        if len(rest) == len(names):
            lost.append(called)
        elif rest:
            lost.append(f"{len(rest)} of {len(names)} of {called}" if len(rest) > 3 else "; ".join(sorted(rest)))
    trials = build(quick, source).trials, build(whole, source).trials
    fewer = [f"{trials[0]} of {counted(trials[1], 'trial')} each"] if trials[0] < trials[1] else []
    return "; ".join(fewer + ([f"left out: {'; '.join(lost)}"] if lost else []))


def _kept_datasets(raw: Mapping[str, Any], source: str) -> dict[str, list[str]]:
    """The names of the data sets that are not left out, by what their grid goes by."""
    model = validate(raw, source)
    groups = _chosen_datasets(source, model)
    left = {choice.name for choice in _without(source, groups, model.leave_out)}
    return {called: names for called, group in groups.items() if (names := [c.name for c in group if c.name in left])}


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: _laid_over(below[key], value)
        for key, value in above.items()
        if isinstance(value, dict) and isinstance(below.get(key), dict)
    }
    return {**below, **above, **both}


def _without(
    source: str, groups: Mapping[str, tuple[DatasetChoice, ...]], left_out: list[str]
) -> tuple[DatasetChoice, ...]:
    """All data sets less those left out, by what they go by."""
    known = {*groups, *(choice.name for group in groups.values() for choice in group)}
    for name in left_out:
        if name not in known:
            raise SpecError(f"{source}: leave_out: there is no data set {name!r} here: {', '.join(sorted(known))}")
    left = [c for called, group in groups.items() for c in group if not {called, c.name} & set(left_out)]
    if not left:
        raise SpecError(f"{source}: leave_out leaves no data set")
    return tuple(left)


def _trials(source: str, model: ExperimentTable) -> int:
    """How many trials: unless told, as many as a k-fold split has folds; they begin at a multiple of their number."""
    folds = folds_of(model.split)
    if folds is None:
        return model.trials
    if model.seed % folds:
        raise SpecError(
            f"{source}: seed = {model.seed} is in the middle of the folds of split {model.split!r}: "
            f"take a multiple of {folds}, and trial n tests on fold n"
        )
    return model.trials if "trials" in model.model_fields_set else folds


def _chosen_datasets(source: str, model: ExperimentTable) -> dict[str, tuple[DatasetChoice, ...]]:
    """The data sets by what they go by, a grid with all that it stands for, the `set` table laid over them."""
    groups: dict[str, tuple[DatasetChoice, ...]] = {}
    for d in model.datasets:
        settings = model.settings.get(d.called) or model.settings.get(d.name or "", {})
        params = d.params | ({"path": d.path} if d.path and d.name else {}) | settings
        file = d.path if d.path is None or is_file(d.path) else f"./{d.path}"
        of = None if d.called == d.name else d.name or file
        choice = DatasetChoice(d.called, params, d.representation or model.representation, d.split, of)
        try:
            groups[d.called] = (*groups.get(d.called, ()), *variants(choice))
        except SpecError as error:
            raise SpecError(f"{source}: {error}") from None
    return groups


def _with_settings(
    source: str, model: ExperimentTable, groups: Mapping[str, tuple[DatasetChoice, ...]]
) -> tuple[LearnerChoice, ...]:
    """Lay the `set` table over the learners it names: by label, else by name; `learner@dataset` for one data set."""
    members = {choice.name: [choice.name] for group in groups.values() for choice in group}
    members |= {name: [choice.name for choice in group] for name, group in groups.items()}
    datasets = set(members)
    used: set[str] = set(model.settings) & {*groups, *(d.name for d in model.datasets if d.name)}
    labels = [learner.label or _label(learner.name, learner.params) for learner in model.learners]
    chosen = []
    for learner, label in zip(model.learners, labels, strict=True):
        params, by_dataset = dict(learner.params), {name: dict(p) for name, p in learner.datasets.items()}
        for target, values in model.settings.items():
            who, _, where = (target, "", "") if target in labels else target.partition("@")
            meant = label if who in labels else learner.name
            if who != meant or (where and where not in datasets):
                continue
            used.add(target)
            (by_dataset.setdefault(where, {}) if where else params).update(values)
        unknown = sorted(set(by_dataset) - datasets)
        if unknown:
            raise SpecError(f"{source}: learner {label!r} has parameters for {unknown[0]!r}, which is not in datasets")
        by_dataset = _for_each(by_dataset, members)
        tune = _tuned(learner.name, label, labels, model)
        lost = sorted(set(learner.on or ()) - datasets)
        if lost:
            raise SpecError(f"{source}: learner {label!r} is to run on {lost[0]!r}, which is not in datasets")
        on = frozenset(name for where in learner.on for name in members[where]) if learner.on else None
        chosen.append(LearnerChoice(learner.name, label, params, by_dataset, tune, on))
    unused = sorted(set(model.settings) - used)
    if unused:
        known = sorted({c.label for c in chosen} | datasets)
        raise SpecError(f"{source}: set.{unused[0]} matches no learner or data set of this run ({', '.join(known)})")
    lost = sorted(set(model.tune.params) - {name for c in chosen for name in (c.name, c.label)}) if model.tune else []
    if lost:
        labelled = ", ".join(sorted(c.label for c in chosen))
        raise SpecError(f"{source}: tune.params.{lost[0]} matches no learner of this run ({labelled})")
    return tuple(chosen)


def _for_each(by_dataset: Mapping[str, Any], members: Mapping[str, list[str]]) -> dict[str, dict[str, Any]]:
    """Parameters by data set, where what is said of a grid holds for all of it."""
    spread_out: dict[str, dict[str, Any]] = {}
    for where, values in sorted(by_dataset.items(), key=lambda item: -len(members[item[0]])):
        for name in members[where]:
            spread_out.setdefault(name, {}).update(values)
    return spread_out


def _tuned(name: str, label: str, labels: list[str], model: ExperimentTable) -> dict[str, Any]:
    """What is to be tuned of a learner: by label, else by name."""
    given = model.tune.params if model.tune else {}
    ranges = given.get(label) or ({} if name in labels else given.get(name, {}))
    return dict(ranges)


def _label(name: str, params: Mapping[str, Any]) -> str:
    """A learner's name in tables, without its module; round another learner, with that one's."""
    inner, bare = params.get(INNER), name.rpartition(":")[2]
    return f"{bare}({_label(parse(inner).name, parse(inner).params)})" if isinstance(inner, str) else bare
