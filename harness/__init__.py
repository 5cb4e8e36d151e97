"""The public names for plugin authors; everything else is the host's own business."""

from harness.contract import (
    AfterPass,
    Dataset,
    DatasetSpec,
    ExperimentSpec,
    Learner,
    LearnerSpec,
    MetricSpec,
    Outcome,
    RawFile,
    Taxonomy,
)
from harness.errors import HarnessError
from harness.hooks import hookimpl

__version__ = "0.1.0"

__all__ = [
    "AfterPass",
    "Dataset",
    "DatasetSpec",
    "ExperimentSpec",
    "HarnessError",
    "Learner",
    "LearnerSpec",
    "MetricSpec",
    "Outcome",
    "RawFile",
    "Taxonomy",
    "__version__",
    "hookimpl",
]
