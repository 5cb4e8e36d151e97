"""A model as a folder: a manifest with the checksums of all other files, the estimators, class names, the class tree.

manifest.json         what it is, from which data, what accuracy to expect, and the checksum of each other file
learner.npz           the learner (learner.skops where it cannot save itself)
representation/       what is made of rows before the learner sees them, where anything is
classes.json          the class names by position, and the class tree where there is one
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.contract import Taxonomy
from harness.errors import ModelError
from harness.models.manifest import FileFacts, Manifest, manifest_from_text, manifest_to_text

MANIFEST, CLASSES = "manifest.json", "classes.json"


@dataclass(frozen=True)
class ClassNames:
    """The class names by position, and the class tree where there is one."""

    names: tuple[str, ...]
    taxonomy: Taxonomy | None


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to write a model into, which takes its place when all is written; else nothing is left of it."""
    if path.exists():
        raise ModelError("there is something of this name already", culprit=str(path), next_step="choose another --out")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise ModelError(f"cannot be written: {error.strerror}", culprit=str(path)) from error
    try:
        yield beside
        beside.chmod(0o755)
        os.rename(beside, path)
    except OSError as error:
        raise ModelError(f"cannot be written: {error.strerror}", culprit=str(path)) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_manifest(folder: Path, manifest: Manifest) -> Manifest:
    """Write the manifest of a folder whose other files are all there; gives it with their checksums."""
    files = {path.relative_to(folder).as_posix(): _facts(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    whole = replace(manifest, files=files)
    (folder / MANIFEST).write_text(manifest_to_text(whole), encoding="utf-8")
    return whole


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a model, its files checked to be those that were written; ModelError says what is wrong."""
    path = folder / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        wrong = f"has no {MANIFEST}" if folder.exists() else "is not there"
        raise ModelError(
            f"is no model: it {wrong}", culprit=str(folder), next_step="`harness fit ... --out FOLDER` makes one"
        ) from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{MANIFEST} cannot be read: {error}", culprit=str(folder)) from error
    try:
        manifest = manifest_from_text(text)
        _check_files(folder, manifest.files)
    except ModelError as error:
        raise error.about(f"model {folder}") from None
    return manifest


def _check_files(folder: Path, files: Mapping[str, FileFacts]) -> None:
    for name, told in files.items():
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ModelError(f"its manifest names {name!r}, which is outside of the folder")
        try:
            found = _facts(folder / name)
        except OSError as error:
            raise ModelError(f"{name} cannot be read: {error.strerror}", next_step="copy the whole folder") from None
        if found != told:
            raise ModelError(
                f"{name} is not the file that was written (checksum)", next_step="copy it again, or fit it again"
            )


def _facts(path: Path) -> FileFacts:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return FileFacts(bytes=path.stat().st_size, sha256=digest.hexdigest())


# -- classes ---------------------------------------------------------------------------------------------------------


def write_classes(folder: Path, classes: ClassNames) -> None:
    """Write the class names and the class tree."""
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
    """The class names and the class tree; ModelError where the file makes no sense."""
    try:
        plain = json.loads((folder / CLASSES).read_text(encoding="utf-8"))
        names, tree = tuple(map(str, plain["names"])), plain["taxonomy"]
        if tree is None:
            return ClassNames(names, None)
        parent, class_node = np.array(tree["parent"], np.int64), np.array(tree["class_node"], np.int64)
        return ClassNames(names, Taxonomy(parent, class_node, tuple(tree["node_names"])))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{CLASSES} cannot be read: {error}", culprit=f"model {folder}") from error
