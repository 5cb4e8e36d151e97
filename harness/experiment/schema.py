"""The validated `Experiment`, and `RunOptions`: every option of a run is declared here.

Names of learners and datasets are looked up later, in `harness.experiment.resolve`. `harness.experiment.load` turns
validation errors into messages with file, table and key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    model_validator,
)

from harness.errors import SpecError
from harness.experiment.options import Option, read_settings, read_tuning
from harness.experiment.references import DatasetRef, dataset_inside, name_of, read_dataset, spread_grid
from harness.stats import AUTO, TEST_NAMES
from harness.syntax.expression import join_wrapped, parse, split_list
from harness.syntax.split import Split, parse_split
from harness.syntax.values import (
    Place,
    first_repeated,
    is_file,
    parse_duration,
    parse_memory,
    parse_place,
    parse_representation,
    plain_label,
)

Seconds = Annotated[float, PlainValidator(parse_duration)]


FILE_TABLE = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
"""Settings of every table of an experiment file."""


class BudgetTable(BaseModel):
    """The time budget of an experiment; `harness.runner.limits` has the rules."""

    model_config = FILE_TABLE

    hours: Annotated[float, Field(gt=0)] | None = None
    """For all trials together; no round starts after that."""
    trials: Annotated[StrictInt, Field(ge=1)]
    """Trials of every learner on every dataset; further `trials` run on datasets where every trial was quick."""
    quick: Seconds = 60.0
    """Seconds that the slowest trial on a dataset may take for that."""


DEFAULT_DATASETS = ("icd10cm",)
DEFAULT_TRIALS = 10
"""With `DEFAULT_SPLIT`: the most power for the time of a run, see docs/explanation/statistics.md."""
MOST_TRIALS = 100_000
"""Of one learner, and of all together: more than anybody means to run, and more than can be planned at once."""
MOST_CANDIDATES = 10_000
"""More combinations than anybody means to fit."""
DEFAULT_SPLIT = "holdout:0.2"
VALIDATION_SPLIT = "holdout:0.1"
"""The part of the training rows that tuning chooses on: the rest should be nearly all of them."""
NAME_PATTERN, LINE_PATTERN = r"^[\w.-]+$", r"^[^\x00-\x1f\x7f]+$"

DatasetGroups = Mapping[str, tuple[DatasetRef, ...]]
"""Datasets by label; a grid has several."""


def _reading(read: Callable[[str], object]) -> BeforeValidator:
    """Return a validator that parses texts with `read`; other values are left to the type."""

    def before(value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return read(value)
        except SpecError as error:
            raise ValueError(str(error)) from None

    return BeforeValidator(before)


def _learner_table(text: str) -> dict[str, Any]:
    """Return the table of a learner expression."""
    expression = parse(text)
    table: dict[str, Any] = {"name": expression.name, "params": dict(expression.params)}
    if expression.positional:
        table["wrapped"] = join_wrapped(expression.positional)
    if expression.label:
        table["label"] = expression.label
    return table


def _dataset_table(text: str) -> dict[str, Any]:
    """Return the table of a dataset expression."""
    expression = read_dataset(text)
    key = "path" if is_file(expression.name) else "name"
    table: dict[str, Any] = {key: expression.name, "params": dict(expression.params)}
    if inside := dataset_inside(expression):
        table["wrapped"] = inside
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
    """Return a representation in its normal form."""
    try:
        return str(parse_representation(text))
    except SpecError as error:
        raise ValueError(str(error)) from None


SplitValue = Annotated[Split, PlainValidator(_read_split)]
RepresentationText = Annotated[str, AfterValidator(_read_representation)]
Representations = Annotated[tuple[RepresentationText, ...], _reading(split_list)]
PathValue = Annotated[
    Path, BeforeValidator(lambda value: os.fspath(value) if isinstance(value, os.PathLike) else value)
]
LabelText = Annotated[str, Field(pattern=LINE_PATTERN)]


class FileTable(BaseModel):
    """A table of an experiment file; unknown keys are errors."""

    model_config = FILE_TABLE


class LearnerTable(FileTable):
    """One learner of an experiment file."""

    name: str
    """Registered name, or module:Class."""
    label: LabelText | None = None
    """Name in tables; the learner's name by default."""
    params: dict[str, Any] = {}
    """Parameters; a list is a grid."""
    wrapped: str | None = None
    """The expression of the learner that it wraps; of several, with commas between them."""
    datasets: dict[str, dict[str, Any]] = {}
    """Parameters by dataset."""
    on: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """The only datasets that it runs on."""


class DatasetTable(FileTable):
    """One dataset of an experiment file."""

    name: str | None = None
    """Registered name."""
    label: LabelText | None = None
    """Name in tables; the name or the file's stem by default."""
    path: str | None = None
    """File or folder, instead of a name."""
    params: dict[str, Any] = {}
    """Parameters; a list is a grid."""
    wrapped: str | None = None
    """The expression of the dataset that it is made from."""
    representation: Representations = ()
    """Representations for this dataset."""
    tune_representation: Representations = ()
    """Representations that tuning chooses from."""
    split: SplitValue | None = None
    """Split for this dataset."""

    @model_validator(mode="after")
    def _is_something(self) -> DatasetTable:
        if not self.name and not self.path:
            raise ValueError("expected a name (`harness list datasets`) or the path of a file or folder")
        return self

    @property
    def source(self) -> str:
        """The registered name, or the path of a file; in a table a path needs no slash."""
        if self.name:
            return self.name
        path = str(self.path)
        return path if is_file(path) else f"./{path}"

    @property
    def display_name(self) -> str:
        """Its label in tables."""
        if self.label is not None:
            return self.label
        if self.path and self.name:
            return name_of(self.path if is_file(self.path) else f"./{self.path}", self.params, self.wrapped)
        return name_of(self.source, self.params, self.wrapped)


def _known_kind(kind: str) -> str:
    from harness.report.figures.kinds import FIGURE_KINDS  # noqa: PLC0415 (most experiments have no figures)

    if kind not in FIGURE_KINDS:
        *most, last = map(repr, FIGURE_KINDS)
        raise ValueError(f"expected {', '.join(most)} or {last} (got {kind!r})")
    return kind


def _known_test(test: str) -> str:
    if test not in TEST_NAMES:
        raise ValueError(f"expected one of {', '.join(TEST_NAMES)} (got {test!r})")
    return test


class FigureTable(FileTable):
    """One figure that `harness reproduce` draws."""

    kind: Annotated[str, AfterValidator(_known_kind)]
    """Kind of figure, as for `harness plot --kind`."""
    name: Annotated[str, Field(pattern=NAME_PATTERN)] | None = None
    """Name of the file; the kind by default."""
    metric: str | None = None
    """Metric on the vertical axis."""
    x: str | None = None
    """Metric, parameter or size on the horizontal axis."""

    @property
    def file_stem(self) -> str:
        return self.name or self.kind


def _tried(value: object) -> object:
    """Return the values that tuning tries: a list, or a range to draw from."""
    if isinstance(value, list) and value:
        return value
    if isinstance(value, dict) and {"low", "high"} <= value.keys() <= {"low", "high", "log"}:
        complete = {"log": False, **value}
        if _is_range(complete["low"], complete["high"], complete["log"]):
            return complete
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


def _share(value: object) -> object:
    """Return a share that a flag gave as text as a number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


class TuneTable(FileTable):
    """The table [tune]."""

    params: dict[str, dict[str, Annotated[Any, PlainValidator(_tried)]]] = {}
    """Values to try, by learner and parameter: a list, or a range { low, high, log }."""
    auto: StrictBool = False
    """Whether learners without `params` try the grids that their plugins bring."""
    representation: Representations = ()
    """Representations to choose from."""
    split: SplitValue = parse_split(VALIDATION_SPLIT)
    """Share of the training set used for validation."""
    metric: str = "r1"
    """Metric that decides."""
    search: Literal["grid", "random"] = "grid"
    """All combinations, or random draws."""
    candidates: Annotated[StrictInt, Field(ge=1, le=MOST_CANDIDATES)] | None = None
    """Number of random draws."""
    time: Seconds | None = None
    """Seconds after which tuning starts no further candidate; each representation is tried once all the same."""
    once: Annotated[float, BeforeValidator(_share), Field(gt=0, lt=1)] | None = None
    """Share of the rows to reserve, to tune each learner once per dataset instead of in every trial."""
    far_behind: Annotated[float, Field(gt=0)] | None = None
    """Distance to the best validation score, on every dataset, beyond which a learner has one trial; with `once`."""

    @model_validator(mode="after")
    def _has_a_budget(self) -> TuneTable:
        if not self.params and not self.representation and not self.auto:
            raise ValueError("expected params, representation or auto = true: there is nothing to tune")
        if (self.search == "random") != (self.candidates is not None):
            raise ValueError("search = 'random' needs candidates = NUMBER, and a grid takes none")
        if self.far_behind is not None and self.once is None:
            raise ValueError("far_behind needs once = SHARE: without it there are no scores before the trials")
        if self.split.kind != "holdout":
            raise ValueError(f"split '{self.split}': the validation part is a share of the training: holdout:SHARE")
        return self


class Experiment(FileTable):
    """An experiment: what is compared on what, and how it is measured.

    A field is a key of an experiment file. A field with an `Option` is also a flag of `harness run` and an argument of
    `harness.run`.
    """

    name: Annotated[str, Field(pattern=NAME_PATTERN)] | None = None
    """Name of the experiment and of its results folder."""
    learners: Annotated[
        tuple[Annotated[LearnerTable, _reading(_learner_table)], ...],
        _reading(split_list),
        Field(min_length=1),
        Option(
            names="learners",
            help="Compare these learners: pa,'small=pa(C=0.1)',module:Class(...). "
            "Groups: all, flat, tree, both, or a pattern such as 'topdown-*'.",
        ),
    ]
    datasets: Annotated[
        tuple[Annotated[DatasetTable, _reading(_dataset_table)], ...],
        _reading(split_list),
        Field(min_length=1),
        Option(
            names="datasets",
            aliases=("data",),
            default=", ".join(DEFAULT_DATASETS),
            help="Compare on these datasets: digits,'topics(rows=500)',titles.csv.",
        ),
    ] = tuple(DatasetTable(name=name) for name in DEFAULT_DATASETS)
    metrics: Annotated[
        Annotated[tuple[str, ...], _reading(split_list), Field(min_length=1)] | None,
        Option(
            names="metrics",
            default="metrics that plugins mark as shown",
            help="Show these metrics as columns of the table.",
        ),
    ] = None
    trials: Annotated[
        StrictInt,
        Field(ge=1, le=MOST_TRIALS),
        Option(
            help="Run this many trials of each learner on each dataset. A verdict needs 3 or more; on a fixed split, 1."
        ),
    ] = DEFAULT_TRIALS
    set: Annotated[
        dict[str, dict[str, Any]],
        Option(
            metavar="NAME.PARAM=VALUE",
            formerly=("settings",),
            read_flags=read_settings,
            help="Set a parameter: pa.C=0.1. A list is a grid: pa.C=[0.1,1]. For one dataset: pa@digits.C=1.",
            argument=Mapping[str, Mapping[str, Any]],
            argument_help='Set parameters by learner or dataset: {"pa": {"C": 0.1}}. A list is a grid.',
        ),
    ] = {}
    """Parameters by label or name of a learner or dataset."""
    tune: Annotated[
        TuneTable | None,
        Option(
            metavar="NAME.PARAM=VALUES",
            read_flags=read_tuning,
            help="Choose on a validation part of the training rows: auto (the learner's own grid), pa.C=[0.1,1,10], "
            "representation=[words,chars]. Stop after a time: time=5m.",
            argument=str | Mapping[str, Any],
            argument_help='Choose parameters on a validation part of the training rows: "auto" tries the grid of each '
            'learner, {"pa": {"C": [0.1, 1]}} another one. {"representation": ["words", "chars"]} chooses the '
            'representation for each learner. {"auto": True, "time": "5m"} stops after a time.',
        ),
    ] = None
    curves: Annotated[
        bool,
        Option(
            negatable=True, help="Measure after each pass over the training rows, too, by a second fit off the clock."
        ),
    ] = False
    representation: Annotated[
        Representations,
        Option(
            names="representations",
            default="the dataset's own",
            help="Represent rows in these ways, one after the other: words,chars(ngrams=2:5).",
        ),
    ] = ()
    split: Annotated[
        SplitValue,
        Option(
            help="Split rows into training set and test set: holdout:SHARE, stratified:SHARE, [stratified-]kfold:K, "
            "grouped:COLUMN, time:COLUMN or given[:NAME]."
        ),
    ] = parse_split(DEFAULT_SPLIT)
    seed: Annotated[
        StrictInt, Field(ge=0, lt=2**31), Option(help="Use this seed for the first trial, the next one for the second.")
    ] = 0
    jobs: Annotated[
        StrictInt, Field(ge=1), Option(help="Run this many trials at once. Times are undisturbed only with 1.")
    ] = 1
    on: Annotated[
        Place | None,
        _reading(parse_place),
        Option(
            metavar="CLUSTER",
            default="this machine",
            help="Run trials on a Dask cluster: local:4, tcp://HOST:PORT, tls://HOST:PORT or scheduler-file:PATH.",
            argument=Any,
            argument_help='Run trials on a Dask cluster: "local:4", "tcp://HOST:PORT", or a `distributed.Client`.',
        ),
    ] = None
    """The cluster that runs the trials; None for this machine."""
    threads: Annotated[StrictInt, Field(ge=1), Option(help="Let a learner use this many threads.")] = 1
    timeout: Annotated[
        Seconds | None,
        Option(metavar="TIME", help="Kill a trial after this time: 90s, 10m, 2h.", argument=str | float),
    ] = None
    """Seconds."""
    memory: Annotated[
        Annotated[int, PlainValidator(parse_memory)] | None,
        Option(metavar="SIZE", help="Kill a trial that uses more memory of its own: 512MB, 4GB.", argument=str | int),
    ] = None
    """Bytes."""
    give_up: Annotated[
        bool,
        Option(
            negatable=True,
            help="Skip a learner on data larger than that on which it exceeded the time or memory limit.",
        ),
    ] = False
    budget: BudgetTable | None = None
    """Time budget, as a table."""
    test: Annotated[str, AfterValidator(_known_test)] = AUTO
    """The test that decides which learners differ, as for `harness table --test`."""
    figures: tuple[FigureTable, ...] = ()
    """Figures that `harness reproduce` draws, as tables."""
    minutes: Annotated[float, Field(gt=0)] | None = None
    """Measured duration, for an estimate."""
    quick: dict[str, Any] = {}
    """Keys that the quick version replaces."""
    leave_out: tuple[str, ...] = ()
    """Datasets to skip, by label."""
    absent: dict[str, str] = {}
    """Datasets that were published and are not available, with the reason."""


class RunOptions(FileTable):
    """Options of one run: where results go, and which trials of earlier runs are used.

    No field decides a result. A field with an `Option` is a flag of `harness run` and an argument of `harness.run`.
    """

    out: Annotated[
        PathValue | None,
        Option(metavar="FOLDER", default="results/NAME, by content", help="Keep results in this folder."),
    ] = None
    retry_failed: Annotated[bool, Option(help="Run failed trials again.")] = False
    rerun: Annotated[
        tuple[str, ...],
        _reading(split_list),
        Option(names="learners", help="Run all trials of these learners again, by name or label."),
    ] = ()
    wait_for_idle: Annotated[
        Seconds | None,
        Option(
            metavar="[TIME]",
            bare="10m",
            formerly=("wait_for_quiet",),
            help="Wait up to TIME (10m if not given) before each trial until the machine is idle.",
            argument=str | float,
            argument_help="Wait up to this time (seconds, or a text such as 10m) before each trial until the machine "
            "is idle.",
        ),
    ] = None
    """Seconds; None to start at once."""
    reuse: Annotated[
        Annotated[tuple[PathValue, ...], _reading(lambda text: (text,))],
        Option(metavar="FOLDER", help="Take finished trials from this results folder."),
    ] = ()
    build: Annotated[
        bool,
        Option(
            negatable=True,
            help="Build missing environments of learners with packages of their own.",
        ),
    ] = True
    allow_differences: Annotated[
        bool,
        Option(help="Let cluster workers have other versions and code than this machine. Records name them."),
    ] = False
    skip_missing_data: bool = False
    """Skip datasets that are not available."""
    client: Any = None
    """A `distributed.Client` that runs the trials instead of the cluster that the experiment names."""


def dataset_groups(experiment: Experiment) -> DatasetGroups:
    """Return the datasets of an experiment by label, grids expanded, with the `set` table applied."""
    groups: dict[str, tuple[DatasetRef, ...]] = {}
    for table in experiment.datasets:
        name = table.display_name
        settings = experiment.set.get(name) or experiment.set.get(table.name or "", {})
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
    """Return all datasets but those left out, by label; two with one label are an error."""
    known = set(groups)
    for group in groups.values():
        known |= {ref.label.text for ref in group}
    for name in left_out:
        if name not in known:
            raise SpecError(f"leave_out: there is no dataset {name!r} here: {', '.join(sorted(known))}")
    kept = []
    for name, group in groups.items():
        if name not in left_out:
            kept += [ref for ref in group if ref.label.text not in left_out]
    if not kept:
        raise SpecError("leave_out leaves no dataset")
    twice = first_repeated(ref.label.text for ref in kept)
    if twice is not None:
        raise SpecError(f"dataset {twice!r} is listed twice in datasets. Give one a label, as in other=NAME.")
    return tuple(kept)
