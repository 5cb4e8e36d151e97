"""Building blocks for plugins; `docs/how-to/write-a-plugin.md` shows how to build a learner with them.

- learners: `Classifier`, `IndexClassifier` and `OnlineClassifier`, each the base of the next; `rules` for parameters;
  `saving` for files without pickle
- compiled code: `kernel` and `helper`, the types of their arguments, and the kernels in `harness.sdk.kernels`
- datasets: `harness.sdk.reading`

Names are loaded on first use, so a dataset that reads a file does not import a compiler.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.sdk import rules, saving
    from harness.sdk.classifier import Classifier, Matrix
    from harness.sdk.contributions import Contributions
    from harness.sdk.index import IndexClassifier
    from harness.sdk.kernels.compile import INSTANCES, LABELS, LEAN, helper, kernel, named, reads, writes
    from harness.sdk.kernels.instances import Array, Instances, Labels, as_instances, frozen
    from harness.sdk.online import OnlineClassifier
    from harness.sdk.texts import Texts
    from harness.sdk.threads import in_threads, stretches

__all__ = [
    "INSTANCES",
    "LABELS",
    "LEAN",
    "Array",
    "Classifier",
    "Contributions",
    "IndexClassifier",
    "Instances",
    "Labels",
    "Matrix",
    "OnlineClassifier",
    "Texts",
    "as_instances",
    "frozen",
    "helper",
    "in_threads",
    "kernel",
    "lazy_names",
    "named",
    "reads",
    "rules",
    "saving",
    "stretches",
    "writes",
]


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package whose names are loaded on first use.

    Parameters
    ----------
    package : str
        Name of the package.
    homes : mapping of str to str
        Module of each name. A name whose module is `package.name` is the module itself.

    Returns
    -------
    get : callable
        The `__getattr__` of the package.
    names : callable
        The `__dir__` of the package.
    """

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        if homes[name] == f"{package}.{name}":
            return home
        return getattr(home, name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names


__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "INSTANCES": "harness.sdk.kernels.compile",
        "LABELS": "harness.sdk.kernels.compile",
        "LEAN": "harness.sdk.kernels.compile",
        "Array": "harness.sdk.kernels.instances",
        "Classifier": "harness.sdk.classifier",
        "Contributions": "harness.sdk.contributions",
        "IndexClassifier": "harness.sdk.index",
        "Instances": "harness.sdk.kernels.instances",
        "Labels": "harness.sdk.kernels.instances",
        "Matrix": "harness.sdk.classifier",
        "OnlineClassifier": "harness.sdk.online",
        "Texts": "harness.sdk.texts",
        "saving": "harness.sdk.saving",
        "as_instances": "harness.sdk.kernels.instances",
        "frozen": "harness.sdk.kernels.instances",
        "helper": "harness.sdk.kernels.compile",
        "in_threads": "harness.sdk.threads",
        "kernel": "harness.sdk.kernels.compile",
        "named": "harness.sdk.kernels.compile",
        "reads": "harness.sdk.kernels.compile",
        "rules": "harness.sdk.rules",
        "stretches": "harness.sdk.threads",
        "writes": "harness.sdk.kernels.compile",
    },
)
