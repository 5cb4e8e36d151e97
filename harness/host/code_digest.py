"""Digest of the code that decides a learner's results.

A version number is not enough: authors edit plugins in place, and results of the old code must not be taken for those
of the new code. The digest changes only with the behaviour of code: comments, docstrings, file names and the order of
definitions do not count. Files are found and read without importing anything.
"""

from __future__ import annotations

import ast
import hashlib
import sysconfig
from collections.abc import Collection, Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from harness.host.catalog import HOST_DISTRIBUTION, Origin
from harness.host.introspection import locate

TRIAL_PROTOCOL = 1
"""Version of the procedure of a trial. Increase it when a change of `harness.trials` changes the results of trials."""
HOST = Path(__file__).parent.parent
SDK = HOST / "sdk"
LOADERS = SDK / "reading"
"""Code that reads files of datasets. It is not in the digest, since the fingerprint of a dataset covers its effect."""
COMPILED = (".so", ".pyd", ".dylib")


def code_of(load: str, origin: Origin) -> str:
    """Return the digest of all code that decides the results of a learner.

    Parameters
    ----------
    load : str
        The learner's class, as `module:Class`.
    origin : Origin
        The plugin and the distribution that registered the learner.

    Returns
    -------
    str
        Twelve hexadecimal digits. They cover the learner's package, its distribution, the sdk and the trial protocol.
    """
    package = load.partition(":")[0].partition(".")[0]
    own = {*_files_of_package(package), *_files_of_distribution(origin.distribution)}
    sdk = _statements(_sdk_files(), frozenset({"harness"}))
    return _digest_of([f"trial protocol {TRIAL_PROTOCOL}", *sdk, *_statements(own, frozenset({"harness", package}))])


def host_code() -> str:
    """Return the digest of all code of the harness itself."""
    return _digest_of(_statements(_code_below(HOST), frozenset({"harness"})))


def _digest_of(parts: Iterable[str]) -> str:
    # Sort the parts, so that moving code between files does not change the digest.
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:12]


def _statements(files: Iterable[Path], internal: frozenset[str]) -> list[str]:
    return [digest for file in files for digest in _digests_of_file(file, internal)]


def _digests_of_file(file: Path, internal: frozenset[str]) -> tuple[str, ...]:
    """Return a digest for each statement of a Python source file; one text for other files."""
    try:
        if file.suffix in COMPILED:  # too large to hash; the size differs between most builds
            return (f"{file.name} {file.stat().st_size}",)
        return _digests_of_source(file.read_bytes(), internal)
    except OSError:  # the import reports an unreadable file
        return (file.name,)


@cache
def _digests_of_source(content: bytes, internal: frozenset[str]) -> tuple[str, ...]:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # the import will report it
        return (hashlib.sha256(content).hexdigest(),)
    texts = [_canonical(node, internal) for node in tree.body if not _is_text(node)]
    return tuple(hashlib.sha256(text.encode()).hexdigest() for text in texts)


def _canonical(node: ast.AST, internal: Collection[str]) -> str:
    """Return a syntax tree as text that is the same in every version of Python.

    Empty fields are left out, since new versions of Python add fields. Docstrings are left out. For imports from
    `internal` packages, which the digest covers, only the imported names count: such code may move between modules.
    """
    parts = []
    for name, value in ast.iter_fields(node):
        if name == "kind" or (name in ("module", "level") and _is_internal(node, internal)):
            continue
        if isinstance(value, ast.AST):
            parts.append(f"{name}={_canonical(value, internal)}")
        elif isinstance(value, list):
            items = [_canonical(item, internal) if isinstance(item, ast.AST) else repr(item) for item in value]
            kept = [text for item, text in zip(value, items, strict=True) if not _is_text(item)]
            if kept:
                parts.append(f"{name}=[{','.join(kept)}]")
        elif value is not None:
            parts.append(f"{name}={value!r}")
    return f"{type(node).__name__}({','.join(parts)})"


def _is_internal(node: ast.AST, internal: Collection[str]) -> bool:
    if not isinstance(node, ast.ImportFrom):
        return False
    return node.level > 0 or (node.module or "").partition(".")[0] in internal


def _is_text(node: object) -> bool:
    """Return whether a statement is only a string: a docstring, or the description of an attribute."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _sdk_files() -> list[Path]:
    return [file for file in _code_below(SDK) if not file.is_relative_to(LOADERS)]


def _files_of_package(package: str) -> list[Path]:
    """Return the files of a package, or of a single module and the code beside it, which it may import."""
    try:
        spec = locate(package)
    except Exception:  # an import finder failed; the trial will report it
        return []
    if spec is None:
        return []
    folders = spec.submodule_search_locations
    if folders is not None:
        return [file for folder in folders for file in _code_below(Path(folder))]
    if not spec.has_location or spec.origin is None:
        return []
    file = Path(spec.origin)
    return [file] if _is_library(file.parent) else _code_beside(file)


def _code_below(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.suffix in (".py", *COMPILED)]


def _code_beside(file: Path) -> list[Path]:
    """Return the modules and packages in the folder of a file."""
    files = [other for other in file.parent.iterdir() if other.suffix in (".py", *COMPILED)]
    for inside in file.parent.iterdir():
        if (inside / "__init__.py").is_file():
            files += _code_below(inside)
    return files


def _is_library(folder: Path) -> bool:
    """Return whether a folder holds installed packages, where the files beside a module are unrelated to it."""
    paths = sysconfig.get_paths()
    return str(folder) in (paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"])


def _files_of_distribution(name: str) -> list[Path]:
    """Return the code files of an installed distribution, editable installs included.

    The distribution of the harness has none here: an edit of one built-in learner must not outdate the others' results.
    """
    if name == HOST_DISTRIBUTION:
        return []
    try:
        installed = distribution(name)
    except (PackageNotFoundError, ValueError):
        return []
    return [*_listed_files(installed), *_developed_files(installed)]


def _listed_files(installed: Distribution) -> Iterable[Path]:
    for file in installed.files or ():
        if file.suffix in (".py", *COMPILED):
            yield Path(str(installed.locate_file(file)))


def _developed_files(installed: Distribution) -> Iterable[Path]:
    """Yield the files of an editable install, found by its top-level packages."""
    for package in (installed.read_text("top_level.txt") or "").split():
        yield from _files_of_package(package)
