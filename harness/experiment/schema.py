"""An experiment, whole and validated: what a TOML file, the flags or Python said, in types.

Names of learners and data sets are not looked up here. What is wrong is told by `explaining`, with file, table and key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainValidator, StrictInt, model_validator

from harness.cluster.places import Place, parse_place
from harness.errors import SpecError
from harness.experiment.budget_table import FILE_TABLE, BudgetTable, Seconds
from harness.experiment.dataset_ref import DatasetRef, is_file, name_of, read_dataset, spread_grid
from harness.experiment.representation_ref import parse_representation
from harness.experiment.units import parse_memory
from harness.expression import parse, split_list
from harness.figures.kinds import FIGURE_KINDS
from harness.label import first_repeated, plain_label
from harness.split import Split, parse_split

DEFAULT_DATASETS = ("icd10cm",)
DEFAULT_TRIALS = 7
"""With fewer the default test cannot tell the best of three learners from the others, whatever the values."""
MOST_TRIALS = 100_000
"""Of one learner, and of all together: more than anybody means to run, and more than can be planned at once."""
MOST_CANDIDATES = 10_000
"""More combinations than anybody means to fit."""
DEFAULT_SPLIT = "holdout:0.1"
NAME_PATTERN, LINE_PATTERN = r"^[\w.-]+$", r"^[^\x00-\x1f\x7f]+$"

DatasetGroups = Mapping[str, tuple[DatasetRef, ...]]
"""Data sets by what they go by, a grid with all that it stands for."""


def _reading(read: Callable[[str], object]) -> BeforeValidator:
    """Texts go through `read`, whatever else is left to the type; an error is told of the key it belongs to."""

    def before(value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return read(value)
        except SpecError as error:
            raise ValueError(str(error)) from None

    return BeforeValidator(before)


def _learner_table(text: str) -> dict[str, Any]:
    """A learner written as an expression becomes the table it is short for."""
    expression = parse(text)
    table: dict[str, Any] = {"name": expression.name, "params": dict(expression.params)}
    if len(expression.positional) > 1:
        raise SpecError(f"cannot read {expression.positional[1]!r} in {text!r}: expected parameter=value")
    if expression.positional:
        table["wrapped"] = expression.positional[0]
    if expression.label:
        table["label"] = expression.label
    return table


def _dataset_table(text: str) -> dict[str, Any]:
    """A data set written as an expression becomes the table it is short for."""
    expression = read_dataset(text)
    key = "path" if is_file(expression.name) else "name"
    table: dict[str, Any] = {key: expression.name, "params": dict(expression.params)}
    if expression.positional:
        table["wrapped"] = expression.positional[0]
    if expression.label:
        table["label"] = expression.label
    return table


def _read_split(value: object) -> Split:
    if isinstance(value, Split):
        return value
    if not isinstance(value, str):
        raise ValueError(f"expected a text such as {DEFAULT_SPLIT!r} (got {value!r})")
    try:
        return parse_split(value)
    except SpecError as error:
        raise ValueError(str(error)) from None


def _read_representation(text: str) -> str:
    """A representation in the words of tables: written one way, however it was spaced."""
    try:
        return str(parse_representation(text))
    except SpecError as error:
        raise ValueError(str(error)) from None


SplitValue = Annotated[Split, PlainValidator(_read_split)]
RepresentationText = Annotated[str, AfterValidator(_read_representation)]
Representations = Annotated[tuple[RepresentationText, ...], _reading(split_list)]
LabelText = Annotated[str, Field(pattern=LINE_PATTERN)]


class FileTable(BaseModel):
    model_config = FILE_TABLE


class LearnerTable(FileTable):
    name: str
    label: LabelText | None = None
    params: dict[str, Any] = {}
    wrapped: str | None = None
    """The learner that it is built round, as it is written."""
    datasets: dict[str, dict[str, Any]] = {}
    """Parameters by data set."""
    on: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """The only data sets that it runs on."""


class DatasetTable(FileTable):
    name: str | None = None
    label: LabelText | None = None
    path: str | None = None
    params: dict[str, Any] = {}
    wrapped: str | None = None
    """The data set that it is made from, as it is written."""
    representation: Representations = ()
    tune_representation: Representations = ()
    """What learners may see of it, to be chosen for each by tuning."""
    split: SplitValue | None = None

    @model_validator(mode="after")
    def _is_something(self) -> DatasetTable:
        if not self.name and not self.path:
            raise ValueError("expected a name (`harness list datasets`) or the path of a file or folder")
        return self

    @property
    def source(self) -> str:
        """The registered name, or the file, which in a table needs no slash to be one."""
        if self.name:
            return self.name
        path = str(self.path)
        return path if is_file(path) else f"./{path}"

    @property
    def goes_by(self) -> str:
        """Its name in tables."""
        if self.label is not None:
            return self.label
        if self.path and self.name:
            return name_of(self.path if is_file(self.path) else f"./{self.path}", self.params, self.wrapped)
        return name_of(self.source, self.params, self.wrapped)


def _known_kind(kind: str) -> str:
    if kind not in FIGURE_KINDS:
        *most, last = map(repr, FIGURE_KINDS)
        raise ValueError(f"expected {', '.join(most)} or {last} (got {kind!r})")
    return kind


class FigureTable(FileTable):
    kind: Annotated[str, AfterValidator(_known_kind)]
    name: Annotated[str, Field(pattern=NAME_PATTERN)] | None = None
    metric: str | None = None
    x: str | None = None

    @property
    def file_stem(self) -> str:
        return self.name or self.kind


def _tried(value: object) -> object:
    """What tuning tries of a parameter: a list of values, or a range to draw from."""
    if isinstance(value, list) and value:
        return value
    if isinstance(value, dict) and {"low", "high"} <= value.keys() <= {"low", "high", "log"}:
        whole = {"log": False, **value}
        if _is_range(whole["low"], whole["high"], whole["log"]):
            return whole
    raise ValueError(
        "expected a list of values, or a range { low = NUMBER, high = NUMBER, log = true or false } with low < high, "
        f"and low > 0 where log = true (got {value!r})"
    )


def _is_range(low: object, high: object, log: object) -> bool:
    if not isinstance(low, int | float) or not isinstance(high, int | float) or not isinstance(log, bool):
        return False
    if isinstance(low, bool) or isinstance(high, bool):
        return False
    return low < high and (low > 0 or not log)


class TuneTable(FileTable):
    params: dict[str, dict[str, Annotated[Any, PlainValidator(_tried)]]] = {}
    """By learner."""
    representation: Representations = ()
    """What learners may see of the data, to be chosen for each."""
    split: SplitValue = parse_split(DEFAULT_SPLIT)
    metric: str = "r1"
    search: Literal["grid", "random"] = "grid"
    candidates: Annotated[StrictInt, Field(ge=1, le=MOST_CANDIDATES)] | None = None
    seconds: Annotated[Seconds | None, Field(alias="time")] = None

    @model_validator(mode="after")
    def _has_a_budget(self) -> TuneTable:
        if not self.params and not self.representation:
            raise ValueError("expected params or representation: there is nothing to tune")
        if (self.search == "random") != (self.candidates is not None):
            raise ValueError("search = 'random' needs candidates = NUMBER, and a grid takes none")
        if self.split.kind != "holdout":
            raise ValueError(f"split '{self.split}': the validation part is a share of the training: holdout:SHARE")
        return self


class Experiment(FileTable):
    """A whole experiment. Fields are called as in the file, but for what has a unit or would shadow Python's own."""

    name: Annotated[str, Field(pattern=NAME_PATTERN)] | None = None
    learners: Annotated[
        tuple[Annotated[LearnerTable, _reading(_learner_table)], ...], _reading(split_list), Field(min_length=1)
    ]
    datasets: Annotated[
        tuple[Annotated[DatasetTable, _reading(_dataset_table)], ...], _reading(split_list), Field(min_length=1)
    ] = tuple(DatasetTable(name=name) for name in DEFAULT_DATASETS)
    trials: Annotated[StrictInt, Field(ge=1, le=MOST_TRIALS)] = DEFAULT_TRIALS
    seed: Annotated[StrictInt, Field(ge=0, lt=2**31)] = 0
    threads: Annotated[StrictInt, Field(ge=1)] = 1
    jobs: Annotated[StrictInt, Field(ge=1)] = 1
    on: Annotated[Place | None, _reading(parse_place)] = None
    """The cluster that trials run on; None for this machine."""
    timeout_seconds: Annotated[Seconds | None, Field(alias="timeout")] = None
    memory_bytes: Annotated[Annotated[int, PlainValidator(parse_memory)] | None, Field(alias="memory")] = None
    give_up: bool = False
    """Whether a learner that runs out of time or memory is left out on larger data from the same source."""
    metrics: Annotated[tuple[str, ...], _reading(split_list), Field(min_length=1)] | None = None
    representation: Representations = ()
    split: SplitValue = parse_split(DEFAULT_SPLIT)
    curves: bool = False
    tune: TuneTable | None = None
    budget: BudgetTable | None = None
    figures: tuple[FigureTable, ...] = ()
    minutes: Annotated[float, Field(gt=0)] | None = None
    """How long it took when it was measured, for an estimate."""
    quick: dict[str, Any] = {}
    """What the small version lays over the rest."""
    leave_out: tuple[str, ...] = ()
    """Data sets that are not run on, by what they go by."""
    absent: dict[str, str] = {}
    """Data sets that were published and nobody can run on, with the reason."""
    settings: Annotated[dict[str, dict[str, Any]], Field(alias="set")] = {}
    """Parameters by label or name of a learner or data set."""


def dataset_groups(experiment: Experiment) -> DatasetGroups:
    """The data sets of an experiment, a grid with all that it stands for, the `set` table laid over them."""
    groups: dict[str, tuple[DatasetRef, ...]] = {}
    for table in experiment.datasets:
        name = table.goes_by
        settings = experiment.settings.get(name) or experiment.settings.get(table.name or "", {})
        params = dict(table.params)
        if table.path and table.name:
            params["path"] = table.path
        params |= settings
        ref = DatasetRef(
            source=table.source,
            label=plain_label(name),
            params=params,
            wrapped=table.wrapped,
            representations=table.representation or experiment.representation,
            tried=table.tune_representation or (experiment.tune.representation if experiment.tune else ()),
            split=table.split,
        )
        groups[name] = (*groups.get(name, ()), *spread_grid(ref))
    return groups


def kept_datasets(groups: DatasetGroups, left_out: tuple[str, ...]) -> tuple[DatasetRef, ...]:
    """All data sets less those left out, by what they or their grids go by; two of one name are an error."""
    known = set(groups)
    for group in groups.values():
        known |= {ref.label.text for ref in group}
    for name in left_out:
        if name not in known:
            raise SpecError(f"leave_out: there is no data set {name!r} here: {', '.join(sorted(known))}")
    kept = []
    for name, group in groups.items():
        if name not in left_out:
            kept += [ref for ref in group if ref.label.text not in left_out]
    if not kept:
        raise SpecError("leave_out leaves no data set")
    twice = first_repeated(ref.label.text for ref in kept)
    if twice is not None:
        raise SpecError(f"data set {twice!r} stands twice in datasets: give one a label, as in other=NAME")
    return tuple(kept)
