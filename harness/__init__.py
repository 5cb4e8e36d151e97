"""Honest comparison of flat and tree methods for many-class classification.

To compare and use learners: `run`, `open_results`, `fit`, `update`, `load_model`, `suggest`, `reproduce`. To write
plugins: the specs, `Dataset`, `Outcome` and `hookimpl`; more is in `harness.sdk`. All other names are private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.host.contract import (
    CONTRACT,
    Ability,
    AfterPass,
    Dataset,
    DatasetSpec,
    ExperimentSpec,
    Learner,
    LearnerSpec,
    MetricSpec,
    Outcome,
    RawFile,
    RepresentationSpec,
    TableLayout,
    Taxonomy,
    hookimpl,
)
from harness.sdk import lazy_names

if TYPE_CHECKING:
    from harness.models.fit import fit
    from harness.models.model import Model, load_model
    from harness.models.update import update
    from harness.results.results import Results, open_results
    from harness.runner.python import run
    from harness.runner.reproduce import reproduce
    from harness.runner.suggest import suggest

__version__ = "0.2.0"

__all__ = [
    "CONTRACT",
    "Ability",
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
    "TableLayout",
    "Taxonomy",
    "__version__",
    "fit",
    "hookimpl",
    "load_model",
    "open_results",
    "reproduce",
    "run",
    "suggest",
    "update",
]

# Loaded on first use: plugins import this package, and need none of the code that runs them.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Model": "harness.models.model",
        "Results": "harness.results.results",
        "fit": "harness.models.fit",
        "load_model": "harness.models.model",
        "open_results": "harness.results.results",
        "reproduce": "harness.runner.reproduce",
        "run": "harness.runner.python",
        "suggest": "harness.runner.suggest",
        "update": "harness.models.update",
    },
)
