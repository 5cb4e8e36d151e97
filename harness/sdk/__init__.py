"""What built-in and third-party plugins share; `docs/sdk.md` shows how to build a learner on it.

For learners: `Classifier`, the base of all; `IndexClassifier` and `OnlineClassifier` on top of it; `rules` for their
parameters; `archive` for what `save` writes. For compiled code: `kernel` and `helper`, the types of what they take, and
the building blocks in `harness.sdk.kernels`. For data sets: `harness.sdk.reading`. Names are loaded when they are asked
for: a data set that reads a file must not wait for a compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sdk.lazy import lazy_names

if TYPE_CHECKING:
    from harness.sdk import archive, rules
    from harness.sdk.estimator import Classifier, Matrix
    from harness.sdk.index import IndexClassifier
    from harness.sdk.kernels.arrays import Array, frozen
    from harness.sdk.kernels.compiling import LEAN, helper, kernel, named, reads, writes
    from harness.sdk.kernels.instances import Instances, Labels, as_instances
    from harness.sdk.kernels.signatures import INSTANCES, LABELS
    from harness.sdk.online import OnlineClassifier
    from harness.sdk.texts import Texts
    from harness.sdk.threads import in_threads, stretches

__all__ = [
    "INSTANCES",
    "LABELS",
    "LEAN",
    "Array",
    "Classifier",
    "IndexClassifier",
    "Instances",
    "Labels",
    "Matrix",
    "OnlineClassifier",
    "Texts",
    "archive",
    "as_instances",
    "frozen",
    "helper",
    "in_threads",
    "kernel",
    "lazy_names",
    "named",
    "reads",
    "rules",
    "stretches",
    "writes",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "INSTANCES": "harness.sdk.kernels.signatures",
        "LABELS": "harness.sdk.kernels.signatures",
        "LEAN": "harness.sdk.kernels.compiling",
        "Array": "harness.sdk.kernels.arrays",
        "Classifier": "harness.sdk.estimator",
        "IndexClassifier": "harness.sdk.index",
        "Instances": "harness.sdk.kernels.instances",
        "Labels": "harness.sdk.kernels.instances",
        "Matrix": "harness.sdk.estimator",
        "OnlineClassifier": "harness.sdk.online",
        "Texts": "harness.sdk.texts",
        "archive": "harness.sdk.archive",
        "as_instances": "harness.sdk.kernels.instances",
        "frozen": "harness.sdk.kernels.arrays",
        "helper": "harness.sdk.kernels.compiling",
        "in_threads": "harness.sdk.threads",
        "kernel": "harness.sdk.kernels.compiling",
        "named": "harness.sdk.kernels.compiling",
        "reads": "harness.sdk.kernels.compiling",
        "rules": "harness.sdk.rules",
        "stretches": "harness.sdk.threads",
        "writes": "harness.sdk.kernels.compiling",
    },
)
