"""Honest comparison of flat and tree methods for many-class classification.

`run`, `open_results`, `fit` and `load_model` are for people with data; the specs, `Dataset`, `Outcome` and `hookimpl`
are for authors of plugins, who find more in `harness.sdk`. Everything else is the host's own business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.abilities import AfterPass, Learner
from harness.contract import (
    Dataset,
    DatasetSpec,
    ExperimentSpec,
    LearnerSpec,
    MetricSpec,
    Outcome,
    RawFile,
    RepresentationSpec,
    Taxonomy,
)
from harness.errors import HarnessError
from harness.hooks import hookimpl

if TYPE_CHECKING:
    from harness.api.fitting import fit
    from harness.api.front import run
    from harness.api.model import Model, load_model
    from harness.api.results import Results, open_results

__version__ = "0.2.0"

__all__ = [
    "AfterPass",
    "Dataset",
    "DatasetSpec",
    "ExperimentSpec",
    "HarnessError",
    "Learner",
    "LearnerSpec",
    "MetricSpec",
    "Model",
    "Outcome",
    "RawFile",
    "RepresentationSpec",
    "Results",
    "Taxonomy",
    "__version__",
    "fit",
    "hookimpl",
    "load_model",
    "open_results",
    "run",
]
_FRONT_DOOR = ("Model", "Results", "fit", "load_model", "open_results", "run")
"""Loaded when asked for: plugins import this package, and must not wait for what runs them."""


def __getattr__(name: str) -> Any:
    if name not in _FRONT_DOOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from harness import api  # noqa: PLC0415 (plugins import this package, and need no api)

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted(__all__)
