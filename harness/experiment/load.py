"""Read TOML files, flags and Python arguments into one validated `Experiment`.

The module also makes quick versions of experiments, expands groups of learners (`all`, a kind, or a pattern such as
`topdown-*`), and writes error messages that name file, table and key.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from harness.environments import environment_for
from harness.errors import SpecError, UnknownName, next_step_after, reason_of
from harness.experiment.options import former_names
from harness.experiment.references import learner_refs
from harness.experiment.schema import (
    LINE_PATTERN,
    NAME_PATTERN,
    BudgetTable,
    DatasetTable,
    Experiment,
    FigureTable,
    LearnerTable,
    RunOptions,
    TuneTable,
    dataset_groups,
    kept_datasets,
)
from harness.host.catalog import Catalog, Entry
from harness.host.contract import KINDS, DatasetSpec, LearnerSpec
from harness.host.introspection import REQUIRED, read_parameters
from harness.syntax.expression import MOST_NESTED, Expression, join_wrapped, parse, split_list
from harness.text import counted, in_a_line, nearest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MOST_SHOWN = 300
"""Maximum length of an invalid value in a message."""
_EXPECTED = {
    "missing": "missing: the table must have this key",
    "list_type": "expected a list",
    "tuple_type": "expected a list",
    "dict_type": "expected a table",
    "model_type": "expected a table",
    "model_attributes_type": "expected a table",
    "string_type": "expected a text",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected {ge} or more",
    "less_than_equal": "expected {le:,} or less",
    "greater_than": "expected more than {gt:g}",
    "less_than": "expected less than {lt}",
    "too_short": "expected one or more, found none",
}
"""Messages by the error type of pydantic."""
_PATTERNS = {
    NAME_PATTERN: "expected letters, digits, '.', '_' and '-' only, as it names files",
    LINE_PATTERN: "expected a text of one line, with something in it",
}
_TABLES: Mapping[str, type[BaseModel]] = {
    "budget": BudgetTable,
    "learners": LearnerTable,
    "datasets": DatasetTable,
    "tune": TuneTable,
    "figures": FigureTable,
}


def explain(source: str, problem: ErrorDetails) -> str:
    """Return the message for one validation error of pydantic.

    Parameters
    ----------
    source : str
        The origin of the value, such as the file or "command line". The message starts with it.
    problem : ErrorDetails
        The error as `ValidationError.errors` lists it.
    """
    where = _place(problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{source}: unknown key {where}. {_allowed_keys(problem['loc'])}"
    message = _message(problem)
    if problem["type"] in ("missing", "value_error"):  # their message has the value already
        return f"{source}: {where}: {message}"
    return f"{source}: {where}: {message} (got {in_a_line(repr(problem['input']), MOST_SHOWN)})"


def _place(parts: tuple[int | str, ...]) -> str:
    """Return the path of a key, such as `learners[0].params`."""
    where = ""
    for part in parts:
        if isinstance(part, int):
            where += f"[{part}]"
        else:
            where += f".{part}" if where else part
    return where


def _allowed_keys(parts: tuple[int | str, ...]) -> str:
    table: type[BaseModel] = Experiment
    if len(parts) > 1:
        table = _TABLES.get(str(parts[0]), Experiment)
    allowed = list(table.model_fields)
    renamed = former_names(table)
    if parts[-1] in renamed:
        return f"It is now {renamed[str(parts[-1])]!r}."
    near = nearest(str(parts[-1]), allowed, most=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return f"{hint}Allowed here: {', '.join(allowed)}."


def _message(problem: ErrorDetails) -> str:
    context = problem.get("ctx", {})
    if problem["type"] == "string_pattern_mismatch":
        return _PATTERNS[context["pattern"]]
    if problem["type"] in _EXPECTED:
        return _EXPECTED[problem["type"]].format(**context)
    if problem["type"] == "value_error":  # raised by a validator of this project
        return str(context["error"])
    return problem["msg"]


Model = TypeVar("Model", bound=BaseModel)
RawTable = dict[str, Any]
"""The content of a file or of flags, before validation."""
Entries = tuple[Entry[LearnerSpec], ...] | tuple[Entry[DatasetSpec], ...]


def read_file(path: Path) -> RawTable:
    """Return the content of an experiment file.

    Parameters
    ----------
    path : Path
        A TOML file.

    Raises
    ------
    SpecError
        If the file is missing, unreadable or no valid TOML.
    """
    if os.path.exists(path) and not path.is_file():  # reading a pipe may block forever
        raise SpecError(f"{path}: cannot be read: it is not a file, but a directory, a pipe or a device")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError(f"{path}: there is no such file or registered experiment") from None
    except (OSError, UnicodeDecodeError) as error:
        problem = f"{path}: cannot be read: {reason_of(error)}"
        raise SpecError(problem, next_step=next_step_after(error)) from error
    except (ValueError, RecursionError) as error:  # also for a number with thousands of digits
        raise SpecError(f"{path}: not valid TOML: {error}") from error


def build(raw: Mapping[str, Any], source: str, catalog: Catalog | None = None) -> Experiment:
    """Validate a table and return the experiment that it describes.

    Names of plugins are not looked up here; `harness.experiment.resolve` does that.

    Parameters
    ----------
    raw : mapping
        The content of an experiment file.
    source : str
        The origin of the table in errors.
    catalog : Catalog, optional
        Provides the names of wrapping parameters: `bag(base=pa)` is then read as `bag(pa)`.

    Raises
    ------
    SpecError
        If a value is invalid or a reference is inconsistent. The message has a line for each invalid value.
    """
    _check_depth(raw, source)
    experiment = _validated(Experiment, raw, source)
    try:
        experiment = _with_wrapped(experiment, catalog or Catalog())
        experiment = _with_trials(experiment)
        groups = dataset_groups(experiment)
        learner_refs(experiment, groups)
        kept_datasets(groups, experiment.leave_out)
    except SpecError as error:
        raise error.within(source) from None
    return experiment


def read_options(given: Mapping[str, Any], source: str) -> RunOptions:
    """Validate the options of a run.

    Parameters
    ----------
    given : mapping of str to object
        Options by the name of their field.
    source : str
        Their origin in error messages.

    Raises
    ------
    SpecError
        If an option is unknown or has an invalid value.
    """
    return _validated(RunOptions, given, source)


def _validated(model: type[Model], raw: Mapping[str, Any], source: str) -> Model:
    try:
        return model.model_validate(dict(raw))
    except ValidationError as error:
        raise SpecError("\n".join(explain(source, problem) for problem in error.errors())) from None


def _check_depth(raw: object, source: str) -> None:
    """Raise SpecError for tables and lists nested too deeply: recursive functions would fail on them later."""
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
        raise SpecError(f"nested more than {MOST_NESTED} deep", culprit=source, next_step="Use fewer levels.")


def _with_wrapped(experiment: Experiment, catalog: Catalog) -> Experiment:
    """Return the experiment with wrapped learners and datasets as positional arguments: `bag(base=pa)` to `bag(pa)`."""
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
    """Return the parameters without the wrapping one, and the wrapped expression, converted in the same way."""
    wraps = _wraps(name, entries)
    inside = params.get(wraps) if wraps else None
    if wrapped is None and isinstance(inside, str | Expression):  # a list is a grid and stays a parameter
        params = {parameter: value for parameter, value in params.items() if parameter != wraps}
        wrapped = str(inside)
    return params, None if wrapped is None else _unwrapped_inside(wrapped, entries)


def _unwrapped_inside(text: str, entries: Entries) -> str:
    try:
        several = split_list(text)
        if len(several) > 1:
            return ", ".join(_unwrapped_inside(one, entries) for one in several)
        expression = parse(text)
    except SpecError:
        return text  # a file name need not be an expression; the lookup reports other errors
    before = join_wrapped(expression.positional)
    params, wrapped = _unwrapped(expression.name, expression.params, before, entries)
    if wrapped is None or wrapped == before:
        return text
    return str(replace(expression, params=params, positional=(wrapped,)))


def _wraps(name: str, entries: Entries) -> str:
    """Return the parameter by which a plugin wraps another; empty if it wraps nothing or is unknown."""
    bare = name.rpartition(":")[2]
    return next((entry.spec.wraps for entry in entries if entry.spec.name == bare), "")


def _with_trials(experiment: Experiment) -> Experiment:
    """Set the number of trials to the number of folds, unless it is given.

    Trial n tests on fold n only if the seed is a multiple of the number of folds. Raise SpecError for another seed.
    """
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
    """Return the experiment with the values of its `quick` table replacing its own.

    Raises
    ------
    SpecError
        If there is no such table.
    """
    if not raw.get("quick"):
        raise SpecError(f"{source}: there is no quick version: the file has no table [quick]")
    complete = {key: value for key, value in raw.items() if key != "quick"}
    return _laid_over(complete, raw["quick"])


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> RawTable:
    both = {**below, **above}
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            both[key] = _laid_over(below[key], value)
    return both


def describe_left_out(
    complete: Mapping[str, Any], quick: Mapping[str, Any], source: str, catalog: Catalog | None = None
) -> str:
    """Return a line on the datasets and trials that a quick version omits; empty if it omits none.

    Parameters
    ----------
    complete, quick : mapping
        The tables of the full experiment and of its quick version.
    source : str
        The origin of both in errors.
    catalog : Catalog, optional
        As for `build`.
    """
    full, small = build(complete, source, catalog), build(quick, source, catalog)
    kept = {ref.label.text for ref in kept_datasets(dataset_groups(small), small.leave_out)}
    differences = []
    if small.trials < full.trials:
        differences.append(f"{small.trials} of {counted(full.trials, 'trial')} each")
    lost = _lost_datasets(full, kept)
    if lost:
        differences.append(f"left out: {'; '.join(lost)}")
    return "; ".join(differences)


def _lost_datasets(full: Experiment, kept: set[str]) -> list[str]:
    """Return a text for each group of datasets that is incomplete: its name, the missing datasets, or their number."""
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
            lost.append(f"{len(missing)} of {len(members)} datasets {name}")
        else:
            lost.append("; ".join(missing))
    return lost


ALL = "all"


def expand_groups(learners: Any, catalog: Catalog) -> Any:
    """Return the learners of an experiment with groups replaced by their members.

    A group excludes learners that wrap others, learners that the list also names, and learners whose environment is not
    built. A list without groups is returned unchanged. So is a malformed list, which validation reports later.

    Parameters
    ----------
    learners : object
        The value of the key `learners`, not validated yet.
    catalog : Catalog
        The learners that a group can have as members.
    """
    try:
        written = split_list(learners) if isinstance(learners, str) else learners
    except SpecError:
        return learners
    if not isinstance(written, Sequence):
        return learners
    registered = {entry.spec.name for entry in catalog.learners}
    groups = [item for item in written if isinstance(item, str) and item not in registered and _is_group(item)]
    if not groups:
        return learners
    others = [item for item in written if item not in groups]
    taken = {_label_of_item(item) for item in others}
    expanded: list[Any] = []
    for item in written:
        if item not in groups:
            expanded.append(item)
            continue
        members = [name for name in members_of(item, catalog) if name not in taken]
        taken.update(members)
        expanded += members
    return expanded


def without_absent(raw: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    """Return an experiment with its groups expanded, and without tuning for learners that it then lacks.

    The members of a group depend on the installed plugins, so a file may have tuning for absent learners.
    """
    learners = expand_groups(raw.get("learners"), catalog)
    if learners is raw.get("learners"):
        return dict(raw)
    present = {_label_of_item(item) for item in learners}
    absent = {entry.spec.name for entry in catalog.learners} - present
    tune = dict(raw.get("tune", {}))
    if "params" in tune:
        tune["params"] = {name: ranges for name, ranges in tune["params"].items() if name not in absent}
    return {**raw, "learners": learners, **({"tune": tune} if tune else {})}


def members_of(group: str, catalog: Catalog) -> list[str]:
    """Return the sorted names of the learners in a group, such as "flat"; raise UnknownName if it has none."""
    specs = [entry.spec for entry in catalog.learners if _belongs(entry.spec, group)]
    names = {spec.name for spec in specs if _is_available(spec)}
    if names:
        return sorted(names)
    error = UnknownName(f"no learner is in the group {group!r}. `harness list learners` lists all with their kinds.")
    if specs:
        unbuilt = " ".join(sorted({spec.name for spec in specs}))
        error = error.adding(f"`harness env build {unbuilt}` builds the environments of its learners.")
    raise error


def _is_available(spec: LearnerSpec) -> bool:
    environment = environment_for(spec.environment)
    return environment is None or environment.find() is not None


def _is_group(item: str) -> bool:
    """Return whether an item is a group. With brackets or a label, it is the expression of a learner."""
    return item in (ALL, *KINDS) or ("*" in item and "(" not in item and "=" not in item)


def _belongs(spec: LearnerSpec, group: str) -> bool:
    if (spec.wraps and not spec.wraps_several) or REQUIRED in (
        spec.parameters or read_parameters(spec.load) or {}
    ).values():
        return False  # it needs parameters to run
    return group in (ALL, spec.kind) or fnmatchcase(spec.name, group)


def _label_of_item(item: Any) -> str:
    """Return the label of a learner in a list; empty if the item is malformed."""
    if isinstance(item, dict):
        return str(item.get("label") or item.get("name"))
    try:
        expression = parse(str(item))
    except SpecError:
        return ""
    return expression.label or expression.name


COMMAND_LINE = "command line"
"""The origin of flags in errors."""
NOTHING = "nothing to run. Give --learners (`harness list learners`) or an experiment file."


@dataclass(frozen=True)
class RawExperiment:
    """An experiment as one table that is not validated yet, and its origin in errors."""

    table: RawTable
    source: str


def load_experiment(
    experiment: str | Mapping[str, Any] | None,
    given: Mapping[str, Any],
    catalog: Catalog,
    source: str = COMMAND_LINE,
) -> RawExperiment:
    """Return an experiment file, or a registered experiment, with the given keys applied.

    Parameters
    ----------
    experiment : str, mapping or None
        The path of a file, a registered name, or the content of a file. None if `given` has everything.
    given : mapping
        Keys of an experiment file. They replace those of the file; `set` and `tune` do so parameter by parameter.
        `tune` is "auto", or has parameters by learner and keys such as `representation`.
    catalog : Catalog
        Registered learners, datasets and experiments.
    source : str
        The origin of the given keys in errors.

    Raises
    ------
    SpecError, UnknownName
        If the experiment cannot be found or read, or names no learners.
    """
    raw: RawTable = {}
    origin = source
    if isinstance(experiment, Mapping):
        raw = deepcopy(dict(experiment))  # the caller's mapping stays unchanged
    elif experiment is not None:
        path = experiment_path(experiment, catalog)
        raw = without_absent(read_file(path), catalog)
        origin = f"{path} and {source}" if given else str(path)
    elif not given.get("learners"):
        raise SpecError(NOTHING)
    raw |= {key: value for key, value in given.items() if key not in ("set", "tune")}
    if "learners" in raw:
        raw["learners"] = expand_groups(raw["learners"], catalog)
    for target, values in given.get("set", {}).items():
        _table_at(raw, origin, "set", target).update(values)
    for target, values in _tune_table(given.get("tune", {})).items():
        if isinstance(values, Mapping):
            _table_at(raw, origin, "tune", "params", target).update(values)
        else:
            _table_at(raw, origin, "tune")[target] = values
    return RawExperiment(raw, origin)


def _tune_table(given: Any) -> Mapping[str, Any]:
    """Return the given value of `tune` as a mapping; "auto" becomes {"auto": True}."""
    if given == "auto":
        return {"auto": True}
    if isinstance(given, Mapping):
        return given
    raise SpecError(f"tune = {given!r}: expected 'auto' or a mapping", next_step='Example: {"pa": {"C": [0.1, 1]}}.')


def _table_at(raw: RawTable, source: str, *keys: str) -> RawTable:
    """Return the table at a path of keys, created if missing; raise SpecError if another value is there."""
    table = raw
    for key in keys:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise SpecError(f"{source}: {keys[0]}: expected tables of parameters, one a learner or dataset")
    return table


def experiment_path(name: str, catalog: Catalog) -> Path:
    """Return the path of an experiment file, given as a path or as the name of a registered experiment.

    Parameters
    ----------
    name : str
        A path that ends in .toml, an existing file, or a registered name.
    catalog : Catalog
        The registered experiments.

    Raises
    ------
    UnknownName
        If no experiment has this name.
    SpecError
        If the package with the file cannot be imported.
    """
    path = Path(name)
    if path.suffix == ".toml" or os.path.exists(path):
        return path
    try:
        entry = catalog.experiment(name)
    except UnknownName as error:
        raise UnknownName(f"{error} The name of a file ends in .toml.") from None
    try:
        return resource_path(entry.spec.resource)
    except ImportError as error:
        raise SpecError(f"experiment {name!r} of {entry.origin}: {error}") from error


def resource_path(resource: str) -> Path:
    """Return the path of a file in a package, given as "package:folder/file"."""
    package, _, file = resource.partition(":")
    return Path(str(resources.files(package) / file))


def published_path(name: str, catalog: Catalog) -> Path | None:
    """Return the path of the published numbers of a registered experiment; None if it has none."""
    for entry in catalog.experiments:
        if entry.spec.name == name and entry.spec.published:
            return resource_path(entry.spec.published)
    return None
