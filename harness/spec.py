"""Experiments: a TOML file, the command line's flags, or both, read into one validated Experiment.

Errors name the file, the table, the key and what is allowed. Names of learners and data sets are not looked up here.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictInt,
    ValidationError,
    model_validator,
)

from harness.errors import SpecError
from harness.expression import INNER, parse, split_list
from harness.split import check_split

DEFAULT_DATASETS = ("icd10cm",)
DEFAULT_TRIALS = 3
_DURATIONS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_SIZES = {
    "b": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}


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


@dataclass(frozen=True)
class Tuning:
    """How parameters are chosen: on which part of the training rows, by which metric, with what budget."""

    split: str
    metric: str
    search: str
    candidates: int | None
    seconds: float | None


@dataclass(frozen=True)
class DatasetChoice:
    """A data set to run on; representation and split None mean the data set's and the experiment's own."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    representation: str | None = None
    split: str | None = None


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
    try:
        model = _Experiment.model_validate(dict(raw))
    except ValidationError as error:
        raise SpecError("\n".join(_explain(source, problem) for problem in error.errors())) from None
    learners = _with_settings(source, model)
    labels = [learner.label for learner in learners]
    for label in labels:
        if labels.count(label) > 1:
            raise SpecError(f"{source}: two learners are labelled {label!r}: give one another label (label=...)")
    names = [dataset.name for dataset in model.datasets]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"{source}: data set {name!r} stands twice in datasets")
    return Experiment(
        learners=learners,
        datasets=tuple(
            DatasetChoice(
                d.name, d.params | model.settings.get(d.name, {}), d.representation or model.representation, d.split
            )
            for d in model.datasets
        ),
        name=model.name,
        trials=model.trials,
        seed=model.seed,
        threads=model.threads,
        jobs=model.jobs,
        timeout_seconds=model.timeout,
        memory_bytes=model.memory,
        metrics=tuple(model.metrics) if model.metrics is not None else None,
        split=model.split,
        curves=model.curves,
        tune=Tuning(t.split, t.metric, t.search, t.candidates, t.time) if (t := model.tune) else None,
    )


def parse_duration(value: object) -> float:
    """Seconds from a number or from a text such as 90s, 10m, 1.5h."""
    return _with_unit(value, _DURATIONS, "s", "a time such as 90s, 10m or 2h")


def parse_size(value: object) -> int:
    """Bytes from a number or from a text such as 512MB, 4GB, 2GiB."""
    return int(_with_unit(value, _SIZES, "b", "a size such as 512MB, 4GB or 2GiB"))


def _with_unit(value: object, units: Mapping[str, float], bare: str, expected: str) -> float:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(value))
    unit = match[2].lower() or bare if match else ""
    if match is None or unit not in units or not 0 < float(match[1]) < math.inf:
        raise ValueError(f"{value!r} is not {expected}")
    return float(match[1]) * units[unit]


# -- the file's own shape --------------------------------------------------------------------------------------------


def _reading(read: Callable[[str], object]) -> BeforeValidator:
    """Texts go through `read`, whatever else is left to the type; an error is told of the key it belongs to."""

    def before(value: object) -> object:
        try:
            return read(value) if isinstance(value, str) else value
        except SpecError as error:
            raise ValueError(str(error)) from None

    return BeforeValidator(before)


def _spread(text: str) -> dict[str, Any]:
    """A learner or data set written as an expression becomes the table it is short for."""
    expression = parse(text)
    table: dict[str, Any] = {"name": expression.name, "params": expression.params}
    return table | ({"label": expression.label} if expression.label else {})


_Split = Annotated[str, _reading(check_split)]
_Representation = Literal["raw", "binary", "tf", "tfidf"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Learner(_Table):
    name: str
    label: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$")] | None = None
    params: dict[str, Any] = {}
    datasets: dict[str, dict[str, Any]] = {}


class _Dataset(_Table):
    name: str
    params: dict[str, Any] = {}
    representation: _Representation | None = None
    split: _Split | None = None


class _Range(_Table):
    low: StrictInt | float
    high: StrictInt | float
    log: bool = False

    @model_validator(mode="after")
    def _is_one(self) -> _Range:
        if not self.low < self.high or (self.log and self.low <= 0):
            raise ValueError("expected low < high, and low > 0 where log = true")
        return self


class _Tune(_Table):
    params: Annotated[dict[str, dict[str, Annotated[list[Any], Field(min_length=1)] | _Range]], Field(min_length=1)]
    split: _Split = "holdout:0.1"
    metric: str = "r1"
    search: Literal["grid", "random"] = "grid"
    candidates: Annotated[StrictInt, Field(ge=1)] | None = None
    time: Annotated[float, PlainValidator(parse_duration)] | None = None

    @model_validator(mode="after")
    def _has_a_budget(self) -> _Tune:
        if (self.search == "random") != (self.candidates is not None):
            raise ValueError("search = 'random' needs candidates = NUMBER, and a grid takes none")
        if not self.split.startswith("holdout:"):
            raise ValueError(
                f"split {self.split!r}: the validation part is a share of the training: holdout:SHARE"
            )
        return self


class _Experiment(_Table):
    name: Annotated[str, Field(pattern=r"^[\w.-]+$")] | None = None
    learners: Annotated[list[Annotated[_Learner, _reading(_spread)]], _reading(split_list), Field(min_length=1)]
    datasets: Annotated[list[Annotated[_Dataset, _reading(_spread)]], _reading(split_list), Field(min_length=1)] = [
        _Dataset(name=name)
        for name in DEFAULT_DATASETS  # pydantic copies it
    ]
    trials: Annotated[StrictInt, Field(ge=1)] = DEFAULT_TRIALS
    seed: Annotated[StrictInt, Field(ge=0, lt=2**31)] = 0
    threads: Annotated[StrictInt, Field(ge=1)] = 1
    jobs: Annotated[StrictInt, Field(ge=1)] = 1
    timeout: Annotated[float, PlainValidator(parse_duration)] | None = None
    memory: Annotated[int, PlainValidator(parse_size)] | None = None
    metrics: Annotated[list[str], _reading(split_list), Field(min_length=1)] | None = None
    representation: _Representation | None = None
    split: _Split = "holdout:0.1"
    curves: bool = False
    tune: _Tune | None = None
    settings: dict[str, dict[str, Any]] = Field(default={}, alias="set")


def _with_settings(source: str, model: _Experiment) -> tuple[LearnerChoice, ...]:
    """Lay the `set` table over the learners it names: by label, else by name; `learner@dataset` for one data set."""
    datasets = {d.name for d in model.datasets}
    used: set[str] = set(model.settings) & datasets
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
        tune = _tuned(learner.name, label, labels, model)
        chosen.append(LearnerChoice(learner.name, label, params, by_dataset, tune))
    unused = sorted(set(model.settings) - used)
    if unused:
        known = sorted({c.label for c in chosen} | datasets)
        raise SpecError(f"{source}: set.{unused[0]} matches no learner or data set of this run ({', '.join(known)})")
    lost = sorted(set(model.tune.params) - {name for c in chosen for name in (c.name, c.label)}) if model.tune else []
    if lost:
        labelled = ", ".join(sorted(c.label for c in chosen))
        raise SpecError(f"{source}: tune.params.{lost[0]} matches no learner of this run ({labelled})")
    return tuple(chosen)


def _tuned(name: str, label: str, labels: list[str], model: _Experiment) -> dict[str, Any]:
    """What is to be tuned of a learner: by label, else by name."""
    given = model.tune.params if model.tune else {}
    ranges = given.get(label) or ({} if name in labels else given.get(name, {}))
    return {key: value if isinstance(value, list) else value.model_dump() for key, value in ranges.items()}


def _label(name: str, params: Mapping[str, Any]) -> str:
    """A learner's name in tables, without its module; round another learner, with that one's."""
    inner, bare = params.get(INNER), name.rpartition(":")[2]
    return f"{bare}({_label(parse(inner).name, parse(inner).params)})" if isinstance(inner, str) else bare


def _explain(source: str, problem: Any) -> str:
    where = ""
    for part in problem["loc"]:
        where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else str(part)
    if problem["type"] == "extra_forbidden":
        tables: dict[str, type[_Table]] = {"learners": _Learner, "datasets": _Dataset, "tune": _Tune}
        table = tables.get(str(problem["loc"][0]), _Experiment) if len(problem["loc"]) > 1 else _Experiment
        allowed = [model_field.alias or name for name, model_field in table.model_fields.items()]
        near = get_close_matches(str(problem["loc"][-1]), allowed, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return f"{source}: unknown key {where}: {hint}allowed here: {', '.join(allowed)}"
    message = problem["msg"].removeprefix("Value error, ")
    given = "" if problem["type"] in ("missing", "value_error") else f" (got {problem['input']!r})"
    return f"{source}: {where}: {message}{given}"
