"""`harness.fit`: a learner with its representation trained on all rows of some data, its confidence calibrated.

A fifth of the rows is held out first: a learner trained on the others tells how right it is, and how sure it may be.
Then one is trained on all rows; that is the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

from harness.api.answering import NamedClassifier
from harness.api.given_data import describe_data
from harness.api.given_learners import describe_learners
from harness.api.model import Model, save_model
from harness.api.preparing import preparer
from harness.api.request import Request, read_request
from harness.api.resolving import read_experiment
from harness.api.session import Session, find_modules_of, make_session
from harness.contract import Dataset
from harness.data.arrays import open_dataset
from harness.errors import ContractError, ModelError, SpecError
from harness.experiment.pairs import tell_incompatible
from harness.experiment.plan import plan
from harness.experiment.resolve import Resolved, environment_of
from harness.machine import describe_versions
from harness.models.calibration import Calibrated, calibrate, calibrator_to_plain
from harness.models.manifest import Expected, LearnerFile, Manifest, TrainedOn
from harness.models.saving import ENDINGS, saved_as
from harness.trials.confiding import HELD_OUT
from harness.trials.outcome import first_is_true
from harness.trials.ranking import KEPT_SCORES
from harness.trials.represent import rows_for
from harness.trials.scoring import rank_with_scores
from harness.trials.splitting import draw_split, shuffled
from harness.trials.training import FittedPair, fit_pair
from harness.trials.trial import Trial
from harness.wording import counted

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """What is to be fitted on what, in the words of an experiment."""

    learner: str
    data: str
    representation: str | None = None
    seed: int = 0
    expected: Expected | None = None
    """What is known of it from elsewhere, such as trials; None: from the held-out rows."""


def fit(
    learner: Any,
    data: Any,
    *,
    out: str | PathLike[str] | None = None,
    representation: str | None = None,
    text: str | None = None,
    label: str | None = None,
    seed: int = 0,
    plugins_dirs: Iterable[str | PathLike[str]] = (),
    disabled_plugins: Iterable[str] = (),
) -> Model:
    """Train a learner on all rows of some data, as `harness fit` does; `out` names the folder that keeps the model.

    Learner and data are given as to `harness.run`: a name or expression ("pa(C=0.3)"), or an estimator; a name, a file,
    (texts, labels), (X, y), or a data frame with `text` and `label`.
    """
    session = make_session(plugins_dirs, disabled_plugins)
    asked = FitRequest(
        learner=_only_one("learner", describe_learners(learner, session.catalog)),
        data=one_data_set(data, text=text, label=label),
        representation=representation,
        seed=seed,
    )
    return fit_request(asked, session, None if out is None else Path(out))


def one_data_set(data: Any, *, text: str | None = None, label: str | None = None) -> str:
    """Data as Python has it, in the words of an experiment; SpecError where it is several."""
    return _only_one("data set", describe_data(data, text=text, label=label))


def _only_one(what: str, described: str | list[str]) -> str:
    if isinstance(described, str):
        return described
    if len(described) != 1:
        raise SpecError(f"a model is made of one {what}, and {len(described)} were given: {', '.join(described)}")
    return described[0]


def fit_request(asked: FitRequest, session: Session, out: Path | None, say: Say = lambda line: None) -> Model:
    """Fit what is asked for, and keep it in a folder where one is named."""
    if out is not None and out.exists():  # before anything is trained
        raise ModelError("there is something of this name already", culprit=str(out), next_step="choose another --out")
    find_modules_of(session)
    trial = _only_trial(asked, session)
    data = open_dataset(Path(trial.data_folder))
    try:
        model = _fit_trial(trial, data, asked.expected, say)
    except ContractError as error:
        raise ModelError(str(error), culprit=f"learner {trial.label!r}") from error
    if out is not None:
        save_model(model, out)
    return model


def _only_trial(asked: FitRequest, session: Session) -> Trial:
    """The one trial that what is asked for stands for: names looked up, data read, compatibility checked."""
    given = {"learners": asked.learner, "datasets": asked.data, "trials": 1, "seed": asked.seed, "split": str(HELD_OUT)}
    if asked.representation is not None:
        given["representation"] = asked.representation
    resolved = read_experiment(read_request(Request(given=given, asker="fit"), session.catalog), session)
    _check_packages(resolved)
    prepare = preparer(session)
    headers = {dataset.name: prepare(dataset) for dataset in resolved.datasets}
    for line in tell_incompatible(resolved, headers):
        raise ModelError(line)
    trials = plan(resolved, headers)
    if len(trials) != 1:
        raise SpecError(
            f"a model is made of one learner, set up in one way, on one data set: these are {len(trials)}",
            next_step="name one value of each parameter",
        )
    return trials[0]


def _check_packages(resolved: Resolved) -> None:
    """ModelError for a learner with packages of its own: what is trained and asked here has those of this Python."""
    for learner in resolved.learners:
        if any(environment_of(chain) for chain in learner.chains()):
            raise ModelError(
                "runs in an environment of its own, and models are made and asked by this Python",
                culprit=f"learner {learner.ref.label!r}",
                next_step="`harness run` compares it; choose another one to fit",
            )


def _fit_trial(trial: Trial, data: Dataset, expected: Expected | None, say: Say) -> Model:
    say(f"calibrating on {HELD_OUT.share:.0%} of {counted(data.rows, 'row')}")
    calibrated, known = _calibrate(trial, data)
    say("training on all rows")
    pair = fit_pair(trial, trial.blueprint, data, shuffled(data.rows, trial.seed))
    manifest = _describe(trial, data, pair, calibrated, expected or known)
    classifier = NamedClassifier(pair.learner, data.class_names, calibrated.calibrator)
    return Model(manifest, pair.representation, classifier, data.taxonomy)


def _calibrate(trial: Trial, data: Dataset) -> tuple[Calibrated, Expected]:
    """The confidence and the accuracy of a learner that did not see the rows that are held out."""
    train, held_out = draw_split(HELD_OUT, data.rows, trial.seed, {})
    pair = fit_pair(trial, trial.blueprint, data, train)
    rows = pair.see(rows_for(data, trial.representing.takes_text)[held_out])
    ranks, scores = rank_with_scores(pair.learner, rows, KEPT_SCORES, len(data.class_names))
    right = first_is_true(ranks, data.y[held_out])
    accuracy = float(right.mean()) if right.size else None
    told = f"{counted(len(right), 'row')} of the data held out, the others trained on"
    return calibrate(scores, right), Expected(accuracy=accuracy, rows=len(right), known_from=told)


def _describe(trial: Trial, data: Dataset, pair: FittedPair, calibrated: Calibrated, expected: Expected) -> Manifest:
    return Manifest(
        learner=_learner_file(trial.learner, pair.learner),
        representation=None if pair.representation is None else trial.representation,
        takes_text=pair.takes_text,
        wants_dense=pair.wants_dense,
        data=TrainedOn(
            name=trial.dataset,
            source=trial.dataset_source,
            params=trial.dataset_params,
            fingerprint=trial.fingerprint,
            rows=data.rows,
            classes=len(data.class_names),
            revision=trial.dataset_revision,
        ),
        expected=expected,
        calibrator=calibrator_to_plain(calibrated.calibrator),
        reliability={**asdict(calibrated.reliability), "brier_by_kind": dict(calibrated.tried)},
        fitted=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=describe_versions(),
    )


def _learner_file(name: str, learner: Any) -> LearnerFile:
    kind, how = type(learner), saved_as(learner)
    params = learner.get_params(deep=False) if hasattr(learner, "get_params") else {}
    load = f"{kind.__module__}:{kind.__qualname__}"
    return LearnerFile(name=name, load=load, params=params, file=f"learner{ENDINGS[how]}", saved_as=how)
