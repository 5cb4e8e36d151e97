"""Save and load fitted estimators of a model without pickle: the learner and the representation.

Estimators with `save` and `load` write numpy archives; all others are written by skops. Only classes of installed
plugins, and types that the user trusts, are loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from scipy.sparse import coo_array, csc_array, csr_array

from harness.errors import ModelError, UnknownName
from harness.host.catalog import Catalog
from harness.models.folder import LearnerFile, SavedAs, first_line
from harness.sdk.saving import class_name, class_named, load_saved

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
    path : Path
        The file, whose checksum is already verified.
    part : LearnerFile
        Its description in the manifest.
    catalog : Catalog
        The registered learners. The class must belong to one of them, or be trusted.
    trusted : iterable of str, default=()
        Further types that may be loaded, such as "my_package.Mine".

    Raises
    ------
    ModelError
        If the learner is not installed or not trusted, or if the file is damaged.
    """
    if part.saved_as == "skops":
        return read_foreign(path, [*trusted, *_own_type(part, catalog)])
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


def _own_type(part: LearnerFile, catalog: Catalog) -> list[str]:
    """Return the class of the registered learner as skops names it; empty if the file names another class."""
    registered = [entry.spec.load for entry in catalog.learners if entry.spec.name == part.name]
    return [part.load.replace(":", ".")] if part.load in registered else []


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


SPARSE_TYPES = frozenset(f"{kind.__module__}.{kind.__name__}" for kind in (csr_array, csc_array, coo_array))
"""Plain data that skops does not know: it trusts the matrices of scipy, but not the arrays."""


def write_foreign(estimator: Any, path: Path) -> None:
    """Write an estimator that has no `save` by skops; raise ModelError if skops cannot write it."""
    skops = _import_skops(type(estimator).__name__)
    try:
        skops.dump(estimator, path)
    except Exception as error:  # skops reads attributes of the estimator, which can raise any error
        raise ModelError(
            f"{type(estimator).__name__} cannot be saved without pickle: {type(error).__name__}: {error}"
        ) from error


def read_foreign(path: Path, trusted: Iterable[str] | None) -> Any:
    """Return an estimator that skops wrote; raise ModelError if it has types that are not trusted.

    None trusts all types, for a file that was just written.
    """
    skops = _import_skops(path.name)
    try:
        found = frozenset(skops.get_untrusted_types(file=path))
        unknown = [] if trusted is None else sorted(found.difference(trusted, SPARSE_TYPES))
        if not unknown:
            return skops.load(path, trusted=sorted(found))
    except Exception as error:  # a damaged file can raise any error
        raise ModelError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error
    trouble = f"{path.name} has types that are not trusted: {', '.join(unknown)}"
    way = f"--trust {' --trust '.join(unknown)}, in Python trusted={unknown!r}"
    raise ModelError(trouble, next_step=f"If you trust the author of the model, use {way}.")


def _import_skops(what: str) -> Any:
    try:
        import skops.io  # noqa: PLC0415 (an extra, for learners without `save`)
    except ImportError as error:
        raise ModelError(f"{what} needs skops", next_step=f"Run `{SKOPS_EXTRA}`.") from error
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
    fitted : object
        The fitted transformer.
    folder : Path
        The folder to create.
    write_foreign : Write, optional
        Function that writes a transformer that has no `save`.

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
    folder : Path
        The folder that `save_representation` wrote.
    read_foreign : Read, optional
        Function that reads a file that `write_foreign` wrote.
    files : iterable of str, optional
        Names of the files that may be read, each once; None for all files.

    Raises
    ------
    ValueError
        If a file is damaged, or if a class is not installed.
    """
    unread = None if files is None else set(files)
    try:
        return _load(json.loads((folder / PLAN).read_text()), folder, read_foreign, unread)
    except (OSError, KeyError, TypeError, AttributeError, RecursionError, ImportError) as error:
        raise ValueError(f"the representation is damaged ({first_line(error)})") from error


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
    from sklearn.pipeline import FeatureUnion, Pipeline  # noqa: PLC0415 (a model without them loads sooner)

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
        from sklearn.pipeline import FeatureUnion, Pipeline  # noqa: PLC0415 (as above)

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
