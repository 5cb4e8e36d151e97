"""One flat, documented, typed Record of a trial; `harness.record_lines` writes and reads it.

A record is a trial's names, what was measured, and the circumstances; each is a type of its own, and the record has the
fields of all three. A trial's process imports this module, so it brings nothing that takes long.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from harness.params import Params
from harness.split import Split

Status = Literal["ok", "error", "timeout", "memory", "crash"]
STATUSES: tuple[str, ...] = get_args(Status)
FORMAT = 3
"""Raised when a field changes its meaning; readers refuse what is newer than they are, and take what is older."""


@dataclass(frozen=True, kw_only=True)
class TrialNames:
    """What a trial goes by: who is trained on what, and which trial of how many it is."""

    key: str
    """Hash of all that decides the result."""
    label: str
    """The learner's name in tables."""
    family: str
    """The label without the values of a grid: that of pa(C=0.1) is pa."""
    learner: str
    learner_kind: str
    learner_distribution: str
    learner_version: str
    code: str = ""
    """Digest of the learner's source files, and of those of the learners inside it."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions of what is in the environment that it runs in, where it has one of its own."""
    params: Params
    """Parameters that were set; all others had their defaults."""
    dataset: str
    dataset_family: str
    """The data set's name without the values of a grid."""
    dataset_source: str = ""
    """The registered data set or the file behind `dataset`, which may be a label."""
    dataset_params: Params
    fingerprint: str
    """SHA-256 of the parsed data."""
    dataset_revision: str = ""
    """Which state of the data that was, in the words of whoever keeps it: a commit of the Hub, say."""
    representation: str
    split: Split
    number: int
    """Which trial of the experiment, from 0."""
    seed: int
    depth: int
    """Ranks kept a row."""
    to_tune: str = ""
    """What was to be chosen on a validation part, from which values and how; empty where nothing was."""


@dataclass(frozen=True)
class CurvePoint:
    """What was measured of a half-trained learner, outside the clock."""

    passes: int
    scores: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Parameters that tuning tried, and their score on the validation part; a reason where they have none."""

    params: Params
    score: float | None = None
    fit_seconds: float | None = None
    trouble: str = ""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a trial's process found out, or how it failed."""

    status: Status
    scores: Mapping[str, float | None] = field(default_factory=dict)
    """Every metric's value; None where it has no meaning for this learner or data."""
    n_train: int | None = None
    n_test: int | None = None
    n_classes: int | None = None
    n_features: int | None = None
    unseen_test_rows: int | None = None
    """Test rows none of whose classes was in the training part: no learner can get them right."""
    empty_test_rows: int | None = None
    """Test rows without a single feature."""
    ranked_by: str | None = None
    """What gave the ranks: rank, decision_function, predict_proba or predict."""
    index_source: str | None = None
    """What gave the index size: index_size_ or coef_; older records say pickle where nothing did."""
    bytes_source: str | None = None
    """What gave the bytes: index_bytes_ or, of the learner as a whole, pickle; older records do not say."""
    index_size: int | None = None
    index_bytes: int | None = None
    edges_per_feature: float | None = None
    """Edges read per active feature for one class a row."""
    rank_edges_per_feature: float | None = None
    """Edges read per active feature for the ranking."""
    single_rows: int | None = None
    """Test rows that were also predicted one at a time, by a clock of their own, where a metric asked for it."""

    fit_seconds: float | None = None
    fit_cpu_seconds: float | None = None
    predict_seconds: float | None = None
    """Naming one class for each test row."""
    predict_cpu_seconds: float | None = None
    rank_seconds: float | None = None
    """Ranking the test rows, `depth` classes each."""
    rank_cpu_seconds: float | None = None
    clock_seconds: float | None = None
    """All of the trial by the clock of its own process; the supervisor's is `total_seconds`."""
    load_seconds: float | None = None
    """Opening the data, the split, and what was left to do of the representation; outside the clock."""
    represent_seconds: float | None = None
    """Fitting the representation and applying it to both parts, once for all learners that see the same."""
    represent_cpu_seconds: float | None = None
    import_seconds: float | None = None
    """Importing the learner; outside the clock."""
    warmup_seconds: float | None = None
    """A small fit and rank beforehand, so that compilation is outside the clock."""
    stage_seconds: float | None = None
    """Bringing the training rows into the learner's own form, for one that does; outside the clock of fit."""
    peak_bytes: int | None = None
    """Highest resident memory during fit and rank."""
    base_bytes: int | None = None
    """Resident memory just before fit."""

    curve: tuple[CurvePoint, ...] = ()
    """Where curves were asked for: every metric's value after each pass, all outside the clock."""
    tuned: Params = field(default_factory=dict)
    """Where tuning was asked for: the parameters it chose, laid over `params`."""
    tuning: tuple[Candidate, ...] = ()
    """Every candidate that tuning tried, in its order."""
    tune_seconds: float | None = None
    """What choosing took; outside the clock."""
    threads_in_force: Mapping[str, int] = field(default_factory=dict)
    """What each thread pool of the trial's process said of itself after fit."""

    message: str = ""
    """Why the trial failed, in a line; or what should be known of its result."""
    warnings: tuple[str, ...] = ()
    """What the learner warned of, each once, the first few."""
    traceback: str = ""
    output: str = ""
    """The end of what a failed trial printed."""


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """Under what conditions a trial ran: none of them decides a result, all of them decide times."""

    threads: int = 1
    jobs: int = 1
    """Trials that ran at once: above 1, times are those of a shared machine."""
    machine: str = ""
    """Key into machine.json."""
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None
    started: str = ""
    """UTC, ISO 8601."""
    total_seconds: float | None = None
    """The process from start to end."""
    load: float | None = None
    """The machine's load average of a minute when the trial began."""
    processes: int | None = None
    """The most processes that the trial had at once."""


@dataclass(frozen=True, kw_only=True)
class Record(Circumstances, Measured, TrialNames):
    """Everything that a table, a test or a later metric needs to know of one trial."""

    rescored: Mapping[str, str] = field(default_factory=dict)
    """The metrics that were computed later from the saved ranks, and what computed them."""
    ranks_crc32: str = ""
    """Checksum of the file of its ranks; empty where none was kept."""
    format: int = FORMAT


def make_record(names: TrialNames, measured: Measured, circumstances: Circumstances) -> Record:
    """One record of a trial; what more `names` knows, being a trial to run, is left behind."""
    whole: dict[str, Any] = {}
    for part, kind in ((names, TrialNames), (measured, Measured), (circumstances, Circumstances)):
        whole |= {name: getattr(part, name) for name in field_names(kind)}
    return Record(**whole)


def field_names(kind: type) -> tuple[str, ...]:
    """The fields that a dataclass has, its parents' included."""
    return tuple(one.name for one in fields(kind))


def checksum_of(ranks: bytes) -> str:
    """What a record says of the file of its ranks."""
    return f"{zlib.crc32(ranks):08x}"


def measured_as_plain(measured: Measured) -> dict[str, Any]:
    """What a trial's process found out, as JSON can hold it on its way to the host."""
    return asdict(measured)
