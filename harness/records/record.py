"""The record of a trial: a flat dataclass, and its conversion to a JSON line with a checksum, and back.

A record has the fields of three types: the names of the trial, its measurements and its circumstances. Lines are
validated field by field. Lines in older formats are converted to the present one. The process of a trial imports this
module, so it imports nothing that loads slowly.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from harness.errors import HarnessError
from harness.host.contract import Kind
from harness.syntax.expression import Params
from harness.syntax.split import Split, parse_split

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

Status = Literal["ok", "error", "timeout", "memory", "crash"]
STATUSES: tuple[str, ...] = get_args(Status)
FORMAT = 3
"""Incremented when a field changes its meaning. Readers accept records of older formats and reject newer ones."""


@dataclass(frozen=True, kw_only=True)
class TrialNames:
    """The identity of a trial: learner, dataset, split and seed."""

    key: str
    """Hash of everything that decides the result."""
    label: str
    """The learner's name in tables."""
    family: str
    """The label without the values of a grid: pa for pa(C=0.1)."""
    learner: str
    """Registered name, or module:Class."""
    learner_kind: Kind
    """Flat, tree or other."""
    learner_distribution: str
    """Package that registers the learner."""
    learner_version: str
    """Version of that package."""
    code: str = ""
    """Digest of the source code of the learner, and of learners inside it."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Package versions in the learner's environment; empty without one."""
    params: Params
    """Parameters that were set; the others had their defaults."""
    dataset: str
    """The name of the dataset in tables."""
    dataset_family: str
    """The name of the dataset without the values of a grid."""
    dataset_source: str = ""
    """Registered dataset or file behind the name."""
    dataset_params: Params
    """Parameters of the dataset that were set."""
    fingerprint: str
    """SHA-256 of the parsed data."""
    dataset_revision: str = ""
    """Version of downloaded data, such as a commit of the Hugging Face Hub."""
    representation: str
    """Representation of the rows."""
    split: Split
    """Split into training set and test set."""
    number: int
    """Number of the trial in the experiment, from 0."""
    seed: int
    """Seed of the split and of the learner."""
    depth: int
    """Ranks stored per row."""
    to_tune: str = ""
    """The tuned parameters with the values to choose from; empty without tuning."""


@dataclass(frozen=True)
class CurvePoint:
    """Metrics after one pass, measured outside the clock."""

    passes: int
    scores: Mapping[str, float | None]


NOT_TRIED = "not tried: the time limit of tuning was reached"
"""The reason of a candidate that tuning had no time for."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Parameters that tuning tried, with their validation score or the reason why there is none."""

    params: Params
    score: float | None = None
    fit_seconds: float | None = None
    trouble: str = ""

    @property
    def is_tried(self) -> bool:
        """True unless the time limit of tuning was reached before this candidate."""
        return self.trouble != NOT_TRIED


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The measurements of a trial, or its failure."""

    status: Status
    """The end of the trial: ok, or the kind of failure."""
    scores: Mapping[str, float | None] = field(default_factory=dict)
    """Values of all metrics; None if a metric is not defined for this learner or data."""
    n_train: int | None = None
    """Training rows."""
    n_test: int | None = None
    """Test rows."""
    n_classes: int | None = None
    """Classes."""
    multilabel: bool | None = None
    """True if rows may have several labels. Empty in older records."""
    n_features: int | None = None
    """Features."""
    unseen_test_rows: int | None = None
    """Test rows whose classes do not occur in the training set."""
    empty_test_rows: int | None = None
    """Test rows without any feature."""
    ranked_by: str | None = None
    """Method that ranked: rank, decision_function, predict_proba or predict."""
    index_source: str | None = None
    """Source of the index size: index_size_ or coef_. Older records have pickle if there was none."""
    bytes_source: str | None = None
    """Source of the bytes: index_bytes_, or pickle for the pickled learner. Empty in older records."""
    index_size: int | None = None
    """Stored weights that are not zero."""
    index_bytes: int | None = None
    """Size of the index in bytes."""
    edges_per_feature: float | None = None
    """Edges read per active feature to predict one class per row."""
    rank_edges_per_feature: float | None = None
    """Edges read per active feature to rank."""
    single_rows: int | None = None
    """Test rows that were also predicted one at a time, for `predict_one`."""

    fit_seconds: float | None = None
    """Wall time of `fit`."""
    fit_cpu_seconds: float | None = None
    """CPU time of `fit`."""
    predict_seconds: float | None = None
    """Wall time to predict one class for each test row."""
    predict_cpu_seconds: float | None = None
    """CPU time of the same."""
    rank_seconds: float | None = None
    """Wall time to rank `depth` classes for each test row."""
    rank_cpu_seconds: float | None = None
    """CPU time of the same."""
    clock_seconds: float | None = None
    """Duration of the trial by the clock of its process; `total_seconds` is the supervisor's."""
    clock_cpu_seconds: float | None = None
    """CPU time of the trial by the clock of its process; `total_cpu_seconds` is the supervisor's."""
    load_seconds: float | None = None
    """Time to open the data and to split; outside the clock."""
    represent_seconds: float | None = None
    """Time to fit and apply the representation, once for all learners that share it."""
    represent_cpu_seconds: float | None = None
    """CPU time of the same."""
    import_seconds: float | None = None
    """Time to import the learner; outside the clock."""
    warmup_seconds: float | None = None
    """Time of a small fit and rank that compiles; outside the clock."""
    stage_seconds: float | None = None
    """Time of `stage`, which converts training rows to the learner's format; outside the clock."""
    peak_bytes: int | None = None
    """Peak resident memory during fit and rank."""
    base_bytes: int | None = None
    """Resident memory just before fit."""

    curve: tuple[CurvePoint, ...] = ()
    """Metrics after each pass, with `curves`; outside the clock."""
    tuned: Params = field(default_factory=dict)
    """Parameters that tuning chose; they override `params`."""
    tuning: tuple[Candidate, ...] = ()
    """Every candidate in the order of tuning; untried ones come last."""
    tune_seconds: float | None = None
    """Time of tuning; outside the clock."""
    threads_in_force: Mapping[str, int] = field(default_factory=dict)
    """Threads of each pool in the trial's process after fit."""

    message: str = ""
    """Reason of a failure, or a note on the result."""
    warnings: tuple[str, ...] = ()
    """The first distinct warnings of the learner."""
    traceback: str = ""
    """Traceback of an exception."""
    output: str = ""
    """Last lines that a failed trial printed."""


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """The conditions of a trial. They affect times, not results."""

    threads: int = 1
    """Allowed threads."""
    jobs: int = 1
    """Trials that ran at once; above 1, times are those of a shared machine."""
    machine: str = ""
    """Key into machine.json."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of Python and of the main packages."""
    commit: str | None = None
    """Commit of the checkout."""
    started: str = ""
    """Start of the trial: UTC, ISO 8601."""
    total_seconds: float | None = None
    """Duration of the process."""
    total_cpu_seconds: float | None = None
    """CPU time of all processes of the trial."""
    load: float | None = None
    """One-minute load average of the machine at the start."""
    processes: int | None = None
    """Largest number of processes that the trial had at once."""


@dataclass(frozen=True, kw_only=True)
class Record(Circumstances, Measured, TrialNames):
    """A trial with its measurements and conditions: one line of `records.jsonl`."""

    rescored: Mapping[str, str] = field(default_factory=dict)
    """Metrics computed later from stored ranks, and the version that computed them."""
    ranks_crc32: str = ""
    """Checksum of the stored ranks; empty if there are none."""
    format: int = FORMAT
    """Version of the record format."""


def make_record(names: TrialNames, measured: Measured, circumstances: Circumstances) -> Record:
    """Combine the three parts of a record.

    Parameters
    ----------
    names : TrialNames
        The identity of the trial. Fields of subclasses, such as those of a trial to run, are left out.
    measured : Measured
        The measurements, or the failure.
    circumstances : Circumstances
        The conditions of the trial.
    """
    values: dict[str, Any] = {}
    for part, kind in ((names, TrialNames), (measured, Measured), (circumstances, Circumstances)):
        values |= {name: getattr(part, name) for name in field_names(kind)}
    return Record(**values)


def field_names(kind: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass, inherited ones included."""
    return tuple(one.name for one in fields(kind))


def checksum_of_ranks(ranks: bytes) -> str:
    """Return the checksum of the ranks of a trial as records store it.

    Parameters
    ----------
    ranks : bytes
        The content of the .npy file.
    """
    return f"{zlib.crc32(ranks):08x}"


TIMES_OF_RANKING = {"predict": "rank", "predict_one": "rank_one", "predict_one_p99": "rank_one_p99"}
"""Present names of scores, by their names in formats 1 and 2."""


LARGEST_NUMBER = 1e18
GIVEN = ("tuned", "tuning")
"""Fields with parameters of the user, which may be infinite."""
MOST_TEXT, MOST_WARNINGS, MOST_KEY_LENGTH = 1 << 16, 20, 200


class BadLine(ValueError):
    """A line is incomplete, was changed, or is not a record."""


class NewerLine(ValueError):
    """A line is a complete record in the format of a newer release."""


@cache
def _adapter(kind: type[Record | Measured]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 (the process of a trial needs no validation)

    return TypeAdapter(kind)


def as_plain(record: Record) -> dict[str, Any]:
    """Return a record as JSON values; the split is a text."""
    # The JSON mode of pydantic would convert an infinite parameter to None.
    plain: dict[str, Any] = _adapter(Record).dump_python(record)
    return plain | {"split": str(record.split)}


def measured_from_plain(plain: object) -> Measured:
    """Return the measurements that a trial's process sent, with long texts cut.

    The values are not trusted, because the learner's code runs in that process.

    Parameters
    ----------
    plain : object
        Fields of `Measured` by name, as read from JSON.

    Raises
    ------
    ValueError
        If a field is missing or has a wrong type, or if a number is infinite or too large.
    """
    from pydantic import ValidationError  # noqa: PLC0415 (the process of a trial needs no validation)

    try:
        measured: Measured = _adapter(Measured).validate_json(json.dumps(plain), strict=True)
        _check_numbers(asdict(measured), "")
        return _cut(measured)
    except ValidationError as error:
        raise ValueError(_first_problem(error)) from None
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


def _check_numbers(value: object, place: str) -> None:
    """Raise ValueError for numbers that are infinite or too large; `place` names the field."""
    if isinstance(value, dict):
        for name, inside in value.items():
            _check_numbers(inside, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list | tuple):
        for inside in value:
            _check_numbers(inside, place)
    elif isinstance(value, int | float) and not abs(value) < LARGEST_NUMBER and not place.startswith(GIVEN):
        raise ValueError(f"{place}: expected a number that is finite, and below {LARGEST_NUMBER:g}")


def _cut(measured: Measured) -> Measured:
    """Return the measurements with long texts cut."""
    return replace(
        measured,
        message=measured.message[:MOST_TEXT],
        traceback=measured.traceback[-MOST_TEXT:],
        output=measured.output[-MOST_TEXT:],
        warnings=tuple(text[:MOST_TEXT] for text in measured.warnings[:MOST_WARNINGS]),
    )


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def to_line(record: Record) -> str:
    """Return a record as one JSON line. Its last key is the checksum of the text before."""
    text = json.dumps(as_plain(record), separators=(",", ":"))
    return f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def from_line(line: str) -> Record:
    """Return the record in a line.

    Parameters
    ----------
    line : str
        A line of `records.jsonl`.

    Raises
    ------
    BadLine
        If the line is incomplete, was changed, or has invalid fields. The message names the problem.
    NewerLine
        If a newer release wrote the record.
    """
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise BadLine("incomplete") from None
    if not isinstance(content, dict) or "crc32" not in content:
        raise BadLine("no record")
    body = line.rstrip("\n").rpartition(',"crc32":')[0] + "}"
    if f"{zlib.crc32(body.encode(errors='replace')):08x}" != content.pop("crc32"):
        raise BadLine("changed since it was written (checksum)")
    written_in = content.get("format", 0)
    if not isinstance(written_in, int):
        raise BadLine(f"its format is not a number: {written_in!r}")
    if written_in > FORMAT:
        raise NewerLine(f"a record of format {written_in}, and this harness knows formats up to {FORMAT}")
    from pydantic import ValidationError  # noqa: PLC0415 (the process of a trial needs no validation)

    try:
        if written_in == 1:
            content = _from_first_format(content)
        if written_in <= 2:
            content = _from_second_format(content)
        if isinstance(content.get("split"), str):  # files have the split as a text
            content["split"] = asdict(parse_split(content["split"]))
        record: Record = _adapter(Record).validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        raise BadLine(f"fields are missing or wrong: {_first_problem(error)}") from None
    except (HarnessError, KeyError, TypeError, AttributeError) as error:
        raise BadLine(f"fields are missing or wrong: {error}") from None
    if not _is_file_name(record.key):
        raise BadLine("fields are missing or wrong: key: Input should be usable as the name of a file")
    return record


def _is_file_name(key: str) -> bool:
    """Return whether a key can name the file of the ranks, inside of their folder."""
    return 0 < len(key) <= MOST_KEY_LENGTH and key.isprintable() and "/" not in key


# -- lines in older formats ------------------------------------------------------------------------------------------


def _from_first_format(content: dict[str, Any]) -> dict[str, Any]:
    """Convert format 1, which had no families, and `pass` instead of `passes` in the points of curves."""
    curve = [{"passes": point["pass"], "scores": point["scores"]} for point in content.get("curve", ())]
    return content | {
        "family": _family_in(content["label"], content["params"]),
        "dataset_family": _family_in(content["dataset"], content["dataset_params"]),
        "curve": curve,
        "format": FORMAT,
    }


def _from_second_format(content: dict[str, Any]) -> dict[str, Any]:
    """Convert format 2, which timed the ranking only and named these times after `predict`."""
    curve = [point | {"scores": _renamed(point["scores"])} for point in content.get("curve", ())]
    return content | {"scores": _renamed(content["scores"]), "curve": curve, "format": FORMAT}


def _renamed(scores: dict[str, Any]) -> dict[str, Any]:
    return {TIMES_OF_RANKING.get(name, name): value for name, value in scores.items()}


def _family_in(label: str, params: Params) -> str:
    """Return a label without the values of a grid, if the text in its brackets names parameters.

    Examples
    --------
    >>> _family_in("pa(C=0.1)", {"C": 0.1}), _family_in("bag(pa)", {"base": "pa"})
    ('pa', 'bag(pa)')
    """
    head, bracket, inside = label.rstrip(")").partition("(")
    if not bracket:
        return label
    names = [part.partition("=")[0] for part in inside.split(", ")]
    return head if all(name in params for name in names) else label
