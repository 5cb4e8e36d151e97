"""Read source files without importing them: parameters and docstrings, and a digest of the code behind a learner.

Listing, completing and validating parameters must be fast, and the import of a learner may take seconds.

The digest covers the code that decides a learner's results. A version number is not enough: authors edit plugins in
place, and results of the old code must not be taken for those of the new code. The digest changes only with the
behaviour of code: comments, docstrings, file names and the order of definitions do not count.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from harness.errors import SpecError
from harness.host.catalog import HOST_DISTRIBUTION, Origin
from harness.host.contract import DatasetSpec, LearnerSpec, RepresentationSpec
from harness.syntax.expression import Params

MOST_BASES = 10
"""Maximum number of base classes and imports to follow. Source that was never run may have cycles."""
PARAMETERS = "Parameters\n----------\n"
"""Heading of the parameter section of a docstring."""
TIMING = "Timed as training:"
"""Begins the second sentence of the paragraph in which a module that adapts another tool says what is timed."""
FLOAT_ANNOTATIONS = ("float", "float | None", "None | float", "float | Literal['auto']")
_UNDERLINE = re.compile(r"-{3,}$")
_PARAMETER = re.compile(r"(\w+(?:, \w+)*) : (.*)")
"""A parameter, or several parameters with one description, such as `text, label : str`."""
_TYPE = re.compile(r".*\bdefault=.*|\w+(?: (?:of|or) \w+)*")
"""A type, with a default or, for a required parameter, without one: `list of str`."""


@dataclass(frozen=True)
class Source:
    """A default value that is an expression and not a literal, kept as its source text."""

    text: str

    def __repr__(self) -> str:
        return self.text


REQUIRED = Source("(required)")
"""Placeholder for the default of a required parameter."""


def parameters_of(spec: LearnerSpec | DatasetSpec | RepresentationSpec) -> Params:
    """Return the parameters of a learner, dataset or representation, with their defaults.

    They come from the spec, or else from the source. Only if the source does not declare them, the object is imported.

    Parameters
    ----------
    spec : LearnerSpec or DatasetSpec or RepresentationSpec
        The spec that a plugin registered.

    Raises
    ------
    SpecError
        If the object cannot be imported, or must not be imported because it needs its own environment.
    """
    if spec.parameters is not None:
        return spec.parameters
    found = read_parameters(spec.load)
    if found is not None:
        return found
    if isinstance(spec, LearnerSpec) and spec.environment:
        raise SpecError(
            f"the source of {spec.load} does not declare its parameters",
            culprit=f"learner {spec.name!r}",
            next_step="List them in its spec, since learners with an environment are not imported here.",
        )
    try:
        return import_parameters(spec.load)
    except Exception as error:
        raise SpecError(
            f"{spec.name!r} cannot be imported from {spec.load}: {type(error).__name__}: {error}"
        ) from error


def read_parameters(target: str) -> Params | None:
    """Return the parameters of an object with their defaults, read from its source without importing it.

    Parameters
    ----------
    target : str
        The object as "module:name".

    Returns
    -------
    Params or None
        None if the source does not declare the parameters.
    """
    found = _find_arguments(target)
    return None if found is None else _defaults(found.arguments, bound=found.bound)


@cache
def read_floats(target: str) -> frozenset[str]:
    """Return the parameters of "module:name" that are annotated as float, whose values are converted to float."""
    found = _find_arguments(target)
    if found is None:
        return frozenset()
    declared = [*found.arguments.args, *found.arguments.kwonlyargs]
    return frozenset(
        argument.arg
        for argument in declared
        if argument.annotation is not None and ast.unparse(argument.annotation) in FLOAT_ANNOTATIONS
    )


def import_parameters(target: str) -> Params:
    """Import "module:name" and return its parameters with their defaults, for objects without readable source."""
    signature = inspect.signature(import_target(target))
    return {
        name: REQUIRED if parameter.default is parameter.empty else parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }


def import_target(target: str) -> Any:
    """Import and return the object "module:name".

    Parameters
    ----------
    target : str
        Name of a module and of an object in it, which may be an attribute of another: `module:Class.method`.

    Raises
    ------
    ImportError
        If the module cannot be imported.
    AttributeError
        If the module has no such object.

    Examples
    --------
    >>> import_target("math:sqrt")(4)
    2.0
    """
    module, _, name = target.partition(":")
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def locate(module: str) -> ModuleSpec | None:
    """Return the import spec of a module; None if it is not found.

    Unlike `importlib.util.find_spec`, this does not import the parent packages.

    Parameters
    ----------
    module : str
        The full name of the module.
    """
    spec, path, name = None, None, ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        found = (finder.find_spec(name, path) for finder in sys.meta_path)
        spec = next((candidate for candidate in found if candidate is not None), None)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return spec


def definition_line(target: str, methods: Iterable[str] = ()) -> str:
    """Return the file and line of "module:name" from its source; empty if there is no source.

    Parameters
    ----------
    target : the object.
    methods : if the object is a class that defines one of these methods, the line of the first of them is returned.
    """
    module, node = _find_definition(target)
    spec = locate(module.partition(":")[0])
    if node is None or spec is None or not spec.origin:
        return ""
    own = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
    found = next((own[method] for method in methods if method in own), node)
    scope = f"{node.name}.{found.name}" if found is not node else node.name
    return f"{Path(spec.origin).name}, line {found.lineno}, in {scope}"


# -- docstrings ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Docstring:
    """The parts of a docstring in numpy's style."""

    paragraphs: tuple[str, ...] = ()
    """Paragraphs before the first section, each on one line."""
    parameters: dict[str, str] = field(default_factory=dict)
    """Description of each parameter."""
    use: str = ""
    """The section "When to use"."""
    references: str = ""
    """The section "References"."""
    formula: str = ""
    """The section "Formula"."""


def read_docstring(target: str) -> str:
    """Return the docstring of "module:name" from its source; empty if there is none.

    The parameter sections of its base classes are appended, so a class need not repeat inherited parameters.

    Parameters
    ----------
    target : str
        The object as "module:name".
    """
    own, *bases = [ast.get_docstring(node) or "" if node else "" for node in _lineage(target)]
    for text in bases:
        _, heading, rest = text.partition(PARAMETERS)
        section = rest.partition("\n\n")[0]
        own += f"\n\n{heading}{section}" if heading else ""
    return own


def read_timing(target: str) -> str:
    """Return the paragraph on what is timed from the docstring of a target's module; empty if there is none.

    Modules that adapt other tools have such a paragraph. It contains "Timed as training:".
    """
    module = _source_of(target.partition(":")[0])
    for paragraph in module.docstring.split("\n\n") if module else ():
        if TIMING in paragraph:
            return " ".join(paragraph.split())
    return ""


def parse_docstring(text: str) -> Docstring:
    """Return the parts of a docstring.

    Two forms of parameters are read: `name : meaning` on one line, and numpydoc with the meaning on the lines below.

    Parameters
    ----------
    text : str
        The docstring as `ast.get_docstring` returns it, without indentation.
    """
    sections = _sections(text)
    paragraphs = [" ".join(part.split()) for part in sections.get("", "").split("\n\n")]
    meanings: dict[str, str] = {}
    together: list[str] = []
    for line in sections.get("Parameters", "").splitlines():
        found = _PARAMETER.match(line)
        if found:
            together = [name for name in found[1].split(", ") if name not in meanings]
            is_type = _TYPE.fullmatch(found[2])  # the description is on the lines below
            meanings |= dict.fromkeys(together, "" if is_type else found[2].strip())
        elif line.strip():
            for name in together:
                meanings[name] = f"{meanings[name]} {line.strip()}".lstrip()
    others = (" ".join(sections.get(name, "").split()) for name in ("When to use", "References", "Formula"))
    return Docstring(tuple(part for part in paragraphs if part), meanings, *others)


def _sections(text: str) -> dict[str, str]:
    """Return the text of each section by heading, joined if a heading occurs twice; "" for the text before them."""
    lines = text.splitlines()
    sections: dict[str, list[str]] = {"": []}
    heading = ""
    for place, line in enumerate(lines):
        follows = lines[place + 1] if place + 1 < len(lines) else ""
        if line and _UNDERLINE.match(follows):
            heading = line.strip()
            sections.setdefault(heading, [])
        elif not _UNDERLINE.match(line):
            sections[heading].append(line)
    return {name: "\n".join(body) for name, body in sections.items()}


# -- reading source --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Arguments:
    """Arguments of a function or of `__init__`."""

    arguments: ast.arguments
    bound: int
    """Number of leading arguments that Python passes itself: 1 for `self`."""


@dataclass(frozen=True)
class _Module:
    """Functions and classes that a source file defines, and names that it imports."""

    definitions: dict[str, ast.FunctionDef | ast.ClassDef]
    imports: dict[str, str]
    """The origin of each imported name, as "module:name"."""
    docstring: str


def _find_arguments(target: str) -> _Arguments | None:
    """Return the arguments of "module:name" from its source; None if the source does not declare them."""
    for node in _lineage(target):
        if node is None:
            return None  # the base may declare anything
        if isinstance(node, ast.FunctionDef):
            return _Arguments(node.args, 0)
        init = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        if init:
            return _Arguments(init[-1].args, 1)
    return None


def _lineage(target: str) -> Iterator[ast.FunctionDef | ast.ClassDef | None]:
    """Yield the definition of "module:name"; for a class also its bases, depth first in their order.

    None stands for a base whose source cannot be found.
    """
    waiting = [target]
    for _ in range(MOST_BASES):
        if not waiting:
            return
        found, node = _find_definition(waiting.pop(0))
        yield node
        if isinstance(node, ast.ClassDef):
            module = found.partition(":")[0]
            waiting = [f"{module}:{getattr(base, 'id', '')}" for base in node.bases] + waiting


def _find_definition(target: str) -> tuple[str, ast.FunctionDef | ast.ClassDef | None]:
    """Return the "module:name" where an object is defined, and its definition; None if there is no source.

    Imports are followed: a name that a module imports is searched in the module from which it is imported.
    """
    for _ in range(MOST_BASES):
        module, _, name = target.partition(":")
        source = _source_of(module)
        if source is None or name in source.definitions or name not in source.imports:
            return target, None if source is None else source.definitions.get(name)
        target = source.imports[name]
    return target, None


def _source_of(module: str) -> _Module | None:
    try:
        spec = locate(module)
    except Exception:  # an import finder failed; the trial will report it
        return None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    try:
        stamp = os.stat(spec.origin)
        return _parse_module(spec.origin, stamp.st_mtime_ns, stamp.st_size)
    except (OSError, SyntaxError):
        return None


@lru_cache(maxsize=256)
def _parse_module(file: str, mtime_ns: int, size: int) -> _Module:
    """Parse a source file. The arguments include its time and size, so the cache misses when the file changes.

    If a name is defined twice, the last definition counts, as in Python.
    """
    tree = ast.parse(Path(file).read_bytes())
    definitions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    imports: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            imports.update({name.asname or name.name: f"{node.module}:{name.name}" for name in node.names})
    return _Module(definitions, imports, ast.get_docstring(tree) or "")


def _defaults(arguments: ast.arguments, *, bound: int = 0) -> dict[str, Any] | None:
    """Return the arguments that can be passed by keyword with their defaults; None if there is a `**kwargs`.

    The first `bound` arguments are left out.
    """
    if arguments.kwarg is not None:
        return None
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    pairs = [*zip(positional, defaults, strict=True)][max(bound, len(arguments.posonlyargs)) :]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {argument.arg: REQUIRED if default is None else _value(default) for argument, default in pairs}


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return Source(ast.unparse(node))


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
