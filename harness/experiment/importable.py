"""Any importable scikit-learn style classifier as a learner: `module:Class`, with what its tags tell."""

from __future__ import annotations

import hashlib
import importlib
import warnings
from difflib import get_close_matches
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.catalog import Catalog, Entry, Origin
from harness.contract import Ability, LearnerSpec, Need
from harness.errors import SpecError, UnknownName
from harness.signature import import_target


def find_learner(name: str, catalog: Catalog) -> Entry[LearnerSpec]:
    """A learner by its registered name, or any importable classifier as module:Class."""
    try:
        return catalog.learner(name)
    except UnknownName:
        module, colon, attribute = name.rpartition(":")
        if not colon or any(entry.spec.name == attribute for entry in catalog.learners):
            raise
    return importable_learner(module, attribute)


def importable_learner(module: str, attribute: str) -> Entry[LearnerSpec]:
    """An entry for any importable scikit-learn style classifier; what it can do is read from its tags."""
    target = f"{module}:{attribute}"
    try:
        with warnings.catch_warnings():  # a module may change what is done with warnings: not here
            found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UnknownName(f"learner {target!r}: module {module!r} cannot be imported: {reason}") from error
    try:
        factory = import_target(target)
    except AttributeError:
        raise _missing(target, found, attribute) from None
    if not _is_learner(factory):
        raise SpecError(f"learner {target!r} is not a classifier: expected a class with fit and predict")
    needs, supports = _read_tags(target, factory)
    # Nothing is imported ahead: what a module changes when it is imported must stay within its own trials.
    spec = LearnerSpec(name=target, load=target, needs=needs, supports=supports)
    return Entry(spec, Origin(target, *_distribution_of(found)))


def _missing(target: str, module: ModuleType, attribute: str) -> UnknownName:
    names = [name for name, value in vars(module).items() if _is_learner(value)]
    near = get_close_matches(attribute, names, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"its learners: {', '.join(names) or 'none'}"
    return UnknownName(f"learner {target!r}: module {module.__name__!r} has no {attribute!r}; {hint}")


def _is_learner(value: Any) -> bool:
    return isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict")


def _read_tags(target: str, factory: Any) -> tuple[frozenset[Need], frozenset[Ability]]:
    needs: set[Need] = set()
    supports: set[Ability] = set()
    try:
        tags: Any = factory().__sklearn_tags__()
    except Exception:  # not scikit-learn's own, or not to be made without arguments: the trial will tell
        return frozenset(), frozenset()
    if tags.estimator_type != "classifier":
        raise SpecError(f"learner {target!r} is a {tags.estimator_type or 'transformer'}, not a classifier")
    if tags.input_tags.positive_only:
        needs.add("nonnegative")
    if not tags.input_tags.sparse:
        needs.add("dense")
    if tags.classifier_tags and tags.classifier_tags.multi_label:
        supports.add("multilabel")
    return frozenset(needs), frozenset(supports)


def _distribution_of(module: ModuleType) -> tuple[str, str]:
    """Name and version of what a module belongs to; for a file of one's own its name and a hash of its content."""
    top = module.__name__.partition(".")[0]
    distributions = packages_distributions().get(top)
    if distributions:
        return distributions[0], version(distributions[0])
    source = Path(module.__file__ or "")
    content = source.read_bytes() if source.is_file() else b""
    return source.name or top, hashlib.sha256(content).hexdigest()[:12]
