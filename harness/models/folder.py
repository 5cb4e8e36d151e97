"""Read and write the folder of a model: its manifest, and its fitted estimators as files without pickle.

manifest.json         learner, data, expected accuracy, calibration; the checksum of each other file and of itself
learner.npz           the learner (learner.skops if it cannot save itself)
representation/       the fitted representation, if the learner needs one: a file for each part and representation.json
classes.json          class names by position, and the taxonomy if there is one

Loading a model imports modules of installed plugins only; the user has to trust other classes by name. Files are read
only if they are regular files with the size and checksum in the manifest. A checksum detects damage, not forgery: a
person who can write to the folder can change the predictions, but cannot make the reader run code.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from sklearn.pipeline import FeatureUnion, Pipeline

from harness.data.load import checked_taxonomy
from harness.errors import DataError, ModelError, UnknownName
from harness.files.atomic import build_folder
from harness.host.catalog import Catalog
from harness.host.contract import TableLayout, Taxonomy
from harness.models.held_out import HeldOut
from harness.sdk.saving import class_name, class_named, load_saved
from harness.syntax.expression import Params

FORMAT, VERSION = "harness model", 2
"""The version increases when the meaning of the files changes. Models of other versions are not loaded."""
MAX_MANIFEST_BYTES = 2**24
SEAL = "sha256"
"""Key of the manifest that holds the checksum of all other keys."""

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
        raise ModelError(f"{MANIFEST} is damaged: {_first_line(error)}") from None
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


def _first_line(error: BaseException) -> str:
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
        raise ModelError(f"cannot be written: {error.strerror}", culprit=str(path)) from error


def check_new(path: Path) -> None:
    """Raise ModelError if the path for a new model exists or is not a valid path."""
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
        raise ModelError(f"{MANIFEST} cannot be read: {error}", culprit=str(folder)) from error


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
            raise ModelError(f"{name} cannot be read: {error}", next_step="Copy the whole folder again.") from None
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
    (folder / CLASSES).write_text(json.dumps(plain), encoding="utf-8")


def read_classes(folder: Path) -> ClassNames:
    """Return the class names and the taxonomy of a model; raise ModelError if `classes.json` is invalid."""
    try:
        plain = json.loads((folder / CLASSES).read_text(encoding="utf-8"))
        names, tree = tuple(map(str, plain["names"])), plain["taxonomy"]
        if tree is None:
            return ClassNames(names, None)
        parent, class_node = np.array(tree["parent"], np.int64), np.array(tree["class_node"], np.int64)
        taxonomy = Taxonomy(parent, class_node, tuple(tree["node_names"]))
        return ClassNames(names, checked_taxonomy(taxonomy, len(names)))
    except (DataError, OSError, KeyError, IndexError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ModelError(f"{CLASSES} cannot be read: {_first_line(error)}", culprit=f"model {folder}") from error


# -- learners --------------------------------------------------------------------------------------------------------

SKOPS_EXTRA = "pip install 'manyclass-harness[skops]'"
ENDINGS: dict[SavedAs, str] = {"archive": ".npz", "skops": ".skops"}


def saved_as(estimator: Any) -> SavedAs:
    """Return how to save an estimator: "archive" if its class has `save` and `load`, else "skops"."""
    kind = type(estimator)
    return "archive" if hasattr(kind, "save") and hasattr(kind, "load") else "skops"


def save_learner(learner: Any, path: Path) -> None:
    """Write a fitted learner to a file; raise ModelError if it cannot be saved without pickle."""
    if saved_as(learner) == "skops":
        write_foreign(learner, path)
        return
    try:
        learner.save(path)
    except ValueError as error:
        raise ModelError(f"{type(learner).__name__} cannot be saved: {error}") from error


def load_learner(path: Path, part: LearnerFile, catalog: Catalog, trusted: Iterable[str] = ()) -> Any:
    """Return the fitted learner of a model.

    Parameters
    ----------
    path : the file, whose checksum is already verified.
    part : its description in the manifest.
    catalog : the registered learners. The class must belong to one of them, or be trusted.
    trusted : further types that may be loaded, such as "my_package.Mine".

    Raises
    ------
    ModelError
        If the learner is not installed or not trusted, or if the file is damaged.
    """
    if part.saved_as == "skops":
        return read_foreign(path, trusted)
    cls = find_class(part, catalog, trusted)
    try:
        return load_saved(cls, path)
    except Exception as error:  # code of a plugin reads the file, and can raise any error
        raise ModelError(f"{path.name} cannot be read: {error}") from error


def find_class(part: LearnerFile, catalog: Catalog, trusted: Iterable[str] = ()) -> Any:
    """Return the class of a saved learner.

    Raises
    ------
    ModelError
        If the class is neither trusted nor in the package of the registered learner, or cannot be imported.
    """
    module, _, attribute = part.load.partition(":")
    if f"{module}.{attribute}" in frozenset(trusted):
        return _import_class(part.load, is_trusted=True)
    try:
        registered = catalog.learner(part.name).spec.load.partition(":")[0]
    except UnknownName:
        raise _not_installed(part) from None
    if _package_of(module) != _package_of(registered):
        raise ModelError(
            f"{part.load} is not the learner {part.name!r}, which is in {_package_of(registered)}",
            next_step=f"If you trust the author of the model, use --trust {module}.{attribute}.",
        )
    return _import_class(part.load)


def _not_installed(part: LearnerFile) -> ModelError:
    if ":" in part.name:
        trust = part.load.replace(":", ".")
        return ModelError(
            f"its learner {part.load} belongs to no plugin",
            next_step=f"If you trust the author of the model, use --trust {trust}, in Python trusted=[{trust!r}].",
        )
    source = f" of {part.distribution}" if part.distribution else ""
    return ModelError(
        f"its learner {part.name!r}{source} ({part.load}) is not installed",
        next_step=f"Install {part.distribution or 'the plugin'}, or name its folder with --plugins-dir.",
    )


def _import_class(load: str, *, is_trusted: bool = False) -> Any:
    try:
        return class_named(load, is_trusted=is_trusted)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ModelError(f"its class {load} cannot be used: {error}") from error


def _package_of(module: str) -> str:
    return module.partition(".")[0]


def write_foreign(estimator: Any, path: Path) -> None:
    """Write an estimator that has no `save` by skops; raise ModelError if skops cannot write it."""
    skops = _import_skops(type(estimator).__name__)
    try:
        skops.dump(estimator, path)
    except Exception as error:  # skops reads attributes of the estimator, which can raise any error
        raise ModelError(
            f"{type(estimator).__name__} cannot be saved without pickle: {type(error).__name__}: {error}"
        ) from error


def read_foreign(path: Path, trusted: Iterable[str]) -> Any:
    """Return an estimator that skops wrote; raise ModelError if it has types that are not trusted."""
    skops = _import_skops(path.name)
    try:
        found = frozenset(skops.get_untrusted_types(file=path))
        unknown = sorted(found.difference(trusted))
        if not unknown:
            return skops.load(path, trusted=sorted(found))
    except Exception as error:  # a damaged file can raise any error
        raise ModelError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error
    raise ModelError(
        f"{path.name} has types that are not trusted: {', '.join(unknown)}",
        next_step="If you trust the author of the model, name them: --trust TYPE, in Python trusted=[...].",
    )


def _import_skops(what: str) -> Any:
    try:
        import skops.io  # noqa: PLC0415 (an extra, for learners without `save`)
    except ImportError as error:
        raise ModelError(f"{what} needs skops", next_step=f"Run {SKOPS_EXTRA}") from error
    return skops.io


# -- representations -------------------------------------------------------------------------------------------------

PLAN = "representation.json"
Write = Callable[[Any, Path], None]
Read = Callable[[Path], Any]


@runtime_checkable
class SavedRepresentation(Protocol):
    """A representation that can save itself. It also has the class method `load(path)`."""

    def fit(self, rows: Any, y: Any = None) -> Any: ...

    def transform(self, rows: Any) -> Any: ...

    def save(self, path: str | PathLike[str]) -> None: ...


def save_representation(fitted: Any, folder: Path, write_foreign: Write | None = None) -> None:
    """Write a fitted representation into a new folder.

    A `Pipeline` or `FeatureUnion` of scikit-learn is saved with a file for each of its members. The file
    `representation.json` describes how they are combined.

    Parameters
    ----------
    fitted : the fitted transformer.
    folder : the folder to create.
    write_foreign : function that writes a transformer that has no `save`.

    Raises
    ------
    ValueError
        If a transformer has no `save`, and `write_foreign` is None.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plan = _save(fitted, folder, "1", write_foreign)
    (folder / PLAN).write_text(json.dumps(plan, indent=1) + "\n")


def load_representation(folder: Path, read_foreign: Read | None = None, files: Iterable[str] | None = None) -> Any:
    """Return the fitted representation from a folder.

    The arrays are memory-mapped without verifying checksums, so verify those of the model before.

    Parameters
    ----------
    folder : the folder that `save_representation` wrote.
    read_foreign : function that reads a file that `write_foreign` wrote.
    files : names of the files that may be read, each once; None for all files.

    Raises
    ------
    ValueError
        If a file is damaged, or if a class is not installed.
    """
    unread = None if files is None else set(files)
    try:
        return _load(json.loads((folder / PLAN).read_text()), folder, read_foreign, unread)
    except (OSError, KeyError, TypeError, AttributeError, RecursionError, ImportError) as error:
        raise ValueError(f"the representation is damaged ({_first_line(error)})") from error


def _save(fitted: Any, folder: Path, name: str, write_foreign: Write | None) -> dict[str, Any]:
    kind = _kind_of(fitted)
    if kind is not None:
        members = [member for _, member in getattr(fitted, MEMBERS[kind])]
        saved = []
        for number, member in enumerate(members, 1):
            saved.append(_save(member, folder, f"{name}.{number}", write_foreign))
        return {"kind": kind, "members": saved}
    if isinstance(fitted, SavedRepresentation):
        file = f"{name}.npz"
        fitted.save(folder / file)
        return {"kind": "saved", "class": class_name(type(fitted)), "file": file}
    if write_foreign is None:
        raise ValueError(f"{class_name(type(fitted))} cannot be saved: it has no method save(path)")
    file = f"{name}.foreign"
    write_foreign(fitted, folder / file)
    return {"kind": "foreign", "file": file}


MEMBERS = {"chain": "steps", "union": "transformer_list"}


def _kind_of(fitted: Any) -> str | None:
    if isinstance(fitted, Pipeline):
        return "chain"
    return "union" if isinstance(fitted, FeatureUnion) else None


def _load(plan: dict[str, Any], folder: Path, read_foreign: Read | None, unread: set[str] | None) -> Any:
    if plan["kind"] in MEMBERS:
        members = []
        for number, member in enumerate(plan["members"], 1):
            members.append((str(number), _load(member, folder, read_foreign, unread)))
        if not members:
            raise ValueError(f"the representation is damaged: an empty {plan['kind']}")
        return Pipeline(members) if plan["kind"] == "chain" else FeatureUnion(members)
    file = folder / _take(str(plan["file"]), unread)
    if plan["kind"] == "saved":
        return load_saved(class_named(plan["class"]), file)
    if read_foreign is None:
        raise ValueError(f"{file}: a transformer of another package, which cannot be read here")
    return read_foreign(file)


def _take(name: str, unread: set[str] | None) -> str:
    """Return a file name from the plan and mark it as read; ValueError if it is not listed or was already read."""
    if Path(name).name != name or (unread is not None and name not in unread):
        raise ValueError(f"the representation is damaged: {name!r} is not one of its files, or appears twice")
    if unread is not None:
        unread.remove(name)
    return name
