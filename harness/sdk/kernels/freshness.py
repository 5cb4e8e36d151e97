"""Whether compiled code is still that of its source: a stamp of a file and of all kernels that it imports.

What a kernel calls from other files is compiled into it, so an edit there must count as one to the kernel. An import is
followed where it leads beside the file, or to a module with `kernels` in its name, of whichever package: what kernels
are compiled from, and nothing that they cannot reach.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

KERNELS_NAME = "kernels"
"""What a package calls the folder, or the module, with its kernels."""


@cache
def stamp_of(file: str) -> bytes:
    """The content of a file and of all kernels that it imports, however far."""
    found: set[Path] = set()
    waiting = [Path(file)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += imported_by(path)
    digest = sha256()
    for path in sorted(found):
        digest.update(path.read_bytes())
    return digest.digest()


@cache
def imported_by(file: Path) -> frozenset[Path]:
    """The kernels that a file imports."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.update(_files_of(alias.name, [], file.parent))
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if node.level:
                found.update(_files_below(file.parents[node.level - 1], node.module or "", names))
            else:
                found.update(_files_of(node.module or "", names, file.parent))
    return frozenset(found)


def _files_of(module: str, names: list[str], folder: Path) -> Iterator[Path]:
    """The files of `import module`, or of `from module import names`, in a file of this folder."""
    yield from _files_below(folder, module, names)
    if KERNELS_NAME in [*module.split("."), *names]:
        spec = _spec_of(module)
        yield from _source_of(spec)
        if spec is not None and spec.submodule_search_locations:
            for name in names:
                yield from _source_of(_spec_of(f"{module}.{name}"))


def _files_below(folder: Path, module: str, names: list[str]) -> Iterator[Path]:
    """The same where the module is looked for below a folder: it is beside the file, or was imported relative to it."""
    place = folder / module.replace(".", "/")
    sources = [place.with_suffix(".py")] if module else []
    sources += [place / f"{name}.py" for name in ["__init__", *names]]
    for source in sources:
        if source.is_file():
            yield source


def _spec_of(module: str) -> ModuleSpec | None:
    """Where a module is; the packages around it are imported, and not the module itself."""
    try:
        return find_spec(module)
    except ModuleNotFoundError:
        return None


def _source_of(spec: ModuleSpec | None) -> Iterator[Path]:
    if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
        yield Path(spec.origin)
