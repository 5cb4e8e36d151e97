"""The shape of an experiment file: which keys and values its tables may have; errors name file, table and key."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictInt,
    ValidationError,
    model_validator,
)

from harness.contract import Representation
from harness.errors import SpecError
from harness.experiment.dataset_ref import name_of, spread
from harness.expression import parse, split_list
from harness.figures.kinds import FIGURE_KINDS
from harness.trials.split import check_split

DEFAULT_DATASETS = ("icd10cm",)
DEFAULT_TRIALS = 3
SMALLEST_MEMORY = 16 * 10**6
"""Bytes: less than an interpreter with numpy takes."""
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


def validate(raw: Mapping[str, Any], source: str) -> ExperimentTable:
    """The file's content as tables; SpecError names every key that is wrong."""
    try:
        return ExperimentTable.model_validate(dict(raw))
    except ValidationError as error:
        raise SpecError("\n".join(_explain(source, problem) for problem in error.errors())) from None


def parse_duration(value: object) -> float:
    """Seconds from a number or from a text such as 90s, 10m, 1.5h."""
    return _with_unit(value, _DURATIONS, "s", "a time such as 90s, 10m or 2h")


def parse_size(value: object) -> int:
    """Bytes from a number or from a text such as 512MB, 4GB, 2GiB."""
    return int(_with_unit(value, _SIZES, "b", "a size such as 512MB, 4GB or 2GiB"))


def parse_memory(value: object) -> int:
    """Bytes of a memory limit; one that no trial could start under is a unit forgotten."""
    size = parse_size(value)
    if size < SMALLEST_MEMORY:
        raise ValueError(
            f"{value!r} is a limit of {size:,} bytes, under which no trial can start: expected at least "
            f"{SMALLEST_MEMORY // 10**6}MB, with its unit, such as 512MB or 4GB"
        )
    return size


def _with_unit(value: object, units: Mapping[str, float], bare: str, expected: str) -> float:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(value))
    unit = match[2].lower() or bare if match else ""
    if match is None or unit not in units or not 0 < float(match[1]) < math.inf:
        raise ValueError(f"{value!r} is not {expected}")
    return float(match[1]) * units[unit]


# -- tables ------------------------------------------------------------------------------------------------------------


def _reading(read: Callable[[str], object]) -> BeforeValidator:
    """Texts go through `read`, whatever else is left to the type; an error is told of the key it belongs to."""

    def before(value: object) -> object:
        try:
            return read(value) if isinstance(value, str) else value
        except SpecError as error:
            raise ValueError(str(error)) from None

    return BeforeValidator(before)


def _spread(text: str) -> dict[str, Any]:
    """A learner written as an expression becomes the table it is short for."""
    expression = parse(text)
    table: dict[str, Any] = {"name": expression.name, "params": expression.params}
    return table | ({"label": expression.label} if expression.label else {})


_Split = Annotated[str, _reading(check_split)]
_NAME, _LINE = r"^[\w.-]+$", r"^[^\x00-\x1f\x7f]+$"
_Label = Annotated[str, Field(pattern=_LINE)]


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LearnerTable(Table):
    name: str
    label: _Label | None = None
    params: dict[str, Any] = {}
    datasets: dict[str, dict[str, Any]] = {}
    on: Annotated[list[str], Field(min_length=1)] | None = None


def _known_kind(kind: str) -> str:
    if kind not in FIGURE_KINDS:
        *most, last = map(repr, FIGURE_KINDS)
        raise ValueError(f"expected {', '.join(most)} or {last} (got {kind!r})")
    return kind


class FigureTable(Table):
    kind: Annotated[str, AfterValidator(_known_kind)]
    name: Annotated[str, Field(pattern=_NAME)] | None = None
    metric: str | None = None
    x: str | None = None


class DatasetTable(Table):
    name: str | None = None
    label: _Label | None = None
    path: str | None = None
    params: dict[str, Any] = {}
    representation: Representation | None = None
    split: _Split | None = None

    @model_validator(mode="after")
    def _is_something(self) -> DatasetTable:
        if not self.name and not self.path:
            raise ValueError("expected a name (`harness list datasets`) or the path of a file or folder")
        return self

    @property
    def called(self) -> str:
        return name_of(self.name, self.path, self.params, self.label)


def _tried(value: object) -> object:
    """What tuning tries of a parameter: a list of values, or a range to draw from."""
    if isinstance(value, list) and value:
        return value
    if isinstance(value, dict) and {"low", "high"} <= value.keys() <= {"low", "high", "log"}:
        whole = {"log": False, **value}
        low, high, log = whole["low"], whole["high"], whole["log"]
        numbers = all(isinstance(n, int | float) and not isinstance(n, bool) for n in (low, high))
        if numbers and isinstance(log, bool) and low < high and (low > 0 or not log):
            return whole
    raise ValueError(
        "expected a list of values, or a range { low = NUMBER, high = NUMBER, log = true or false } with low < high, "
        f"and low > 0 where log = true (got {value!r})"
    )


class TuneTable(Table):
    params: Annotated[dict[str, dict[str, Annotated[Any, PlainValidator(_tried)]]], Field(min_length=1)]
    split: _Split = "holdout:0.1"
    metric: str = "r1"
    search: Literal["grid", "random"] = "grid"
    candidates: Annotated[StrictInt, Field(ge=1)] | None = None
    time: Annotated[float, PlainValidator(parse_duration)] | None = None

    @model_validator(mode="after")
    def _has_a_budget(self) -> TuneTable:
        if (self.search == "random") != (self.candidates is not None):
            raise ValueError("search = 'random' needs candidates = NUMBER, and a grid takes none")
        if not self.split.startswith("holdout:"):
            raise ValueError(f"split {self.split!r}: the validation part is a share of the training: holdout:SHARE")
        return self


class ExperimentTable(Table):
    name: Annotated[str, Field(pattern=_NAME)] | None = None
    learners: Annotated[list[Annotated[LearnerTable, _reading(_spread)]], _reading(split_list), Field(min_length=1)]
    datasets: Annotated[list[Annotated[DatasetTable, _reading(spread)]], _reading(split_list), Field(min_length=1)] = [
        DatasetTable(name=name)
        for name in DEFAULT_DATASETS  # pydantic copies it
    ]
    trials: Annotated[StrictInt, Field(ge=1)] = DEFAULT_TRIALS
    seed: Annotated[StrictInt, Field(ge=0, lt=2**31)] = 0
    threads: Annotated[StrictInt, Field(ge=1)] = 1
    jobs: Annotated[StrictInt, Field(ge=1)] = 1
    timeout: Annotated[float, PlainValidator(parse_duration)] | None = None
    memory: Annotated[int, PlainValidator(parse_memory)] | None = None
    metrics: Annotated[list[str], _reading(split_list), Field(min_length=1)] | None = None
    representation: Representation | None = None
    split: _Split = "holdout:0.1"
    curves: bool = False
    tune: TuneTable | None = None
    figures: list[FigureTable] = []
    minutes: Annotated[float, Field(gt=0)] | None = None
    quick: dict[str, Any] = {}
    leave_out: list[str] = []
    absent: dict[str, str] = {}
    settings: dict[str, dict[str, Any]] = Field(default={}, alias="set")


def _explain(source: str, problem: Any) -> str:
    where = ""
    for part in problem["loc"]:
        where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else str(part)
    if problem["type"] == "extra_forbidden":
        tables: dict[str, type[Table]] = {
            "learners": LearnerTable,
            "datasets": DatasetTable,
            "tune": TuneTable,
            "figures": FigureTable,
        }
        table = tables.get(str(problem["loc"][0]), ExperimentTable) if len(problem["loc"]) > 1 else ExperimentTable
        allowed = [model_field.alias or name for name, model_field in table.model_fields.items()]
        near = get_close_matches(str(problem["loc"][-1]), allowed, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return f"{source}: unknown key {where}: {hint}allowed here: {', '.join(allowed)}"
    told = _EXPECTED.get(problem["type"], "").format(**problem.get("ctx", {}))
    if problem["type"] == "string_pattern_mismatch":
        told = _PATTERNS[problem["ctx"]["pattern"]]
    message = told or problem["msg"].removeprefix("Value error, ")
    given = "" if problem["type"] in ("missing", "value_error") else f" (got {problem['input']!r})"
    return f"{source}: {where}: {message}{given}"


_EXPECTED = {
    "missing": "missing: the table must have this key",
    "list_type": "expected a list",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "expected a table"),
    "string_type": "expected a text",
    **dict.fromkeys(("int_type", "int_from_float"), "expected a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "expected a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "expected true or false"),
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected {ge} or more",
    "greater_than": "expected more than {gt:g}",
    "less_than": "expected less than {lt}",
    "too_short": "expected one or more, found none",
}
"""Our words for what pydantic finds wrong, by its own names of errors."""
_PATTERNS = {
    _NAME: "expected letters, digits, '.', '_' and '-' only, as it names files",
    _LINE: "expected a text of one line, with something in it",
}
