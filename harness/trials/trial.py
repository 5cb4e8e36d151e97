"""A trial as plain values that can be sent to another process: learner, data, split and seed.

Also builds the estimator of a trial, and checks before a run whether learners accept their parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.errors import SpecError
from harness.executors.base import Executor, Input, Job, Sealed
from harness.host.catalog import MetricCall
from harness.host.contract import Direction
from harness.host.introspection import import_target
from harness.records.record import TrialNames
from harness.syntax.expression import Params
from harness.syntax.split import Split
from harness.text import in_a_line


@dataclass(frozen=True)
class Blueprint:
    """An estimator to build: its class as "module:name", and its parameters, which may be blueprints too.

    Examples
    --------
    >>> Blueprint("fractions:Fraction", {"numerator": 1}).with_params({"denominator": 3}).params
    {'numerator': 1, 'denominator': 3}
    """

    load: str
    params: Params

    def with_params(self, params: Params) -> Blueprint:
        """Return a copy of the blueprint with these parameters added or replaced."""
        return replace(self, params={**self.params, **params})


def build_estimator(blueprint: Blueprint) -> Any:
    """Import and construct an estimator, and the estimators among its parameters.

    Examples
    --------
    >>> build_estimator(Blueprint("fractions:Fraction", {"numerator": 1, "denominator": 3}))
    Fraction(1, 3)
    """
    params = {name: _built(value) for name, value in blueprint.params.items()}
    return import_target(blueprint.load)(**params)


def _built(value: Any) -> Any:
    if isinstance(value, Blueprint):
        return build_estimator(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_built, value))
    return value


REPRESENTATION = "representation"
"""The key of the representation among the parameters of a tuning candidate."""


@dataclass(frozen=True)
class RepresentationPlan:
    """The representation of a trial, which is fitted on its training rows."""

    blueprint: Blueprint | None
    """None for a learner that takes the rows unchanged."""
    takes_text: bool
    """True if it is fitted on texts, False for rows of numbers."""


@dataclass(frozen=True, kw_only=True)
class TuningPlan:
    """The tuning of a trial: candidates are compared on a validation part of the training rows."""

    split: Split
    judge: MetricCall
    direction: Direction
    candidates: tuple[Params, ...]
    """Parameters of each candidate; `representation`, if present, names one of `representations`."""
    seconds: float | None
    representations: Mapping[str, RepresentationPlan] = field(default_factory=dict)
    """The representations to choose from, if tuning chooses the representation too."""

    def most_seconds(self, timeout: float | None) -> float:
        """Return an upper limit for the seconds of tuning, if one fit may take `timeout` seconds; 0 without a timeout.

        Without `seconds`, each candidate may take the full timeout. With `seconds`, only the candidates that may run
        past that time add a timeout: the first one of each representation, or the last one that began in time.
        """
        if timeout is None:
            return 0.0
        if self.seconds is None:
            return timeout * len(self.candidates)
        return self.seconds + timeout * max(1, len(self.representations))


@dataclass(frozen=True, kw_only=True)
class Trial(TrialNames):
    """One trial: the learner, the data, the split and the key of its record."""

    blueprint: Blueprint
    code_group: str = ""
    """The group whose code the trial runs. Only trials of the same group share imported modules."""
    representing: RepresentationPlan
    represented_folder: str = ""
    """The folder with the represented training and test rows, if several learners share them; else empty."""
    wants_dense: bool
    wants_taxonomy: bool
    data_folder: str
    """The folder of the stored dataset. In the trial's process, the folder with its rows, which has no labels."""
    curves: bool = False
    """True to rank the test rows after each pass too."""
    tuning_plan: TuningPlan | None = None


@dataclass(frozen=True, kw_only=True)
class TrialJob:
    """A trial and the measurements to make: the payload of the trial's process."""

    trial: Trial
    time_single_rows: bool = False
    """True to time some rows one at a time."""
    find_confidence: bool = False
    """True to calibrate confidences, which trains a second learner on fewer rows."""
    threads: int = 1
    split_file: int = -1
    """In the trial's process, the descriptor of its `SealedSplit`."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The folders that the trial reads."""
        data = Input("data", self.trial.data_folder, self.trial.fingerprint)
        if not self.trial.represented_folder:
            return (data,)
        return data, Input("representation", self.trial.represented_folder)

    @property
    def affinity(self) -> str:
        """A key that is equal for trials with the same data and number: tables compare these."""
        return f"{self.trial.fingerprint} {self.trial.number}"

    def with_folders(self, folders: Mapping[str, str]) -> TrialJob:
        """Return the job for a machine that has the folders at other paths.

        `folders` maps paths on this machine to paths on the other one. If it lacks the representation, the trial
        computes it.
        """
        trial = replace(
            self.trial,
            data_folder=folders.get(self.trial.data_folder, self.trial.data_folder),
            represented_folder=folders.get(self.trial.represented_folder, ""),
        )
        return replace(self, trial=trial)

    def sealed(self) -> Sealed:
        """Return the job for its process, which cannot find the labels of the test rows.

        The job has neither the name nor the path of the dataset, and its split has the training labels only.
        """
        from harness.data.arrays import rows_folder  # noqa: PLC0415 (imports numpy, which planning does not need)
        from harness.data.split import seal  # noqa: PLC0415 (the same)

        trial = self.trial
        unnamed = _without_source(trial, str(rows_folder(trial.data_folder)))
        return seal(replace(self, trial=unnamed), trial.data_folder, trial.split, trial.seed)

    def with_file(self, handle: int) -> TrialJob:
        """Return the job with the descriptor of the open file that has the split."""
        return replace(self, split_file=handle)


@dataclass(frozen=True)
class RepresentJob:
    """A representation to compute and store for the trials of several learners: the payload of its process."""

    data_folder: str
    split: Split
    seed: int
    representing: RepresentationPlan
    folder: Path
    split_file: int = -1
    """In its process, the descriptor of the `SealedSplit`."""

    def sealed(self) -> Sealed:
        """Return the job without the path of the labels, and its split without the labels of the test rows."""
        from harness.data.arrays import rows_folder  # noqa: PLC0415 (imports numpy, which planning does not need)
        from harness.data.split import seal  # noqa: PLC0415 (the same)

        payload = replace(self, data_folder=str(rows_folder(self.data_folder)))
        return seal(payload, self.data_folder, self.split, self.seed)

    def with_file(self, handle: int) -> RepresentJob:
        """Return the job for its process, which has the split as an open file."""
        return replace(self, split_file=handle)


def _without_source(trial: Trial, rows: str) -> Trial:
    """Return a trial without the names and parameters of its dataset; only the folder of the rows is left."""
    named = replace(trial, key="", dataset="", dataset_family="", dataset_source="", dataset_params={}, fingerprint="")
    return replace(named, data_folder=rows)


# -- parameters that learners reject ---------------------------------------------------------------------------------


REFUSAL_LENGTH = 500
VALIDATIONS = ("check_params", "_validate_params")
"""Methods that validate parameters, of harness and of scikit-learn; the first one that a learner has is called."""


def find_refusals(configured: Sequence[Blueprint], send: Callable[[str], None]) -> tuple[list[str], None]:
    """Return the error of each learner about its parameters, or an empty text; the target of a job."""
    send("checking parameters")
    return [_refusal_of(blueprint) for blueprint in configured], None


def _refusal_of(blueprint: Blueprint) -> str:
    """Return the error of a learner, or of a learner inside it, about its parameters; empty if there is none.

    A failed import is no such error. The trials report it.
    """
    for value in blueprint.params.values():
        if isinstance(value, Blueprint) and (inside := _refusal_of(value)):
            return inside
    try:
        import_target(blueprint.load)
    except (Exception, SystemExit):
        return ""
    try:
        _validate(build_estimator(blueprint))
    except (ValueError, TypeError) as error:
        return in_a_line(str(error) or type(error).__name__, REFUSAL_LENGTH)
    except Exception:  # not about a parameter: the trial fails with it and reports a traceback
        return ""
    return ""


def _validate(learner: Any) -> None:
    """Call the learner's validation of its parameters, if it has one."""
    for name in VALIDATIONS:
        validation = getattr(learner, name, None)
        if callable(validation):
            validation()
            return


REFUSALS_TARGET = f"{find_refusals.__module__}:{find_refusals.__name__}"
MOST_SECONDS = 120.0
"""Time limit for importing and building the learners. If it is exceeded, the run goes on and the trials fail."""


def check_set_ups(trials: Iterable[Trial], executor: Executor) -> None:
    """Build the learners of all trials, and raise SpecError with a line for each that rejects its parameters.

    The learners are built by `executor`. A job that crashes or times out raises nothing here: the trials report it.
    """
    refused: dict[str, None] = {}
    checked = {}
    for configured in _group_by_code(trials):
        job = _job_of(configured)
        checked[id(job)] = job, configured
    for job, end in executor.run([job for job, _ in checked.values()]):
        if end.status != "ok":
            continue
        for trial, refusal in zip(checked[id(job)][1], end.answer, strict=True):
            if refusal:
                refused[_describe(trial, refusal)] = None
    if refused:
        raise SpecError("\n".join(refused))


def _group_by_code(trials: Iterable[Trial]) -> list[list[Trial]]:
    """Return one trial of each configured learner on each dataset, grouped by plugin.

    A learner given as `module:Class` is a group by itself, because importing it may affect other learners.
    """
    first: dict[tuple[str, str], Trial] = {}
    for trial in trials:
        first.setdefault((trial.label, trial.dataset), trial)
    together: dict[str, list[Trial]] = {}
    for trial in first.values():
        code = trial.learner if ":" in trial.learner else trial.code_group
        together.setdefault(code, []).append(trial)
    return list(together.values())


def _job_of(configured: Sequence[Trial]) -> Job:
    blueprints = tuple(trial.blueprint for trial in configured)
    return Job(REFUSALS_TARGET, blueprints, MOST_SECONDS, group=configured[0].code_group)


def _describe(trial: Trial, refusal: str) -> str:
    known = "" if ":" in trial.learner else f"; `harness explain {trial.learner}` lists them"
    return f"learner {trial.label!r} refuses its parameters: {refusal}{known}"
