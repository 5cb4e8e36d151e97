"""Comparison of registered specs with the learners."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from harness import LearnerSpec
from internals import import_target


def assert_specs_match(specs: Iterable[LearnerSpec], kinds: dict[str, str]) -> None:
    """Check that the specs have these learners and kinds, and match the classes."""
    specs = list(specs)
    assert {spec.name: spec.kind for spec in specs} == kinds
    for spec in specs:
        learner = import_target(spec.load)
        assert spec.summary
        assert spec.preload == (spec.load.partition(":")[0],), "a module with kernels is slow to load"
        assert ("multilabel" in spec.supports) == getattr(learner, "takes_several", False)
        settings = inspect.signature(learner).parameters
        takes_taxonomy = "taxonomy" in inspect.signature(learner.fit).parameters
        can_do_without = "tree" in settings or spec.wraps_several
        assert ("taxonomy" in spec.needs) == (takes_taxonomy and not can_do_without)
        wraps = [name for name in ("learner", "learners") if name in settings]
        assert [spec.wraps] == (wraps or [""])
