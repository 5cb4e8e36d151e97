"""What is known of a model: what it is, from which data, how right it may be expected to be, and what its files are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeVar

from harness.errors import ModelError
from harness.params import Params

FORMAT, VERSION = "harness model", 1
"""The version is raised when what the files mean changes; a reader refuses the others, and says so."""

SavedAs = Literal["archive", "skops"]


@dataclass(frozen=True, kw_only=True)
class LearnerFile:
    """The fitted learner of a model."""

    name: str
    """What it is called in experiments, as `--learners` takes it."""
    load: str
    """"module:Class" of what reads the file."""
    params: Params
    file: str
    saved_as: SavedAs


@dataclass(frozen=True, kw_only=True)
class TrainedOn:
    """The data."""

    name: str
    source: str
    params: Params
    fingerprint: str
    rows: int
    classes: int
    revision: str = ""
    """Which state of the data it was, in the words of whoever keeps it."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The accuracy to expect, and where it is known from."""

    accuracy: float | None
    rows: int
    known_from: str


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """A file as it was written."""

    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All that a model says of itself."""

    learner: LearnerFile
    representation: str | None
    """What it is called in experiments; None where the learner takes rows as they are."""
    takes_text: bool
    """Whether it is asked about texts; if not, about rows of numbers."""
    wants_dense: bool
    data: TrainedOn
    expected: Expected
    calibrator: Mapping[str, Any]
    """How scores become a confidence (`harness.models.calibration`)."""
    reliability: Mapping[str, Any]
    """How far that can be trusted, on held-out rows."""
    fitted: str
    """UTC, ISO 8601."""
    versions: Mapping[str, str]
    files: Mapping[str, FileFacts] = field(default_factory=dict)


Built = TypeVar("Built")


def manifest_to_text(manifest: Manifest) -> str:
    """A manifest as its file has it."""
    return json.dumps({"format": FORMAT, "version": VERSION, **asdict(manifest)}, indent=2, default=repr) + "\n"


def manifest_from_text(text: str) -> Manifest:
    """The manifest that a file holds; ModelError where it holds none that can be read here."""
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise ModelError(f"its manifest.json is damaged: {error}") from None
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise ModelError("its manifest.json is not that of a model")
    version = plain.get("version")
    if version != VERSION:
        raise ModelError(
            f"it was written in version {version} of the format, and this reads version {VERSION}",
            next_step="fit it again, or use the release of harness that wrote it",
        )
    try:
        return _manifest(plain)
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"its manifest.json is damaged: {type(error).__name__}: {error}") from None


def _manifest(plain: Mapping[str, Any]) -> Manifest:
    known = {one.name: plain[one.name] for one in fields(Manifest)}
    known["learner"] = _built(LearnerFile, plain["learner"])
    known["data"] = _built(TrainedOn, plain["data"])
    known["expected"] = _built(Expected, plain["expected"])
    known["files"] = {name: _built(FileFacts, facts) for name, facts in plain["files"].items()}
    return Manifest(**known)


def _built(kind: type[Built], plain: Mapping[str, Any]) -> Built:
    return kind(**{one.name: plain[one.name] for one in fields(kind)})  # type: ignore[arg-type]  # all are dataclasses
