"""Fitted estimators as files without pickle: numpy archives of those that save themselves, skops for the others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.errors import ModelError
from harness.models.manifest import SavedAs
from harness.sdk.saving import load_saved
from harness.signature import import_target

SKOPS_EXTRA = "pip install 'manyclass-harness[skops]'"
ENDINGS: dict[SavedAs, str] = {"archive": ".npz", "skops": ".skops"}


def saved_as(estimator: Any) -> SavedAs:
    """How an estimator is kept: by itself where it knows how."""
    kind = type(estimator)
    return "archive" if hasattr(kind, "save") and hasattr(kind, "load") else "skops"


def save_learner(learner: Any, path: Path) -> None:
    """Write a fitted learner; ModelError where it cannot be kept without pickle."""
    if saved_as(learner) == "skops":
        write_foreign(learner, path)
        return
    try:
        learner.save(path)
    except ValueError as error:
        raise ModelError(f"{type(learner).__name__} cannot be kept: {error}") from error


def load_learner(path: Path, load: str, kind: SavedAs, trusted: Iterable[str] = ()) -> Any:
    """Read a fitted learner; ModelError where the file is damaged, another's, or holds types that nobody trusts."""
    if kind == "archive":
        return _load_archive(path, load)
    if kind == "skops":
        return read_foreign(path, trusted)
    raise ModelError(f"{path.name} was saved as {kind!r}: expected one of {', '.join(ENDINGS)}")


def _load_archive(path: Path, load: str) -> Any:
    try:
        cls = import_target(load)
    except (ImportError, AttributeError) as error:
        raise ModelError(f"it needs {load}, which is not here: {error}", next_step="install what brings it") from error
    try:
        return load_saved(cls, path)
    except (AttributeError, ValueError, OSError) as error:
        raise ModelError(f"{path.name} cannot be read: {error}") from error


def write_foreign(estimator: Any, path: Path) -> None:
    """Write an estimator that cannot save itself; ModelError where it cannot be kept without pickle."""
    skops = _import_skops(type(estimator).__name__)
    try:
        skops.dump(estimator, path)
    except Exception as error:  # whatever the estimator holds may refuse to be written, in ways of its own
        raise ModelError(
            f"{type(estimator).__name__} cannot be kept without pickle: {type(error).__name__}: {error}"
        ) from error


def read_foreign(path: Path, trusted: Iterable[str]) -> Any:
    """Read such an estimator; ModelError names the types in it that are neither scikit-learn's nor trusted."""
    skops = _import_skops(path.name)
    try:
        found = frozenset(skops.get_untrusted_types(file=path))
        unknown = sorted(found.difference(trusted))
        if not unknown:
            return skops.load(path, trusted=sorted(found))
    except Exception as error:  # a damaged or foreign file can fail anywhere on the way
        raise ModelError(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error
    raise ModelError(
        f"{path.name} holds types that are not trusted: {', '.join(unknown)}",
        next_step="if you trust who made the model, name them: load_model(..., trusted=[...]), or --trust TYPE",
    )


def _import_skops(what: str) -> Any:
    try:
        import skops.io  # noqa: PLC0415 (an extra, for learners that cannot save themselves)
    except ImportError as error:
        raise ModelError(f"{what}: learners that cannot save themselves need skops", next_step=SKOPS_EXTRA) from error
    return skops.io
