"""Fitted representations in a folder without pickle, and back: chains and unions of them included.

A representation that can be kept has `save(path)`, which writes what was fitted to one file, and a class method
`load(path)`, which gives it back (`harness.sdk.saving.Saved` has both). A chain is scikit-learn's `Pipeline`, a union
its `FeatureUnion`; the folder holds one file for each of their members and `representation.json`, which says what is
where.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sklearn.pipeline import FeatureUnion, Pipeline

from harness.sdk.description import class_name, class_named
from harness.sdk.saving import load_saved

PLAN = "representation.json"
Write = Callable[[Any, Path], None]
Read = Callable[[Path], Any]


@runtime_checkable
class SavedRepresentation(Protocol):
    """What a representation has that can be kept: `save(path)`, and a class method `load(path)` that gives it back."""

    def fit(self, rows: Any, y: Any = None) -> Any: ...

    def transform(self, rows: Any) -> Any: ...

    def save(self, path: str | PathLike[str]) -> None: ...


def save_representation(fitted: Any, folder: Path, write_foreign: Write | None = None) -> None:
    """Write a fitted representation into a folder, which is made; what has no `save` goes to `write_foreign`.

    ValueError names a transformer that neither can be saved nor has anybody to write it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plan = _save(fitted, folder, "1", write_foreign)
    (folder / PLAN).write_text(json.dumps(plan, indent=1) + "\n")


def load_representation(folder: Path, read_foreign: Read | None = None) -> Any:
    """The representation that a folder holds; ValueError where it is damaged or of a class that is not at hand.

    Its arrays are mapped, and not compared with any checksum: a model's folder has one for each file.
    """
    try:
        return _load(json.loads((folder / PLAN).read_text()), folder, read_foreign)
    except (OSError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{folder}: no representation, or damaged ({type(error).__name__}: {error})") from error


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


def _load(plan: dict[str, Any], folder: Path, read_foreign: Read | None) -> Any:
    if plan["kind"] in MEMBERS:
        members = []
        for number, member in enumerate(plan["members"], 1):
            members.append((str(number), _load(member, folder, read_foreign)))
        return Pipeline(members) if plan["kind"] == "chain" else FeatureUnion(members)
    file = folder / Path(plan["file"]).name
    if plan["kind"] == "saved":
        return load_saved(class_named(plan["class"]), file)
    if read_foreign is None:
        raise ValueError(f"{file}: a transformer of another package, which nobody here can read")
    return read_foreign(file)
