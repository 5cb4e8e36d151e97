"""`harness.load_model`: a model that was fitted, opened from its folder, to be asked about texts or rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.api.answering import Answers, NamedClassifier
from harness.contract import Taxonomy
from harness.errors import ModelError
from harness.models.calibration import calibrator_from_plain
from harness.models.folder import (
    ClassNames,
    new_folder,
    read_classes,
    read_manifest,
    write_classes,
    write_manifest,
)
from harness.models.manifest import Manifest
from harness.models.saving import load_learner, read_foreign, save_learner, write_foreign
from harness.sdk.representation import PLAN, load_representation, save_representation

REPRESENTATION = "representation"


@dataclass(frozen=True)
class Model:
    """A fitted learner with its representation: texts, or rows of numbers, in; classes and confidence out."""

    manifest: Manifest
    """What it is, from which data, how right it may be expected to be."""
    representation: Any
    """The fitted transformer; None where the learner takes rows as they are."""
    classifier: NamedClassifier
    taxonomy: Taxonomy | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, by position."""
        return self.classifier.class_names

    def predict(self, rows: Any) -> NDArray[Any]:
        """The best class of each row; an empty text for a row that has nothing that the model knows."""
        return self.classifier.predict(self._seen(rows))

    def rank(self, rows: Any, k: int = 5) -> NDArray[Any]:
        """The k best classes of each row, best first; an empty text pads."""
        return self.answer(rows, k).names

    def confidence(self, rows: Any) -> NDArray[np.float64]:
        """How likely the best class of each row is right: of rows with .9 about 90% are."""
        return self.answer(rows, 1).confidence

    def answer(self, rows: Any, k: int = 1) -> Answers:
        """All of it at once: the k best classes of each row, their scores, and the confidence."""
        if k < 1:
            raise ModelError(f"k={k}: expected a whole number from 1")
        return self.classifier.answer(self._seen(rows), k)

    def decision_function(self, rows: Any) -> NDArray[np.float64]:
        """The score of every class, rows x classes."""
        return self.classifier.decision_function(self._seen(rows))

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Shares of all classes that add up to 1; that of the best one is the confidence."""
        return self.classifier.predict_proba(self._seen(rows))

    def save(self, folder: str | PathLike[str]) -> Manifest:
        """Keep it in a new folder; gives its manifest with the checksums of the files."""
        return save_model(self, Path(folder))

    def as_pipeline(self) -> Any:
        """A scikit-learn pipeline of the representation and the classifier, fitted already."""
        from sklearn.pipeline import Pipeline  # noqa: PLC0415 (only who wants one waits for it)
        from sklearn.preprocessing import FunctionTransformer  # noqa: PLC0415 (as above)

        first = self.representation
        if first is None or self.manifest.wants_dense:
            first = FunctionTransformer(self._seen)
        return Pipeline([("representation", first), ("classifier", self.classifier)])

    def _seen(self, rows: Any) -> Any:
        """Rows as the learner sees them."""
        if self.manifest.takes_text:
            rows = _as_texts(rows)
        if self.representation is None:
            return np.array([*rows, None], dtype=object)[:-1] if self.manifest.takes_text else rows
        try:
            seen = self.representation.transform(rows)
        except ValueError as error:
            raise ModelError(f"these rows cannot be represented: {error}") from error
        return seen.toarray() if self.manifest.wants_dense else seen


def _as_texts(rows: Any) -> Sequence[str]:
    if isinstance(rows, str):
        raise ModelError("expected a sequence of texts, got one text", next_step="put it into a list: [text]")
    texts = list(rows)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ModelError(f"row {row} is {text!r}, expected a text: this model was fitted on texts")
    return texts


def save_model(model: Model, folder: Path) -> Manifest:
    """Keep a model in a new folder, which is there when all of it is written; gives its manifest with the checksums."""
    manifest = model.manifest
    with new_folder(folder) as place:
        save_learner(model.classifier.learner, place / manifest.learner.file)
        if model.representation is not None:
            _save_representation(model.representation, place / REPRESENTATION)
        write_classes(place, ClassNames(model.classes, model.taxonomy))
        return write_manifest(place, manifest)


def _save_representation(representation: Any, folder: Path) -> None:
    try:
        save_representation(representation, folder, write_foreign)
    except ValueError as error:
        raise ModelError(f"the representation cannot be kept: {error}") from error


def load_model(folder: str | PathLike[str], *, trusted: Iterable[str] = ()) -> Model:
    """The model that `harness fit` wrote into a folder; ModelError where it is damaged, foreign or of another version.

    `trusted` names types of other packages than scikit-learn, numpy and scipy that its files may hold. They matter for
    learners that cannot save themselves alone: nothing is ever unpickled.
    """
    place = Path(folder)
    manifest = read_manifest(place)
    try:
        learner = _load_learner(place, manifest, trusted)
        representation = None
        if manifest.representation is not None:
            _check_listed(manifest, f"{REPRESENTATION}/{PLAN}")
            representation = load_representation(place / REPRESENTATION, lambda path: read_foreign(path, trusted))
        calibrator = calibrator_from_plain(manifest.calibrator)
    except ModelError as error:
        raise error.about(f"model {place}") from None
    except ValueError as error:
        raise ModelError(str(error), culprit=f"model {place}") from error
    classes = read_classes(place)
    _check_classes(learner, classes, place)
    return Model(manifest, representation, NamedClassifier(learner, classes.names, calibrator), classes.taxonomy)


def _load_learner(folder: Path, manifest: Manifest, trusted: Iterable[str]) -> Any:
    part = manifest.learner
    _check_listed(manifest, part.file)
    return load_learner(folder / part.file, part.load, part.saved_as, trusted)


def _check_listed(manifest: Manifest, file: str) -> None:
    """ModelError for a file that no checksum vouches for."""
    if file not in manifest.files:
        raise ModelError(f"its manifest does not list {file!r}")


def _check_classes(learner: Any, classes: ClassNames, folder: Path) -> None:
    """ModelError where the learner names classes that have no name."""
    positions = np.asarray(getattr(learner, "classes_", ()))
    if positions.size == 0 or positions.dtype.kind not in "iu" or positions.max() >= len(classes.names):
        raise ModelError("its learner and its class names do not belong together", culprit=f"model {folder}")
