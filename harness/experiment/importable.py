"""Any importable scikit-learn style estimator, as `module:Class`: a learner or a representation.

It is looked at in a process of its own.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache
from typing import Any

from harness.catalog import Catalog, Entry, Origin
from harness.code import code_of
from harness.contract import LearnerSpec, RepresentationSpec
from harness.errors import SpecError, UnknownName
from harness.signature import REQUIRED, Source

MOST_SECONDS = 600
ERRORS = {"UnknownName": UnknownName, "SpecError": SpecError}


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
    """An entry for any importable scikit-learn style classifier; what it can do is read from its tags.

    Nothing is imported here or ahead of its trials: what a module changes when it is imported, it changes for itself.
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
    """An entry for any importable scikit-learn style transformer; whether it takes texts is read from its tags."""
    target, facts = f"{module}:{attribute}", _facts_of(module, attribute, "representation")
    spec = RepresentationSpec(name=target, load=target, takes=facts["takes"], parameters=_defaults(facts))
    return Entry(spec, _origin(target, facts))


def _facts_of(module: str, attribute: str, role: str) -> dict[str, Any]:
    code = code_of(f"{module}:{attribute}", Origin("", "", ""))  # an edited module is looked at again
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
    """What a fresh process says of a class, in JSON; kept while the code stays, since every look costs an import."""
    request = json.dumps({"module": module, "attribute": attribute, "role": role, "path": path})
    done = subprocess.run(
        [sys.executable, "-P", "-m", "harness.experiment.inspecting"],
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
    """A default as it was written; what is no plain value stays text of its own kind."""
    if text is None:
        return REQUIRED
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return Source(text)
