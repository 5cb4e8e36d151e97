"""Looks at an importable estimator in a process of its own: whatever its module does when imported stays there.

Run as a module by `importable`: a request comes as JSON on stdin, what was found goes as JSON to stdout.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import json
import sys
from dataclasses import dataclass
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import HarnessError, SpecError, UnknownName
from harness.suggestions import nearest


@dataclass(frozen=True)
class Role:
    """What a class must have to be used as a learner or as a representation."""

    name: str
    method: str
    expected: str


ROLES = {
    "learner": Role("learner", "predict", "a classifier: expected a class with fit and predict"),
    "representation": Role("representation", "transform", "a transformer: expected a class with fit and transform"),
}


def look_at(module: str, attribute: str, role: Role) -> dict[str, Any]:
    """What is known of a scikit-learn style estimator: where it is from, what its tags and its parameters are."""
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
    hint = f"did you mean {' or '.join(near)}?" if near else f"its {role.name}s: {', '.join(names) or 'none'}"
    return UnknownName(f"{role.name} {target!r}: module {module.__name__!r} has no {attribute!r}; {hint}")


def _fits(value: Any, role: Role) -> bool:
    return isinstance(value, type) and hasattr(value, "fit") and hasattr(value, role.method)


def _tags_of(factory: Any) -> Any:
    """scikit-learn's tags; None where there are none."""
    try:
        return factory().__sklearn_tags__()
    except Exception:  # not scikit-learn's own, or not to be made without arguments: the trial will tell
        return None


def _read_learner_tags(target: str, tags: Any) -> dict[str, Any]:
    """What a learner needs and supports, as far as its tags tell."""
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
    """What a representation is fitted on, as far as its tags tell."""
    takes_text = tags is not None and tags.input_tags.string and not tags.input_tags.two_d_array
    return {"takes": "text" if takes_text else "counts"}


def _distribution_of(module: ModuleType) -> tuple[str, str]:
    """Name and version of what a module belongs to; for a file of one's own its name and a hash of its content."""
    top = module.__name__.partition(".")[0]
    distributions = packages_distributions().get(top)
    if distributions:
        return distributions[0], version(distributions[0])
    source = Path(module.__file__ or "")
    content = source.read_bytes() if source.is_file() else b""
    return source.name or top, hashlib.sha256(content).hexdigest()[:12]


def _read_parameters(factory: Any) -> dict[str, str | None]:
    """What can be given by name, with each default as Python writes it; None for those that must be given."""
    found: dict[str, str | None] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            found[name] = None if parameter.default is parameter.empty else repr(parameter.default)
    return found


def main() -> None:
    """Answer the one request."""
    request = json.load(sys.stdin)
    sys.path[:] = request["path"]
    answer: dict[str, Any]
    with contextlib.redirect_stdout(sys.stderr):  # what a module prints is no answer
        try:
            answer = {"found": look_at(request["module"], request["attribute"], ROLES[request["role"]])}
        except HarnessError as error:
            answer = {"error": type(error).__name__, "text": str(error)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
