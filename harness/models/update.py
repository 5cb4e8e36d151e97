"""Update a model with new rows: continue training, or train again with old and new rows.

As in `harness fit`, two learners are trained. The first one does not get the held-out rows. They show the accuracy
before and after the update, and calibrate the confidence. The second one gets all rows, and becomes the model.

The new version replaces the folder of the model in one step. It has the version before in its folder `previous`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from harness.data.arrays import Header, open_dataset
from harness.data.split import draw_split, shuffled
from harness.errors import ModelError
from harness.experiment.load import build, load_experiment
from harness.experiment.plan import plan
from harness.experiment.references import DatasetRef, find_representation, learner_refs, parse_dataset
from harness.experiment.resolve import (
    MINIMUM_DEPTH,
    Resolved,
    ResolvedDataset,
    find_environments,
    resolve_learner,
)
from harness.experiment.schema import dataset_groups
from harness.files.atomic import copy_linked, replacement_folder
from harness.host.contract import Dataset, Labels, Taxonomy
from harness.host.discovery import Session, find_modules_of, make_session
from harness.models.back_off import node_depth
from harness.models.estimators import load_learner
from harness.models.fit import fitter_for, packages_of, single_dataset
from harness.models.folder import MANIFEST, Expected, ModelManifest, check_new, read_model_manifest
from harness.models.held_out import Measurements, measure
from harness.models.kept import KeptRows, add_rows
from harness.models.labelled import (
    LabelledTexts,
    NotAtHand,
    UpdateRequest,
    extended_taxonomy,
    find_training_data,
    joined_data,
    read_added_rows,
    read_new_rows,
)
from harness.models.learner_process import ProcessLearner
from harness.models.model import Model, NamedClassifier, open_model, save_model, write_model
from harness.sdk.texts import Texts
from harness.stats.calibration import FEWEST_ROWS, calibrator_to_plain
from harness.syntax.values import plain_label
from harness.system.machine import describe_versions
from harness.text import counted
from harness.trials.data import FittedRepresentation
from harness.trials.fit import HELD_OUT, FittedPipeline, fit_pipeline
from harness.trials.outcome import first_is_true
from harness.trials.predict import KEPT_SCORES, rank_with_scores
from harness.trials.trial import Trial

Say = Callable[[str], None]
Way = Literal["continued", "retrained"]
Positions = NDArray[np.int64]
PREVIOUS = "previous"
"""Folder in the folder of an updated model, with the version before."""
FEWEST_MEASURED = 20
"""Below this number of held-out new rows no accuracy is reported."""


@dataclass(frozen=True, kw_only=True)
class Update:
    """Rows that were added to a model, as its manifest lists them."""

    source: str
    """The file that they came from."""
    kept: str
    """Name of their copy in the data home, which has a hash of the content."""
    rows: int
    new_classes: tuple[str, ...]
    way: Way
    """continued: the learner went on training with the new rows. retrained: it was trained with old and new rows."""
    time: str
    """Time of the update: UTC, ISO 8601."""
    held_out: int
    """Number of new rows that the accuracy was measured on."""
    before: float | None
    """Accuracy of the former model on these rows; None if there are too few of them."""
    after: float | None
    """Accuracy on the same rows of a learner that was updated with the other rows; None if there are too few."""


@dataclass(frozen=True)
class Updated:
    """An updated model, and the facts of its last update."""

    model: Model
    update: Update
    calibrated_on: int
    """Number of held-out rows that the confidence was calibrated on; 0 if the former calibration was kept."""


def update(
    model: str | PathLike[str],
    data: Any,
    *,
    out: str | PathLike[str] | None = None,
    text: str | None = None,
    label: str | None = None,
    trusted: Iterable[str] = (),
    plugins_dirs: Iterable[str | PathLike[str]] = (),
) -> Updated:
    """Update a saved model with new rows, new classes included.

    A learner with `partial_fit` continues training. Any other learner is trained again with old and new rows; the
    training data must be in the data home, or its source must be unchanged.

    Parameters
    ----------
    model : path
        The folder of the model. The new version replaces it in one step; `harness update MODEL --undo` restores it.
    data : path, tuple or data frame
        A file, (texts, labels), or a data frame with the columns `text` and `label`.
    out : path, optional
        New folder for the updated model, which leaves `model` unchanged.
    text, label : str, optional
        Names of the columns with texts and labels; by default those of the training data.
    trusted : iterable of str, default=()
        Further types that the model may load; see `harness.load_model`.
    plugins_dirs : iterable of path, default=()
        Folders with further plugins.

    Returns
    -------
    Updated
        The new model, and its `update` with the accuracy before and after.

    Raises
    ------
    HarnessError
        If the rows cannot be read, or if the learner cannot be updated with them.
    """
    session = make_session(plugins_dirs)
    if not isinstance(data, str | PathLike):
        given = parse_dataset(single_dataset(data, text=text, label=label))
        data, text, label = given.source, "text", "label"
    request = UpdateRequest(
        model=Path(model),
        source=os.fspath(data),
        text=text,
        label=label,
        out=None if out is None else Path(out),
        trusted=tuple(trusted),
    )
    return update_model(request, session)


def update_model(request: UpdateRequest, session: Session, say: Say = lambda line: None) -> Updated:
    """Update a model as requested, and replace its folder or write a new one.

    Parameters
    ----------
    request : UpdateRequest
        The request.
    session : Session
        Plugin settings.
    say : Say, optional
        Receives a line at the start of each step.

    Raises
    ------
    HarnessError
        If the rows cannot be read, or if the learner cannot be updated with them.
    """
    if request.out is not None:  # fail before the training
        check_new(request.out)
    find_modules_of(session)
    read_from = manifest_bytes(request.model)
    model = open_model(request.model, session, request.trusted)
    try:
        updated = _Updating(request, session, model, say).run()
    except ModelError as error:
        raise error.about(f"model {request.model}") from None
    if request.out is not None:
        save_model(updated.model, request.out)
    else:
        with next_version(request.model, read_from, keeps_previous=True) as folder:
            write_model(updated.model, folder)
    return updated


def undo_update(place: Path) -> ModelManifest:
    """Restore the version of a model before its last update, and return its manifest.

    Raises
    ------
    ModelError
        If the folder is not a model, or if it has no previous version or a damaged one.
    """
    read_model_manifest(place)
    if not (place / PREVIOUS).is_dir():
        raise ModelError(
            "no previous version to restore", culprit=str(place), next_step="Only the last update can be undone, once."
        )
    before = read_model_manifest(place / PREVIOUS)
    with next_version(place, manifest_bytes(place), keeps_previous=False) as folder:
        folder.rmdir()
        copy_linked(place / PREVIOUS, folder)
    return before


# -- versions --------------------------------------------------------------------------------------------------------


@contextmanager
def next_version(place: Path, read_from: bytes, *, keeps_previous: bool) -> Iterator[Path]:
    """Yield an empty folder that replaces the folder of a model at the end of the block, in one step.

    `read_from` is the content of its manifest when it was read. If the manifest differs in the end, another process has
    replaced the model, and ModelError is raised.
    """

    def check(replaced: Path) -> None:
        if manifest_bytes(replaced) != read_from:
            raise ModelError("was changed by another process", culprit=f"model {place}", next_step="Repeat the update.")

    real = Path(os.path.realpath(place))  # a link to the folder stays a link
    try:
        with replacement_folder(real, check) as built:
            yield built
            if keeps_previous:
                copy_linked(real, built / PREVIOUS, without=PREVIOUS)
    except OSError as error:
        next_step = "Write the updated model to another folder with --out."
        problem = f"cannot be replaced: {error.strerror}"
        if error.errno == errno.ENOTSUP:
            problem = "cannot be replaced: this file system cannot exchange two folders in one step"
        raise ModelError(problem, culprit=f"model {place}", next_step=next_step) from error


def manifest_bytes(folder: Path) -> bytes:
    """Return the content of the manifest of a model; empty if it cannot be read."""
    try:
        return (folder / MANIFEST).read_bytes()
    except OSError:
        return b""  # reading the model reports it


# -- training --------------------------------------------------------------------------------------------------------


class CannotContinue(Exception):
    """The learner cannot continue training with the new rows; the message is the reason."""


@dataclass(frozen=True)
class Parts:
    """Positions of the new rows to train on first, and of those that are held out."""

    train: Positions
    held_out: Positions

    @property
    def is_measured(self) -> bool:
        """True if there are enough held-out rows to report an accuracy."""
        return len(self.held_out) >= FEWEST_MEASURED


@dataclass(frozen=True)
class Trained:
    """The result of training: the learner of all rows, and what the held-out rows show of the first one."""

    way: Way
    fitted: FittedPipeline
    right: NDArray[np.bool_]
    """For each held-out new row, whether the first learner is right."""
    measured: Measurements | None
    """None to keep the former calibration and measurements."""
    expected: Expected | None
    """None to keep the former one."""


@dataclass
class _Updating:
    """One update of a model."""

    request: UpdateRequest
    session: Session
    model: Model
    say: Say

    def run(self) -> Updated:
        manifest = self.model.manifest
        if not manifest.takes_text:
            raise ModelError(
                "was trained on rows of numbers, and only models of texts can be updated",
                next_step="Fit it again with `harness fit`.",
            )
        new, described = read_new_rows(self.model, self.request)
        self.say(f"read {counted(len(new.texts), 'row')} as {described}")
        kept = self._keep(new)
        added = tuple(sorted(new.class_names.difference(self.model.classes)))
        if added:
            self.say(f"{counted(len(added), 'new class')}: {', '.join(added[:5])}{', ...' if len(added) > 5 else ''}")
        names = (*self.model.classes, *added)
        taxonomy = extended_taxonomy(self.model.taxonomy, names, added, str(manifest.data.params.get("levels") or "/"))
        parts = self._parts(new)
        right = first_is_true(
            self.model.answer([new.texts[row] for row in parts.held_out], 1).positions,
            new.positions(names, several=new.has_several)[parts.held_out],
        )
        try:
            trained = self._continue(new, names, taxonomy, parts, added)
        except CannotContinue as reason:
            trained = self._retrain(new, names, taxonomy, parts, str(reason))
        update = Update(
            source=self.request.source,
            kept=kept,
            rows=len(new.texts),
            new_classes=added,
            way=trained.way,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            held_out=len(parts.held_out),
            before=float(right.mean()) if parts.is_measured else None,
            after=float(trained.right.mean()) if parts.is_measured else None,
        )
        calibrated_on = 0 if trained.measured is None else trained.measured.calibrated.reliability.rows
        model = self._model(trained, names, taxonomy, update)
        return Updated(replace(model, kept=self._kept_rows(trained, new, names)), update, calibrated_on)

    def _kept_rows(self, trained: Trained, new: LabelledTexts, names: tuple[str, ...]) -> KeptRows | None:
        """Return the training rows that the updated model keeps, if the former one kept its rows."""
        kept = self.model.kept
        if kept is None:
            return None
        y = new.positions(names, several=new.has_several)
        return add_rows(kept, new.texts, y, trained.fitted.representation.transform)

    def _model(self, trained: Trained, names: tuple[str, ...], taxonomy: Taxonomy | None, update: Update) -> Model:
        """Return the updated model."""
        old = self.model.manifest
        data = replace(
            old.data,
            rows=old.data.rows + update.rows,
            classes=len(names),
            updates=(*old.data.updates, {**asdict(update), "new_classes": list(update.new_classes)}),
        )
        versions = {**describe_versions(), **packages_of(trained.fitted.learner)}
        manifest = replace(
            old, data=data, fitted=update.time, versions=versions, expected=trained.expected or old.expected
        )
        calibrator = self.model.classifier.calibrator
        if trained.measured is not None:
            found = trained.measured.calibrated
            calibrator = found.calibrator
            reliability = {**asdict(found.reliability), "brier_by_kind": dict(found.tried)}
            manifest = replace(manifest, calibrator=calibrator_to_plain(calibrator), reliability=reliability)
            manifest = replace(manifest, held_out=trained.measured.held_out)
        elif _depth(taxonomy) != _depth(self.model.taxonomy):
            manifest = replace(manifest, held_out=None)  # new levels have no calibrator
        classifier = NamedClassifier(trained.fitted.learner, names, calibrator)
        transformer = trained.fitted.representation.transformer
        return replace(
            self.model, manifest=manifest, representation=transformer, classifier=classifier, taxonomy=taxonomy
        )

    # -- rows

    def _keep(self, new: LabelledTexts) -> str:
        """Store the new rows in the data home, for later updates, and return the name of the file."""
        labels = [names[0] if len(names) == 1 else list(names) for names in new.labels]
        kept = Path(parse_dataset(single_dataset((list(new.texts), labels))).source).name
        for update in self.model.manifest.data.updates:
            if update["kept"] == kept:
                raise ModelError(
                    f"was updated with these rows already, on {update['time'][:10]}",
                    next_step="Give new rows, or undo the last update with --undo.",
                )
        return kept

    def _parts(self, new: LabelledTexts) -> Parts:
        """Divide the new rows. Rows of the training data are not held out: the model has learned from them."""
        known = self._known_texts()
        unseen = np.array([row for row, text in enumerate(new.texts) if text not in known], dtype=np.int64)
        if len(unseen) < len(new.texts):
            n_known = counted(len(new.texts) - len(unseen), "text is", "texts are")
            self.say(f"{n_known} in the training data already, and not held out")
        _, held_out = draw_split(HELD_OUT, len(unseen), self._seed, {})
        order = shuffled(len(new.texts), self._seed)
        held = unseen[held_out]
        return Parts(order[~np.isin(order, held)], held)

    def _known_texts(self) -> set[str]:
        """Return the texts of the training data, as far as the data home has them."""
        manifest, known = self.model.manifest, set[str]()
        try:
            header = find_training_data(manifest, self.session, reads_source=False)
            known.update(open_dataset(Path(header.folder)).texts or ())
            known.update(read_added_rows(manifest).texts)
        except NotAtHand:
            return known
        return known

    @property
    def _seed(self) -> int:
        seed = self.model.manifest.learner.params.get("random_state")
        return seed if isinstance(seed, int) and seed >= 0 else 0

    # -- continued training

    def _continue(
        self, new: LabelledTexts, names: tuple[str, ...], taxonomy: Taxonomy | None, parts: Parts, added: Sequence[str]
    ) -> Trained:
        """Continue the training of the learner with the new rows.

        Only new rows calibrate the confidence: the learner has been trained on the old ones.
        """
        manifest = self.model.manifest
        name = manifest.learner.name
        if not hasattr(self.model.classifier.learner, "partial_fit"):
            raise CannotContinue(f"{name} has no partial_fit")
        representation = FittedRepresentation(self.model.representation, manifest.takes_text, manifest.wants_dense)
        X = representation.transform(list(new.texts))
        y = new.positions(names, several=new.has_several)
        if parts.is_measured:
            n_train, n_held_out = len(parts.train), len(parts.held_out)
            self.say(f"continuing the training with {counted(n_train, 'row')}, to measure on {n_held_out:,}")
        first = self._taught(X, y, parts.train, added)
        right = _hits(first, X[parts.held_out], y[parts.held_out], len(names))
        measured = None
        if len(right) >= FEWEST_ROWS:
            rows = Dataset(None, y, names, texts=Texts.of(new.texts), taxonomy=taxonomy)
            measured = measure(first, X[parts.held_out], rows, parts.train, parts.held_out, KEPT_SCORES)
            # The old training rows of each class are not known here.
            measured = replace(measured, held_out=replace(measured.held_out, by_frequency=()))
        self.say(f"continuing the training with all {counted(len(new.texts), 'new row')}")
        learner = self._taught(X, y, np.concatenate([parts.train, parts.held_out]), added)
        expected = None
        if parts.is_measured:
            source = f"measured on {counted(len(right), 'held-out new row')}"
            expected = Expected(accuracy=float(right.mean()), rows=len(right), known_from=source)
        return Trained("continued", FittedPipeline(representation, learner), right, measured, expected)

    def _taught(self, X: Any, y: Labels, rows: Positions, added: Sequence[str]) -> Any:
        """Return a fresh copy of the learner, after training with these rows."""
        part = self.model.manifest.learner
        learner = load_learner(self.request.model / part.file, part, self.session.catalog, self.request.trusted)
        try:
            learner.partial_fit(X[rows], y[rows])
        except Exception as error:  # code of a plugin can raise any error
            problem = str(error).partition("\n")[0]
            about = "these classes" if added else "these rows"
            raise CannotContinue(f"{part.name} cannot continue training with {about} ({problem})") from error
        taken = np.unique(y[rows].indices if issparse(y) else y[rows])
        if not np.isin(taken, learner.classes_).all():
            raise CannotContinue(f"{part.name} takes no new classes")
        return learner

    # -- training with all rows

    def _retrain(
        self, new: LabelledTexts, names: tuple[str, ...], taxonomy: Taxonomy | None, parts: Parts, reason: str
    ) -> Trained:
        """Train the learner again with old and new rows; a fifth of both is held out first, as in `harness fit`."""
        manifest = self.model.manifest
        try:
            header = find_training_data(manifest, self.session, reads_source=True)
            added = read_added_rows(manifest)
            trial = self._trial(header)
        except NotAtHand as missing:
            raise ModelError(
                f"{reason}, and its training data is not available: {missing}",
                next_step="Fit a model with the old and the new rows: `harness fit`.",
            ) from None
        old = open_dataset(Path(header.folder))
        data = joined_data(old, [added, new], names, taxonomy)
        n_old = old.rows + len(added.texts)
        self.say(f"{reason}: training again with {n_old:,} old and {len(new.texts):,} new rows")
        old_train, old_held_out = draw_split(HELD_OUT, n_old, trial.seed, {})
        train = np.concatenate([old_train, n_old + parts.train])
        train = train[shuffled(len(train), trial.seed)]
        held_out = np.concatenate([old_held_out, n_old + parts.held_out])
        learner = self.model.classifier.learner
        fit_learner = fitter_for(learner.home if isinstance(learner, ProcessLearner) else None)
        first = fit_pipeline(trial, data, train, fit_learner)
        texts = Texts.of(data.texts or ())[held_out]
        rows = first.representation.transform(texts)
        right = _hits(first.learner, rows, data.y[held_out], len(names))
        measured = measure(first.learner, rows, data, train, held_out, KEPT_SCORES)
        self.say("training on all rows")
        fitted = fit_pipeline(trial, data, shuffled(data.rows, trial.seed), fit_learner)
        source = f"measured on {counted(len(right), 'held-out row')}"
        expected = Expected(accuracy=float(right.mean()), rows=len(right), known_from=source)
        return Trained("retrained", fitted, right[len(old_held_out) :], measured, expected)

    def _trial(self, header: Header) -> Trial:
        """Return the trial that trains the learner of the model on its old data."""
        part, catalog = self.model.manifest.learner, self.session.catalog
        if not part.expression:
            raise NotAtHand("an earlier release wrote the model, without the expression of its learner")
        reader = Path(header.folder).name.rpartition("-")[0]  # the name of the loader, before a hash
        given = {"learners": part.expression, "datasets": reader, "trials": 1, "seed": self._seed}
        raw = load_experiment(None, {**given, "split": str(HELD_OUT)}, catalog, "update")
        experiment = build(raw.table, raw.source, catalog)
        learners = [resolve_learner(ref, catalog) for ref in learner_refs(experiment, dataset_groups(experiment))]
        trained = self.model.manifest.data
        named = self.model.manifest.representation
        dataset = ResolvedDataset(
            DatasetRef(trained.source, plain_label(trained.name), dict(trained.params)),
            catalog.dataset(reader),
            dict(trained.params),
            representations=() if named is None else (find_representation(named, catalog),),
        )
        resolved = Resolved(experiment, tuple(learners), (dataset,), MINIMUM_DEPTH, catalog=catalog)
        resolved = find_environments(resolved, build=False, say=self.say)
        return plan(resolved, {dataset.name: header}).trials[0]


def _hits(learner: Any, X: Any, y: Labels, n_classes: int) -> NDArray[np.bool_]:
    """Return for each row whether the learner is right."""
    if not X.shape[0]:
        return np.empty(0, np.bool_)
    ranks, _ = rank_with_scores(learner, X, KEPT_SCORES, n_classes)
    return first_is_true(ranks, y)


def _depth(taxonomy: Taxonomy | None) -> int:
    return 0 if taxonomy is None else node_depth(taxonomy)
