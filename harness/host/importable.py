"""Use importable scikit-learn estimators, named as `module:Class`, as learners and representations without a plugin.

The class is imported and inspected in a subprocess, so that side effects of the import do not reach this process. The
subprocess runs this module. It reads a request as JSON from standard input and writes the result to standard output.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import inspect
import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import HarnessError, SpecError, UnknownName
from harness.host.catalog import Catalog, Entry, Origin
from harness.host.contract import LearnerSpec, RepresentationSpec
from harness.host.introspection import REQUIRED, Source, code_of
from harness.text import nearest

MOST_SECONDS = 600
ERRORS = {"UnknownName": UnknownName, "SpecError": SpecError}


def find_learner(name: str, catalog: Catalog) -> Entry[LearnerSpec]:
    """Return a learner by its registered name, or an importable classifier as `module:Class`.

    Parameters
    ----------
    name : str
        A registered name, or `module:Class`.
    catalog : Catalog
        The registered learners, which take precedence.

    Raises
    ------
    UnknownName
        If no plugin registers the name, or if the class cannot be imported.
    SpecError
        If the class is not a classifier.
    """
    try:
        return catalog.learner(name)
    except UnknownName:
        module, colon, attribute = name.rpartition(":")
        if not colon or any(entry.spec.name == attribute for entry in catalog.learners):
            raise
    return importable_learner(module, attribute)


def importable_learner(module: str, attribute: str) -> Entry[LearnerSpec]:
    """Return an entry for an importable classifier, with needs and abilities from its scikit-learn tags.

    The module is not preloaded either, so that side effects of its import stay within its own trials.

    Parameters
    ----------
    module, attribute : str
        The two parts of `module:Class`.
    """
    target, facts = f"{module}:{attribute}", _facts_of(module, attribute, "learner")
    spec = LearnerSpec(
        name=target,
        load=target,
        needs=frozenset(facts["needs"]),
        supports=frozenset(facts["supports"]),
        parameters=_defaults(facts),
    )
    return Entry(spec, _origin(target, facts))


def importable_representation(module: str, attribute: str) -> Entry[RepresentationSpec]:
    """Return an entry for an importable transformer. Its scikit-learn tags decide whether it takes texts.

    Parameters
    ----------
    module, attribute : str
        The two parts of `module:Class`.
    """
    target, facts = f"{module}:{attribute}", _facts_of(module, attribute, "representation")
    spec = RepresentationSpec(name=target, load=target, takes=facts["takes"], parameters=_defaults(facts))
    return Entry(spec, _origin(target, facts))


def _facts_of(module: str, attribute: str, role: str) -> dict[str, Any]:
    code = code_of(f"{module}:{attribute}", Origin("", "", ""))  # part of the cache key, for modules that are edited
    found = json.loads(_look_at(module, attribute, role, tuple(sys.path), code))
    if "error" in found:
        raise ERRORS[found["error"]](found["text"])
    facts: dict[str, Any] = found["found"]
    return facts


def _origin(target: str, facts: dict[str, Any]) -> Origin:
    return Origin(target, facts["distribution"], facts["version"])


def _defaults(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: _default(text) for name, text in facts["parameters"].items()}


@cache
def _look_at(module: str, attribute: str, role: str, path: tuple[str, ...], code: str) -> str:
    """Return the JSON result of the subprocess. It is cached until the code changes, since each call is slow."""
    request = json.dumps({"module": module, "attribute": attribute, "role": role, "path": path})
    done = subprocess.run(
        [sys.executable, "-P", "-m", "harness.host.importable"],
        input=request,
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_SECONDS,
    )
    answer = done.stdout.strip()
    if done.returncode != 0 or not answer:
        last = done.stderr.strip().rpartition("\n")[2]
        ended = f"it ended the process that imported it (exit code {done.returncode}){': ' if last else ''}{last}"
        raise UnknownName(f"{role} '{module}:{attribute}': module {module!r} cannot be imported: {ended}")
    return answer


def _default(text: str | None) -> Any:
    """Return the value of a default from its source text; the text itself if it is not a literal."""
    if text is None:
        return REQUIRED
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return Source(text)


@dataclass(frozen=True)
class Role:
    """Requirements on a class that is used as a learner or as a representation.

    Parameters
    ----------
    name : str
        The role in messages: learner or representation.
    method : str
        A method that the class must have.
    expected : str
        A description of a suitable class, for messages.
    """

    name: str
    method: str
    expected: str


ROLES = {
    "learner": Role("learner", "predict", "a classifier: expected a class with fit and predict"),
    "representation": Role("representation", "transform", "a transformer: expected a class with fit and transform"),
}


def look_at(module: str, attribute: str, role: Role) -> dict[str, Any]:
    """Import a class and return its distribution, version, parameters and the properties in its scikit-learn tags.

    Parameters
    ----------
    module, attribute : str
        The two parts of `module:Class`.
    role : Role
        The requirements on the class.

    Raises
    ------
    UnknownName
        If the module cannot be imported, or has no such class.
    SpecError
        If the class does not fit the role.
    """
    target = f"{module}:{attribute}"
    try:
        found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UnknownName(f"{role.name} {target!r}: module {module!r} cannot be imported: {reason}") from error
    factory: Any = found
    try:
        for part in attribute.split("."):
            factory = getattr(factory, part)
    except AttributeError:
        raise _missing(target, found, attribute, role) from None
    if not _fits(factory, role):
        raise SpecError(f"{role.name} {target!r} is not {role.expected}")
    tags = _tags_of(factory)
    distribution, its_version = _distribution_of(found)
    read = _read_learner_tags if role.name == "learner" else _read_representation_tags
    return {
        **read(target, tags),
        "distribution": distribution,
        "version": its_version,
        "parameters": _read_parameters(factory),
    }


def _missing(target: str, module: ModuleType, attribute: str, role: Role) -> UnknownName:
    names = [name for name, value in vars(module).items() if _fits(value, role)]
    near = nearest(attribute, names)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Its {role.name}s: {', '.join(names) or 'none'}."
    return UnknownName(f"{role.name} {target!r}: module {module.__name__!r} has no {attribute!r}. {hint}")


def _fits(value: Any, role: Role) -> bool:
    return isinstance(value, type) and hasattr(value, "fit") and hasattr(value, role.method)


def _tags_of(factory: Any) -> Any:
    """Return the scikit-learn tags of a class; None if it has none."""
    try:
        return factory().__sklearn_tags__()
    except Exception:  # no tags, or required arguments; the trial will report real problems
        return None


def _read_learner_tags(target: str, tags: Any) -> dict[str, Any]:
    """Return the needs and abilities of a learner according to its tags."""
    needs: list[str] = []
    supports: list[str] = []
    if tags is None:
        return {"needs": needs, "supports": supports}
    if tags.estimator_type != "classifier":
        raise SpecError(f"learner {target!r} is a {tags.estimator_type or 'transformer'}, not a classifier")
    if tags.input_tags.positive_only:
        needs.append("nonnegative")
    if not tags.input_tags.sparse:
        needs.append("dense")
    if tags.classifier_tags and tags.classifier_tags.multi_label:
        supports.append("multilabel")
    return {"needs": needs, "supports": supports}


def _read_representation_tags(_: str, tags: Any) -> dict[str, Any]:
    """Return the input of a representation according to its tags."""
    takes_text = tags is not None and tags.input_tags.string and not tags.input_tags.two_d_array
    return {"takes": "text" if takes_text else "counts"}


def _distribution_of(module: ModuleType) -> tuple[str, str]:
    """Return the name and version of a module's distribution; for a plain file, its name and a digest."""
    top = module.__name__.partition(".")[0]
    distributions = packages_distributions().get(top)
    if distributions:
        return distributions[0], version(distributions[0])
    source = Path(module.__file__ or "")
    content = source.read_bytes() if source.is_file() else b""
    return source.name or top, hashlib.sha256(content).hexdigest()[:12]


def _read_parameters(factory: Any) -> dict[str, str | None]:
    """Return the source text of each parameter's default; None for required parameters."""
    found: dict[str, str | None] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            found[name] = None if parameter.default is parameter.empty else repr(parameter.default)
    return found


def main() -> None:
    """Read a request from standard input and print the result as JSON."""
    request = json.load(sys.stdin)
    sys.path[:] = request["path"]
    answer: dict[str, Any]
    with contextlib.redirect_stdout(sys.stderr):  # text that the module prints must not mix with the result
        try:
            answer = {"found": look_at(request["module"], request["attribute"], ROLES[request["role"]])}
        except HarnessError as error:
            answer = {"error": type(error).__name__, "text": str(error)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
