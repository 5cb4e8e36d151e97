"""One flat, documented, typed Record of a trial <-> one JSON line with a checksum."""

from __future__ import annotations

import json
import zlib
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, Literal, get_args

Status = Literal["ok", "error", "timeout", "memory", "crash"]
STATUSES: tuple[str, ...] = get_args(Status)
FORMAT = 1
"""Raised when a field changes its meaning; readers refuse what is newer than they are."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """Everything that a table, a test or a later metric needs to know of one trial."""

    key: str
    """Hash of all that decides the result."""
    status: Status
    label: str
    """The learner's name in tables."""
    learner: str
    learner_kind: str
    learner_distribution: str
    learner_version: str
    params: dict[str, Any]
    """Parameters that were set; all others had their defaults."""
    dataset: str
    dataset_params: dict[str, Any]
    fingerprint: str
    """SHA-256 of the parsed data."""
    representation: str
    split: str
    number: int
    """Which trial of the experiment, from 0."""
    seed: int
    depth: int
    """Ranks kept a row."""

    scores: dict[str, float | None] = field(default_factory=dict)
    """Every metric's value; None where it has no meaning for this learner or data."""
    n_train: int | None = None
    n_test: int | None = None
    n_classes: int | None = None
    n_features: int | None = None
    unseen_test_rows: int | None = None
    """Test rows none of whose classes was in the training part: no learner can get them right."""
    empty_test_rows: int | None = None
    """Test rows without a single feature."""
    dataset_source: str = ""
    """The registered data set or the file behind `dataset`, which may be a label."""
    ranked_by: str | None = None
    """What gave the ranks: rank, decision_function, predict_proba or predict."""
    index_source: str | None = None
    """What gave the index size: index_size_, coef_ or pickle (bytes only)."""
    index_size: int | None = None
    index_bytes: int | None = None
    edges_per_feature: float | None = None
    single_rows: int | None = None
    """Test rows that were also ranked one at a time, by a clock of their own, where a metric asked for it."""
    rescored: dict[str, str] = field(default_factory=dict)
    """The metrics that were computed later from the saved ranks, and what computed them."""

    fit_seconds: float | None = None
    fit_cpu_seconds: float | None = None
    rank_seconds: float | None = None
    rank_cpu_seconds: float | None = None
    load_seconds: float | None = None
    """Opening the data, the split and the representation; outside the clock."""
    import_seconds: float | None = None
    """Importing the learner; outside the clock."""
    warmup_seconds: float | None = None
    """A small fit and rank beforehand, so that compilation is outside the clock."""
    total_seconds: float | None = None
    """The process from start to end."""
    peak_bytes: int | None = None
    """Highest resident memory during fit and rank."""
    base_bytes: int | None = None
    """Resident memory just before fit."""

    curve: list[dict[str, Any]] = field(default_factory=list)
    """Where curves were asked for: after each pass its number and every metric's value, all outside the clock."""
    tuned: dict[str, Any] = field(default_factory=dict)
    """Where tuning was asked for: the parameters it chose, laid over `params`."""
    tuning: list[dict[str, Any]] = field(default_factory=list)
    """Every candidate's parameters and score on the validation part; a reason where it has none."""
    tune_seconds: float | None = None
    """What choosing took; outside the clock."""

    threads: int = 1
    threads_in_force: dict[str, int] = field(default_factory=dict)
    """What each thread pool of the trial's process said of itself after fit."""
    jobs: int = 1
    """Trials that ran at once: above 1, times are those of a shared machine."""
    machine: str = ""
    """Key into machine.json."""
    versions: dict[str, str] = field(default_factory=dict)
    commit: str | None = None
    started: str = ""
    """UTC, ISO 8601."""

    message: str = ""
    """Why the trial failed, in a line; or what should be known of its result."""
    traceback: str = ""
    output: str = ""
    """The end of what a failed trial printed."""
    format: int = FORMAT


class BadLine(ValueError):
    """A line that is not a whole and unchanged record."""


_KNOWN = frozenset(f.name for f in fields(Record))
_REQUIRED = frozenset(f.name for f in fields(Record) if f.default is MISSING and f.default_factory is MISSING)


def to_line(record: Record) -> str:
    """The record as one JSON line; its checksum comes last."""
    text = json.dumps(asdict(record), separators=(",", ":"))
    return f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def from_line(line: str) -> Record:
    """The record in a line; BadLine says what is wrong with it."""
    try:
        content = json.loads(line)
    except ValueError:
        raise BadLine("not whole") from None
    if not isinstance(content, dict) or "crc32" not in content:
        raise BadLine("no record")
    body = line.rstrip("\n").rpartition(',"crc32":')[0] + "}"
    if f"{zlib.crc32(body.encode(errors='replace')):08x}" != content.pop("crc32"):
        raise BadLine("changed since it was written (checksum)")
    if content.get("format", 0) > FORMAT:
        raise BadLine(f"written by a newer harness (format {content['format']})")
    if not content.keys() >= _REQUIRED or content["status"] not in STATUSES:
        raise BadLine("fields are missing")
    return Record(**{name: value for name, value in content.items() if name in _KNOWN})
