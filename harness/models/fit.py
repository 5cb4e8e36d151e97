"""Train a model: a learner with its representation, on all rows of a dataset, with a calibrated confidence.

Two learners are trained. The first one gets four fifths of the rows. Its predictions for the other fifth are used to
measure the expected accuracy and to calibrate the confidence. The second one gets all rows, and becomes the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from harness.data.arrays import open_dataset
from harness.data.split import draw_split, shuffled
from harness.errors import ContractError, ModelError, SpecError
from harness.experiment.load import load_experiment
from harness.experiment.plan import plan, read_experiment
from harness.experiment.python import describe_data, describe_learners
from harness.experiment.resolve import find_environments, preparer
from harness.host.contract import Dataset
from harness.host.discovery import Session, find_modules_of, make_session
from harness.models.estimators import ENDINGS, saved_as
from harness.models.folder import Expected, LearnerFile, ModelManifest, TrainedOn, check_new
from harness.models.held_out import Measurements, measure
from harness.models.kept import KeptRows, as_kept
from harness.models.learner_jobs import SAVED
from harness.models.learner_process import LearnerHome, ProcessLearner, find_home, fit_in_process
from harness.models.model import Model, NamedClassifier, save_model
from harness.stats.calibration import calibrator_to_plain
from harness.system.machine import describe_versions
from harness.text import counted
from harness.trials.data import rows_for
from harness.trials.fit import HELD_OUT, FittedPipeline, fit_pipeline
from harness.trials.fit import fit as fit_here
from harness.trials.predict import KEPT_SCORES
from harness.trials.trial import Trial

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """A model to train. Learner, data and representation are written as in an experiment file."""

    learner: str
    data: str
    representation: str | None = None
    seed: int = 0
    expected: Expected | None = None
    """Accuracy if it is known from trials; None to measure it on the held-out rows."""
    keep_rows: bool = False
    """True to keep the training rows in the model, so that explanations show the nearest ones."""


def fit(
    learner: Any,
    data: Any,
    *,
    out: str | PathLike[str] | None = None,
    representation: str | None = None,
    text: str | None = None,
    label: str | None = None,
    seed: int = 0,
    keep_rows: bool = False,
    plugins_dirs: Iterable[str | PathLike[str]] = (),
    disabled_plugins: Iterable[str] = (),
) -> Model:
    """Train a learner on all rows of a dataset, and calibrate its confidence.

    Parameters
    ----------
    learner : str or estimator
        A name with parameters if needed, such as "pa(C=0.3)", or a scikit-learn classifier.
    data : str, tuple or data frame
        Name of a dataset, a file, (texts, labels), (X, y), or a data frame with the columns `text` and `label`.
    out : path, optional
        New folder to save the model in. Without it, the model is only returned.
    representation : str, optional
        Representation of the rows; by default that of the dataset.
    text, label : str, optional
        Names of the columns of a data frame with texts and labels.
    seed : int, default=0
        Random seed of the learner and of the choice of held-out rows.
    keep_rows : bool, default=False
        True to keep the training rows in the model. `Model.explain` then shows the nearest ones.
    plugins_dirs : iterable of path, default=()
        Folders with further plugins.
    disabled_plugins : iterable of str, default=()
        Names of plugins to ignore.

    Returns
    -------
    Model
        The fitted model.

    Raises
    ------
    HarnessError
        If a name is unknown, if the data does not fit the learner, or if `out` exists.
    """
    session = make_session(plugins_dirs, disabled_plugins)
    request = FitRequest(
        learner=_only_one("learner", describe_learners(learner, session.catalog)),
        data=single_dataset(data, text=text, label=label),
        representation=representation,
        seed=seed,
        keep_rows=keep_rows,
    )
    return fit_request(request, session, None if out is None else Path(out))


def single_dataset(data: Any, *, text: str | None = None, label: str | None = None) -> str:
    """Return the text that names this data in an experiment.

    Raises
    ------
    SpecError
        If the data consists of several datasets.
    """
    return _only_one("dataset", describe_data(data, text=text, label=label))


def _only_one(what: str, described: str | list[str]) -> str:
    if isinstance(described, str):
        return described
    if len(described) != 1:
        raise SpecError(f"expected one {what}, got {len(described)}: {', '.join(described)}")
    return described[0]


def fit_request(request: FitRequest, session: Session, out: Path | None, say: Say = lambda line: None) -> Model:
    """Train the model of a request, and save it if `out` is given.

    Parameters
    ----------
    request : FitRequest
        The request.
    session : Session
        Plugin settings.
    out : Path or None
        New folder for the model; None to keep it in memory only.
    say : Say, optional
        Receives a line at the start of each step.

    Raises
    ------
    HarnessError
        If a name is unknown, if the data does not fit the learner, or if `out` exists.
    """
    if out is not None:  # fail before the training, which may take hours
        check_new(out)
    find_modules_of(session)
    trial, home = _only_trial(request, session, say)
    if request.keep_rows:
        _check_keeps_rows(trial)
    data = open_dataset(Path(trial.data_folder))
    try:
        model = _fit_trial(trial, data, request, say, fitter_for(home))
    except ContractError as error:
        raise ModelError(str(error), culprit=f"learner {trial.label!r}") from error
    if out is not None:
        save_model(model, out)
    return model


def _only_trial(request: FitRequest, session: Session, say: Say) -> tuple[Trial, LearnerHome | None]:
    """Return the trial of a request, and the environment that its learner needs, if any.

    Names are resolved, the data is parsed, and the learner is checked to take it.
    """
    given = {
        "learners": request.learner,
        "datasets": request.data,
        "trials": 1,
        "seed": request.seed,
        "split": str(HELD_OUT),
    }
    if request.representation is not None:
        given["representation"] = request.representation
    resolved = read_experiment(load_experiment(None, given, session.catalog, "fit"), session)
    homes = [find_home(learner, session, say) for learner in resolved.learners]
    resolved = find_environments(resolved, build=False, say=say)
    prepare = preparer(session)
    headers = {dataset.name: prepare(dataset) for dataset in resolved.datasets}
    planned = plan(resolved, headers)
    for line in planned.incompatible:
        raise ModelError(line)
    trials = planned.trials
    if len(trials) != 1:
        raise SpecError(
            f"expected one learner with one set of parameters on one dataset, got {len(trials)} combinations",
            next_step="Give one value for each parameter.",
        )
    return trials[0], homes[0]


FitLearner = Callable[..., Any]


def fitter_for(home: LearnerHome | None) -> FitLearner:
    """Return the function that fits a learner: in this process, or in the environment that it needs."""
    return fit_here if home is None else partial(fit_in_process, home)


def _check_keeps_rows(trial: Trial) -> None:
    """Raise ModelError if no nearest training rows can be found for a text."""
    if not trial.representing.takes_text or trial.representing.blueprint is None:
        problem = "takes texts without a representation" if trial.representing.takes_text else "takes rows of numbers"
        raise ModelError(
            f"keeping rows needs texts and their representation, but this model {problem}",
            culprit=f"learner {trial.label!r}",
            next_step="Fit it without --keep-rows.",
        )


def _fit_trial(trial: Trial, data: Dataset, request: FitRequest, say: Say, fit_learner: FitLearner) -> Model:
    say(f"calibrating on {HELD_OUT.share:.0%} of {counted(data.rows, 'row')}")
    found = _measure(trial, data, fit_learner)
    say("training on all rows")
    fitted = fit_pipeline(trial, data, shuffled(data.rows, trial.seed), fit_learner)
    manifest = _describe(trial, data, fitted, found, request.expected or _expected(found))
    manifest = replace(manifest, learner=replace(manifest.learner, expression=request.learner))
    classifier = NamedClassifier(fitted.learner, data.class_names, found.calibrated.calibrator)
    kept = _kept_rows(data, fitted) if request.keep_rows else None
    return Model(manifest, fitted.representation.transformer, classifier, data.taxonomy, kept)


def _kept_rows(data: Dataset, fitted: FittedPipeline) -> KeptRows:
    texts = rows_for(data, takes_text=True)
    return as_kept(texts, data.y, fitted.representation.transform(texts))


def _measure(trial: Trial, data: Dataset, fit_learner: FitLearner) -> Measurements:
    """Train on a part of the rows, and return the calibration and the measurements on the held-out rows."""
    train, held_out = draw_split(HELD_OUT, data.rows, trial.seed, {})
    fitted = fit_pipeline(trial, data, train, fit_learner)
    rows = fitted.representation.transform(rows_for(data, trial.representing.takes_text)[held_out])
    return measure(fitted.learner, rows, data, train, held_out, KEPT_SCORES)


def _expected(found: Measurements) -> Expected:
    rows = found.calibrated.reliability.rows
    source = f"measured on {counted(rows, 'held-out row')}"
    return Expected(accuracy=found.accuracy, rows=rows, known_from=source)


def _describe(
    trial: Trial, data: Dataset, fitted: FittedPipeline, found: Measurements, expected: Expected
) -> ModelManifest:
    return ModelManifest(
        learner=_learner_file(trial, fitted.learner),
        representation=None if fitted.representation.transformer is None else trial.representation,
        takes_text=fitted.representation.takes_text,
        wants_dense=fitted.representation.wants_dense,
        data=TrainedOn(
            name=trial.dataset,
            source=trial.dataset_source,
            params=trial.dataset_params,
            fingerprint=trial.fingerprint,
            rows=data.rows,
            classes=len(data.class_names),
            revision=trial.dataset_revision,
            table=data.table,
        ),
        expected=expected,
        calibrator=calibrator_to_plain(found.calibrated.calibrator),
        reliability={**asdict(found.calibrated.reliability), "brier_by_kind": dict(found.calibrated.tried)},
        fitted=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={**describe_versions(), **packages_of(fitted.learner)},
        held_out=found.held_out,
    )


def packages_of(learner: Any) -> Mapping[str, str]:
    """Return the versions of the packages in the environment of a learner; none if it needs no environment."""
    return learner.home.environment.packages if isinstance(learner, ProcessLearner) else {}


def _learner_file(trial: Trial, learner: Any) -> LearnerFile:
    if isinstance(learner, ProcessLearner):
        spec = learner.home.spec
        return LearnerFile(
            name=trial.learner,
            distribution=trial.learner_distribution,
            load=spec.load,
            params=learner.params,
            file=SAVED,
            saved_as=learner.saved_as,
            environment=spec.environment,
        )
    kind, how = type(learner), saved_as(learner)
    params = learner.get_params(deep=False) if hasattr(learner, "get_params") else {}
    load = f"{kind.__module__}:{kind.__qualname__}"
    return LearnerFile(
        name=trial.learner,
        distribution=trial.learner_distribution,
        load=load,
        params=params,
        file=f"learner{ENDINGS[how]}",
        saved_as=how,
    )
