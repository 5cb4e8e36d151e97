"""The environments that are kept in the data home: listed, and removed."""

from __future__ import annotations

from dataclasses import dataclass

from harness.data.folders import remove, size_of
from harness.environments.environment import FAILED, MANIFEST, Manifest, read_manifest
from harness.errors import UnknownName
from harness.home import environments_root
from harness.suggestions import nearest


@dataclass(frozen=True)
class KeptEnvironment:
    """An environment as it lies in the data home, whichever learner it is for."""

    name: str
    manifest: Manifest
    n_bytes: int


def list_environments() -> list[KeptEnvironment]:
    """All that are kept, by name."""
    kept = []
    for file in sorted(environments_root().glob(f"[!.]*/{MANIFEST}")):
        manifest = read_manifest(file.parent)
        if manifest is not None:
            kept.append(KeptEnvironment(file.parent.name, manifest, size_of(file.parent)))
    return kept


def check_kept(name: str) -> None:
    """UnknownName where there is neither an environment of this name nor a word of one that could not be built."""
    known = {path.name.removesuffix(FAILED) for path in environments_root().glob("[!.]*")}
    if name not in known:
        near = nearest(name, sorted(known))
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UnknownName(f"no environment {name!r} is kept; {hint}`harness env list` shows those that are")


def remove_environment(name: str) -> None:
    """Remove one by its name, in one step, or what is kept of a build that failed; asked for again, it is built."""
    check_kept(name)
    folder = environments_root() / name
    if folder.is_dir():
        remove(folder)
    (environments_root() / f"{name}{FAILED}").unlink(missing_ok=True)
