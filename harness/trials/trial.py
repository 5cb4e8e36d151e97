"""What a trial is told: a frozen value that travels to its process as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.contract import Direction
from harness.metric import MetricCall
from harness.params import Params
from harness.record import TrialNames
from harness.split import Split
from harness.trials.blueprint import Blueprint

REPRESENTATION = "representation"
"""What a candidate of tuning calls what the learner sees of the data."""


@dataclass(frozen=True)
class RepresentationPlan:
    """What is made of the data's rows before a learner sees them, fitted on the training part of the trial."""

    blueprint: Blueprint | None
    """None where the learner gets the texts as they are."""
    takes_text: bool
    """Whether it is fitted on texts; if not, on rows of numbers."""


@dataclass(frozen=True, kw_only=True)
class TuningPlan:
    """How parameters are chosen before the trial itself, on a validation part of its training rows."""

    split: Split
    judge: MetricCall
    direction: Direction
    candidates: tuple[Params, ...]
    """Parameters; the one called `representation`, if there is any, names one of `representations`."""
    seconds: float | None
    representations: Mapping[str, RepresentationPlan] = field(default_factory=dict)
    """What the learner may see of the data, where that is to be chosen too."""


@dataclass(frozen=True, kw_only=True)
class Trial(TrialNames):
    """One trial, whole: what to train, on what, how, and under which key its record is kept."""

    blueprint: Blueprint
    code_group: str = ""
    """Whose code runs in it: only trials of one group share what is imported ahead."""
    representing: RepresentationPlan
    represented_folder: str = ""
    """Where both parts are kept as represented, if they are: what several learners see is computed once."""
    wants_dense: bool
    wants_taxonomy: bool
    data_folder: str
    curves: bool = False
    """Whether the test part is ranked after each pass as well."""
    tuning_plan: TuningPlan | None = None


@dataclass(frozen=True, kw_only=True)
class TrialJob:
    """A trial and how it is to be measured: the payload of its process."""

    trial: Trial
    metrics: tuple[MetricCall, ...]
    time_single_rows: bool = False
    """Whether rows are also ranked one at a time, by a clock of their own."""
    find_confidence: bool = False
    """Whether a second learner is trained on fewer rows, so that confidence can be calibrated on the others."""
    threads: int = 1
