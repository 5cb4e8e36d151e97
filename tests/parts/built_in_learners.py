"""Every built-in learner, with default and with other parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness import LearnerSpec
from harness_committee import Sparsify
from harness_index import FF, OOZ
from harness_prototype import PA
from harness_svm import SVM
from internals import Subject, discover

DISTRIBUTION = "manyclass-harness"
SPECS = {
    entry.spec.name: entry.spec
    for entry in discover((), ()).learners
    if entry.origin.distribution == DISTRIBUTION and entry.origin.plugin not in ("peers", "sklearn")
}
"""The built-in learners. Wrappers of other tools have their own tests: harness_peers, harness_sklearn, tests/peers."""


@dataclass(frozen=True)
class SetUp:
    """A built-in learner with these parameters."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        settings = ",".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.name}({settings})".replace(" ", "")

    @property
    def spec(self) -> LearnerSpec:
        """Return the spec of this configuration; a learner with its own tree needs no taxonomy."""
        spec = SPECS[self.name]
        return replace(spec, needs=frozenset()) if self.params.get("taxonomy") == "cluster" else spec

    @property
    def subject(self) -> Subject:
        return Subject(self.spec, self.params)

    def build(self, **params: Any) -> Any:
        """Return the unfitted learner, by default with seed 0."""
        return Subject(self.spec, {**self.params, **params}).build()


OTHERWISE = [
    SetUp("ooz", {"variant": "2008", "deduct": "level", "beta": 0.02, "delta": 0.4, "d": 3, "w_min": 1e-4}),
    SetUp("ema", {"beta": 0.1, "delta": 1.0, "d": 3}),
    SetUp("ff", {"delta": 0.1, "d": 3, "warm": 0, "passes": 2}),
    SetUp("ooz", {"d": 6, "keep": "scored"}),
    SetUp(
        "ooz", {"beta": 0.1, "delta": 0.5, "third_source": True, "sources": "labels", "dropped": "given", "w_min": 1e-3}
    ),
    SetUp("pa", {"variant": "PA-I", "step": "exact"}),
    SetUp("pa", {"variant": "PA"}),
    SetUp("mmp", {"touched_only": True}),
    SetUp("winnow", {"alpha": 1.5, "demotion": 1.3, "updates": "value", "balanced": True}),
    SetUp("ovr-perceptron", {"members": 3}),
    SetUp("svm", {"loss": "hinge", "bias": 0.0}),
    SetUp("hsvm", {"taxonomy": "cluster"}),
    SetUp("topdown-svm", {"taxonomy": "cluster"}),
    SetUp("label-tree", {"trees": 3, "fanout": 2, "leaf_classes": 3}),
    SetUp("svm", {"C": "auto"}),
    SetUp("topdown-perceptron", {"taxonomy": "cluster", "members": 2}),
    SetUp("lomtree", {"T": 14, "resistance": 2.0, "store": "hashed", "bits": 16, "refit": False, "ranking": "nodes"}),
    SetUp("filter-tree", {"store": "hashed", "bits": 16}),
]
AROUND = [
    SetUp("committee", {"learner": PA(passes=2), "members": 2}),
    SetUp("committee", {"learner": PA(), "members": 2, "passes": "1:2", "vote": "minfreq"}),
    SetUp("committee", {"learner": Sparsify(OOZ(beta=0.1, delta=0.5, d=25, passes=2), share=0.5), "members": 2}),
    SetUp("sparsify", {"learner": OOZ(beta=0.1, delta=0.5, d=25, passes=2), "share": 0.7}),
    SetUp("oversample", {"learner": PA(), "least": 50}),
    SetUp("batches", {"learner": PA(), "rows": 20, "passes": 2}),
    SetUp("blend", {"learners": [PA(), SVM()], "candidates": 3}),
    SetUp("shortlist", {"learner": FF(passes=1), "candidates": 3, "group_classes": 2}),
]
PLAIN = [SetUp(name) for name, spec in SPECS.items() if not spec.wraps]
WRAPPERS = [SetUp(name) for name, spec in SPECS.items() if spec.wraps]
EVERY = [*PLAIN, *OTHERWISE, *WRAPPERS, *AROUND]
