"""Read and write the folder of a model: its manifest, the checksums of its files, and its class names.

manifest.json         learner, data, expected accuracy, calibration; the checksum of each other file and of itself
learner.npz           the learner (learner.skops if it cannot save itself)
learner               or in its place the tool's own files, for a learner that needs an environment
representation/       the fitted representation, if the learner needs one: a file for each part and representation.json
classes.json          class names by position, and the taxonomy if there is one
rows.npz              the training rows, if they are kept to explain predictions

Loading a model imports modules of installed plugins only; the user has to trust other classes by name. Files are read
only if they are regular files with the size and checksum in the manifest. A checksum detects damage, not forgery: a
person who can write to the folder can change the predictions, but cannot make the reader run code.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar

import numpy as np

from harness.data.load import checked_taxonomy
from harness.errors import DataError, ModelError, next_step_after, reason_of
from harness.files.atomic import build_folder
from harness.host.contract import TableLayout, Taxonomy
from harness.host.taxonomy import OPTIONAL
from harness.models.held_out import HeldOut
from harness.syntax.expression import Params

FORMAT, VERSION = "harness model", 2
"""The version increases when the meaning of the files changes. Models of other versions are not loaded."""
MAX_MANIFEST_BYTES = 2**24
SEAL = "sha256"
"""Key of the manifest that holds the checksum of all other keys."""

Read = TypeVar("Read")
SavedAs = Literal["archive", "skops"]
"""Way to save an estimator. archive: by its own method `save`. skops: by the package skops."""


@dataclass(frozen=True, kw_only=True)
class LearnerFile:
    """The fitted learner of a model."""

    name: str
    """Registered name of the learner, or "module:Class" of an importable estimator."""
    distribution: str
    """Distribution of the plugin that registers the name; empty for an importable estimator."""
    load: str
    """"module:Class" of the fitted object."""
    params: Params
    file: str
    saved_as: SavedAs
    expression: str = ""
    """The learner as in an experiment, to train it again; empty in models of earlier releases."""
    environment: tuple[str, ...] = ()
    """The packages of the environment that trained it; empty for a learner that runs in the Python of the harness."""


@dataclass(frozen=True, kw_only=True)
class TrainedOn:
    """The data that a model was trained on."""

    name: str
    source: str
    params: Params
    fingerprint: str
    rows: int
    classes: int
    revision: str = ""
    """Version of the data at its source, such as a commit."""
    table: TableLayout | None = None
    """Columns and format of the table file; None for data that was not read from a table."""
    updates: tuple[Mapping[str, Any], ...] = ()
    """Rows added later (`harness.models.update.Update`). `rows` and `classes` count them, `fingerprint` does not."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The expected accuracy, the number of rows it was measured on, and its source in words."""

    accuracy: float | None
    rows: int
    known_from: str


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """Size and checksum of a file."""

    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class ModelManifest:
    """Description of a model: the content of `manifest.json`."""

    learner: LearnerFile
    representation: str | None
    """The representation, written as in an experiment file; None if the learner takes rows unchanged."""
    takes_text: bool
    """True if the model predicts for texts, False for rows of numbers."""
    wants_dense: bool
    data: TrainedOn
    expected: Expected
    calibrator: Mapping[str, Any]
    """Kind and parameters of the function from scores to confidence (see `harness.stats.calibration`)."""
    reliability: Mapping[str, Any]
    """Calibration error of the confidence on held-out rows."""
    fitted: str
    """Time of training: UTC, ISO 8601."""
    versions: Mapping[str, str]
    files: Mapping[str, FileFacts] = field(default_factory=dict)
    held_out: HeldOut | None = None
    """Further measurements on held-out rows; None for a model of an older release."""


def manifest_to_text(manifest: ModelManifest) -> str:
    """Return the text of `manifest.json`, including the checksum of the manifest itself."""
    plain = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    plain = json.loads(json.dumps(plain, default=repr))
    return json.dumps({**plain, SEAL: seal_of(plain)}, indent=2) + "\n"


def seal_of(plain: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the keys and values of a manifest, without its checksum."""
    sealed = {key: value for key, value in plain.items() if key != SEAL}
    return hashlib.sha256(json.dumps(sealed, sort_keys=True).encode()).hexdigest()


def manifest_from_text(text: str) -> ModelManifest:
    """Return the manifest from the text of `manifest.json`.

    Raises
    ------
    ModelError
        If the text is not a manifest, has another version, was changed, or has a value of a wrong type.
    """
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{MANIFEST} is damaged: {first_line(error)}") from None
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise ModelError(f"{MANIFEST} does not describe a model")
    version = plain.get("version")
    if version != VERSION:
        raise ModelError(
            f"the model has version {version} of the format, expected {VERSION}",
            next_step="Fit it again, or use the release of harness that wrote it.",
        )
    if plain.get(SEAL) != seal_of(plain):
        raise ModelError(f"{MANIFEST} was changed (checksum)", next_step="Copy the folder again, or fit it again.")
    return _validated(plain)


def _validated(plain: Mapping[str, Any]) -> ModelManifest:
    from pydantic import ValidationError  # noqa: PLC0415 (only reading a model needs it)

    try:
        manifest: ModelManifest = _manifest_type().validate_json(json.dumps(plain), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ModelError(f"{MANIFEST} is damaged: {place}: {first['msg']}") from None
    return manifest


@cache
def _manifest_type() -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 (only reading a model needs it)

    return TypeAdapter(ModelManifest)


def first_line(error: BaseException) -> str:
    """Return the type of an error and the first line of its message."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


MANIFEST, CLASSES = "manifest.json", "classes.json"


@dataclass(frozen=True)
class ClassNames:
    """Class names by position, and the taxonomy if there is one."""

    names: tuple[str, ...]
    taxonomy: Taxonomy | None


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to `path` at the end of the block, or removed if the block raises.

    Raises
    ------
    ModelError
        If the path exists or cannot be written.
    """
    check_new(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with build_folder(path) as built:
            yield built
    except OSError as error:
        problem = f"cannot be written: {reason_of(error)}"
        raise ModelError(problem, culprit=str(path), next_step=next_step_after(error)) from error


def check_new(path: Path) -> None:
    """Raise ModelError if the path for a new model exists, is not a valid path, or is below a file."""
    try:
        exists = os.path.lexists(path)
        os.fsencode(path)
        is_long = any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in path.parts)
    except (OSError, ValueError) as error:
        raise ModelError(f"is not a path: {error}", culprit=str(path)) from None
    if is_long:
        raise ModelError("has a name of more than 255 bytes", culprit=str(path), next_step="Choose a shorter --out.")
    if exists:
        raise ModelError("exists already", culprit=str(path), next_step="Choose another --out.")
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir():
        raise ModelError(f"is below the file {above}", culprit=str(path), next_step="Choose another --out.")


MAX_NAME_BYTES = 255


def write_model_manifest(folder: Path, manifest: ModelManifest) -> ModelManifest:
    """Add the checksums of all files in a folder to the manifest, write it there, and return it."""
    files = {path.relative_to(folder).as_posix(): _facts(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    complete = replace(manifest, files=files)
    (folder / MANIFEST).write_text(manifest_to_text(complete), encoding="utf-8")
    return complete


def read_model_manifest(folder: Path) -> ModelManifest:
    """Return the manifest of a model, after comparing all files with their checksums.

    Raises
    ------
    ModelError
        If the folder is not a model, or if a file is missing, changed, or not a regular file.
    """
    try:
        manifest = manifest_from_text(_read_manifest_file(folder))
        _check_files(folder, manifest.files)
    except ModelError as error:
        raise error.about(f"model {folder}") from None
    return manifest


def read_steadily(place: Path, read: Callable[[], Read]) -> Read:
    """Return the result of reading a model from one version of its folder; read again if it was replaced meanwhile."""
    while True:
        before = _version_of(place)
        try:
            result = read()
        except ModelError:
            if before == _version_of(place):
                raise
        else:
            if before == _version_of(place):
                return result


def _version_of(place: Path) -> tuple[int, int] | None:
    """Return the identity of the folder, since another may have the same name later; None if it does not exist."""
    try:
        found = place.stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns  # the number of a removed folder may be given to the next one


def _read_manifest_file(folder: Path) -> str:
    path = folder / MANIFEST
    try:
        size = regular_size(path)
        if size > MAX_MANIFEST_BYTES:
            raise ModelError(f"{MANIFEST} has {size:,} bytes, expected at most {MAX_MANIFEST_BYTES:,}")
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        problem = f"has no {MANIFEST}" if folder.exists() else "does not exist"
        raise ModelError(
            f"not a model: the folder {problem}",
            culprit=str(folder),
            next_step="`harness fit ... --out FOLDER` writes a model.",
        ) from None
    except (OSError, ValueError) as error:
        problem, next_step = f"{MANIFEST} cannot be read: {reason_of(error)}", next_step_after(error)
        raise ModelError(problem, culprit=str(folder), next_step=next_step) from error


def regular_size(path: Path) -> int:
    """Return the size of a regular file.

    Raises
    ------
    ModelError
        If the path is a link, which may lead out of the folder, or a device or pipe, whose reading may never end.
    OSError
        If the path does not exist.
    """
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode):
        kind = "a link" if stat.S_ISLNK(facts.st_mode) else "not a regular file"
        raise ModelError(f"{path.name} is {kind}", next_step="Copy the files themselves into the folder.")
    return facts.st_size


def _check_files(folder: Path, files: Mapping[str, FileFacts]) -> None:
    for name, expected in files.items():
        _check_inside(folder, name)
        path = folder / name
        try:
            found = FileFacts(bytes=regular_size(path), sha256="")
            if found.bytes == expected.bytes:  # else the file differs, and there is no need to read it
                found = _facts(path)
        except (OSError, ValueError) as error:
            raise ModelError(f"{name} cannot be read: {error}", next_step="Copy the folder again.") from None
        if found != expected:
            raise ModelError(f"{name} was changed (checksum)", next_step="Copy the folder again, or fit it again.")


def _check_inside(folder: Path, name: str) -> None:
    """Raise ModelError for a file name that leads out of the folder, by `..` or through a linked folder."""
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in name:
        raise ModelError(f"{MANIFEST} names {name!r}, which is outside of the folder")
    for parent in list(pure.parents)[:-1]:
        if (folder / parent).is_symlink():
            raise ModelError(f"{parent} is a link", next_step="Copy the files themselves into the folder.")


def check_listed(manifest: ModelManifest, file: str) -> None:
    """Raise ModelError if the manifest has no checksum for a file."""
    if file not in manifest.files:
        raise ModelError(f"its manifest does not list {file!r}")


def check_only_listed(folder: Path, name: str, files: Mapping[str, FileFacts]) -> None:
    """Raise ModelError if a folder below the model has a link, or a file without a checksum.

    A tool reads its folder by itself, and may read any file in it.
    """
    for place, folders, names in os.walk(folder / name):
        for one in sorted([*folders, *names]):
            path = Path(place, one)
            listed = path.relative_to(folder).as_posix()
            if path.is_symlink():
                raise ModelError(f"{listed} is a link", next_step="Copy the files themselves into the folder.")
            if one in names and listed not in files:
                raise ModelError(f"its manifest does not list {listed!r}", next_step="Remove the file.")


def copy_regular(source: Path, target: Path, facts: Mapping[str, FileFacts] | None = None) -> None:
    """Copy a file, or a folder with all its files, as part of a model.

    Parameters
    ----------
    source, target : Path
        An existing file or folder, and a path that does not exist.
    facts : mapping, optional
        Expected sizes and checksums, by path below the parent of `source`.

    Raises
    ------
    ModelError
        If there is a link or a device, or if a file differs from its checksum.
    """
    places = [source]
    for place in places:  # grows while it is read
        copied = target / place.relative_to(source)
        if place.is_dir() and not place.is_symlink():
            copied.mkdir()
            places += sorted(place.iterdir())
            continue
        regular_size(place)
        shutil.copyfile(place, copied)
        if facts is not None and facts.get(place.relative_to(source.parent).as_posix()) != _facts(copied):
            raise ModelError(f"{place.name} was changed (checksum)", next_step="Load the model again.")


def _facts(path: Path) -> FileFacts:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        size = os.fstat(file.fileno()).st_size
    return FileFacts(bytes=size, sha256=digest.hexdigest())


# -- classes ---------------------------------------------------------------------------------------------------------


def write_classes(folder: Path, classes: ClassNames) -> None:
    """Write the class names and the taxonomy to `classes.json` in a folder."""
    plain: dict[str, Any] = {"names": list(classes.names), "taxonomy": None}
    tree = classes.taxonomy
    if tree is not None:
        plain["taxonomy"] = {
            "parent": tree.parent.tolist(),
            "class_node": tree.class_node.tolist(),
            "node_names": list(tree.node_names),
        }
        for name in OPTIONAL:
            values = getattr(tree, name)
            if values is not None:
                plain["taxonomy"][name] = values.tolist()
    (folder / CLASSES).write_text(json.dumps(plain), encoding="utf-8")


def read_classes(folder: Path) -> ClassNames:
    """Return the class names and the taxonomy of a model; raise ModelError if `classes.json` is invalid."""
    try:
        plain = json.loads((folder / CLASSES).read_text(encoding="utf-8"))
        names, tree = _checked_names(plain["names"]), plain["taxonomy"]
        if tree is None:
            return ClassNames(names, None)
        parent, class_node = np.array(tree["parent"], np.int64), np.array(tree["class_node"], np.int64)
        more = {name: np.array(tree[name]) for name in OPTIONAL if name in tree}
        taxonomy = Taxonomy(parent, class_node, tuple(tree["node_names"]), **more)
        return ClassNames(names, checked_taxonomy(taxonomy, len(names)))
    except (DataError, OSError, KeyError, IndexError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ModelError(f"{CLASSES} cannot be read: {first_line(error)}", culprit=f"model {folder}") from error


def _checked_names(names: object) -> tuple[str, ...]:
    """Return class names; ValueError unless they are texts that can be printed."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("expected a list of names")
    for name in names:
        name.encode()  # raises UnicodeEncodeError for half a surrogate pair
    return tuple(names)
