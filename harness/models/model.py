"""The `Model`, a fitted learner with its representation: predict class names with a confidence, save and load it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin

from harness.errors import ModelError
from harness.host.catalog import Entry
from harness.host.contract import LearnerSpec, Taxonomy
from harness.host.discovery import Session, find_modules_of, make_session, plugin_folders
from harness.models.back_off import BackOff, NodePredictions, class_shares, node_scores
from harness.models.estimators import (
    PLAN,
    load_learner,
    load_representation,
    read_foreign,
    save_learner,
    save_representation,
    write_foreign,
)
from harness.models.explain import Explanation, explain
from harness.models.folder import (
    ClassNames,
    ModelManifest,
    check_listed,
    check_only_listed,
    new_folder,
    read_classes,
    read_model_manifest,
    read_steadily,
    write_classes,
    write_model_manifest,
)
from harness.models.held_out import check_figures, read_back_off, read_label_calibrator
from harness.models.kept import KEPT_FILE, KeptRows, read_kept, write_kept
from harness.models.label_sets import LabelPredictions, choose_labels
from harness.models.learner_process import ProcessLearner, home_of
from harness.stats.calibration import Calibrator, calibrator_from_plain, sharpen
from harness.trials.data import FittedRepresentation
from harness.trials.predict import KEPT_SCORES, all_scores, gives_scores, rank_with_scores

NO_CONFIDENCE = "the learner ranks classes without scores, so there is no confidence"
NO_CLASS = ""
"""Class name that is predicted for a row without known features."""


@dataclass(frozen=True)
class Predictions:
    """The k best classes of each row, with scores and confidence."""

    positions: NDArray[np.int32]
    """Positions of the k best classes of each row, best first; padded with -1."""
    scores: NDArray[np.float64] | None
    """Scores of these classes, in the same shape; None if the learner has no scores."""
    confidence: NDArray[np.float64] | None
    """Calibrated probability that the first class is right; 0 for a row without a class. None without scores."""
    classes: NDArray[Any]
    """All class names, by position."""

    @property
    def names(self) -> NDArray[Any]:
        """Names of the k best classes of each row; padded with empty strings."""
        padded = np.append(self.classes, NO_CLASS)
        return padded[self.positions]  # position -1 selects the last name, NO_CLASS


class NamedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A fitted learner that predicts class names and a calibrated confidence.

    Its input is the output of the representation. It is a fitted scikit-learn classifier, and can be the last step of a
    pipeline.

    Attributes
    ----------
    classes_ : class names, by position.
    """

    def __init__(self, learner: Any, class_names: tuple[str, ...], calibrator: Calibrator) -> None:
        self.learner = learner
        self.class_names = class_names
        self.calibrator = calibrator
        self.classes_ = np.array([*class_names, None], dtype=object)[:-1]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing, since the learner is already fitted. Use `harness.fit` to train another one."""
        return self

    @property
    def has_scores(self) -> bool:
        """True if the learner gives scores. Without scores there is no confidence."""
        return gives_scores(self.learner)

    def answer(self, X: Any, k: int) -> Predictions:
        """Return the k best classes of each row, their scores and the confidence.

        A row without features gets no class and the confidence 0.

        Raises
        ------
        ModelError
            If the learner fails on these rows.
        """
        positions, scores = self.ranked(X, max(k, KEPT_SCORES))
        if scores is None:
            return Predictions(positions[:, :k], None, None, self.classes_)
        sure = self.calibrator.confidence(scores[:, :KEPT_SCORES])
        confidence = np.where(positions[:, 0] >= 0, sure, 0.0)
        return Predictions(positions[:, :k], scores[:, :k], confidence, self.classes_)

    def ranked(self, X: Any, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
        """Return the k best classes of each row and their scores, if the learner has any; see `answer`."""
        if not X.shape[0]:  # many learners raise an error for empty input
            return np.empty((0, k), np.int32), np.empty((0, k)) if self.has_scores else None
        positions, scores = self._rank(X, k)
        known = _has_features(X)
        if not known.all():
            positions[~known] = -1
            if scores is not None:
                scores[~known] = 0.0
        return positions, scores

    def _rank(self, X: Any, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
        try:
            return rank_with_scores(self.learner, X, k, len(self.classes_))
        except ModelError:
            raise
        except Exception as error:  # code of a plugin can raise any error
            problem = f"{type(error).__name__}: {error}"
            raise ModelError(f"the learner {type(self.learner).__name__} fails on these rows: {problem}") from error

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the name of the best class of each row; an empty string for a row without features."""
        return self.answer(X, 1).names[:, 0]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of all classes, rows x classes; -inf for classes without training rows.

        Raises
        ------
        ModelError
            If the learner has no scores.
        """
        scores = all_scores(self.learner, X)
        if scores is None:
            raise ModelError(f"{type(self.learner).__name__} has no scores", next_step="Use predict or rank.")
        all_classes = np.full((X.shape[0], len(self.classes_)), -np.inf)
        all_classes[:, np.asarray(self.learner.classes_)] = scores
        return all_classes

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return a scaled softmax of the scores, in which the largest value of each row is its confidence."""
        scores = self.decision_function(X)
        confidence = self.answer(X, 1).confidence
        if confidence is None:
            raise ModelError(NO_CONFIDENCE, next_step="Use decision_function.")
        return sharpen(scores, confidence)


def _has_features(X: Any) -> NDArray[np.bool_]:
    """Return a mask of the rows that have known features; True for all texts and dense rows."""
    if issparse(X):
        return np.asarray(np.diff(csr_array(X).indptr) > 0)
    return np.ones(X.shape[0], np.bool_)


REPRESENTATION = "representation"


@dataclass(frozen=True)
class Model:
    """A fitted learner with its representation, as `harness.fit` and `harness.load_model` return it.

    Its methods take a sequence of texts if it was trained on texts, else rows of numbers.

    Attributes
    ----------
    manifest : ModelManifest
        Description of the model: learner, training data, expected accuracy.
    representation : object
        The fitted transformer; None if the learner takes rows unchanged.
    classifier : NamedClassifier
        The fitted learner with class names and confidence.
    taxonomy : Taxonomy or None
        The tree of the classes; None if the data has none.
    kept : KeptRows or None
        The training rows, to show those nearest to a text; None unless `fit` got `keep_rows=True`.

    Examples
    --------
    >>> model = harness.fit("pa", (["night nurse", "welder"] * 50, ["nurse", "welder"] * 50))  # doctest: +SKIP
    >>> model.predict(["nurse"])  # doctest: +SKIP
    array(['nurse'], dtype=object)
    """

    manifest: ModelManifest
    representation: Any
    classifier: NamedClassifier
    taxonomy: Taxonomy | None = None
    kept: KeptRows | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, by position."""
        return self.classifier.class_names

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the name of the best class of each row; an empty string for a row without known features.

        Parameters
        ----------
        rows : object
            A sequence of texts, or rows of numbers.
        """
        return self.classifier.predict(self.represent(rows))

    def rank(self, rows: Any, k: int = 5) -> NDArray[Any]:
        """Return the names of the k best classes of each row, best first; padded with empty strings.

        Parameters
        ----------
        rows : object
            A sequence of texts, or rows of numbers.
        k : int, default=5
            Number of classes for each row.
        """
        return self.answer(rows, k).names

    def confidence(self, rows: Any) -> NDArray[np.float64]:
        """Return the probability that the best class is right. About 90% of the rows with confidence 0.9 are right.

        Parameters
        ----------
        rows : object
            A sequence of texts, or rows of numbers.

        Raises
        ------
        ModelError
            If the learner has no scores.
        """
        confidence = self.answer(rows, 1).confidence
        if confidence is None:
            raise ModelError(NO_CONFIDENCE, next_step="Use predict or rank, or fit a learner with scores.")
        return confidence

    def answer(self, rows: Any, k: int = 1) -> Predictions:
        """Return the k best classes of each row, their scores and the confidence.

        Parameters
        ----------
        rows : object
            A sequence of texts, or rows of numbers.
        k : int, default=1
            Number of classes for each row.

        Raises
        ------
        ModelError
            If `k` is below 1, or if the rows do not fit the model.
        """
        if k < 1:
            raise ModelError(f"k={k}: expected 1 or more")
        return self.classifier.answer(self.represent(rows), k)

    def explain(self, text: str) -> Explanation:
        """Return why a text got its class: what each word adds to the score of the class and of its strongest rival.

        Linear learners and trees provide the parts of their scores; for other learners, each word is left out in turn.
        The result also has the three nearest training rows, if the model keeps them.

        Parameters
        ----------
        text : str
            The text.

        Raises
        ------
        ModelError
            If the model was not trained on texts.

        Examples
        --------
        >>> model = harness.fit("pa", (["night nurse", "welder"] * 50, ["nurse", "welder"] * 50))  # doctest: +SKIP
        >>> print(model.explain("nurse at night"))  # doctest: +SKIP
        """
        if not self.manifest.takes_text:
            raise ModelError("only models of texts explain predictions; this one was trained on rows of numbers")
        return explain(self, text, self.represent([text]))

    def back_off(self, rows: Any, confidence: float = 0.9) -> NodePredictions:
        """Return for each row the deepest node of the taxonomy whose confidence is at least `confidence`.

        Of the rows with confidence 0.9, about 90% belong to the node. The answer is the root, which is always right, if
        no other node is sure enough.

        Parameters
        ----------
        rows : object
            A sequence of texts, or rows of numbers.
        confidence : float, default=0.9
            Above 0, up to 1.

        Raises
        ------
        ModelError
            If the model has no taxonomy or its learner no scores, or if an older release fitted it.
        """
        check_share("confidence", confidence)
        back_off, classifier = self._back_off, self.classifier
        ranks, scores = classifier.ranked(self.represent(rows), node_scores(len(self.classes)))
        assert scores is not None  # _back_off has checked it
        shares = class_shares(ranks, scores, classifier.calibrator)
        return back_off.answer(ranks, shares, confidence, classifier.classes_)

    @cached_property
    def _back_off(self) -> BackOff:
        return read_back_off(self.manifest.held_out, self.taxonomy)

    def label_sets(self, rows: Any, threshold: float = 0.5, k: int = 5) -> LabelPredictions:
        """Return all classes of each row whose confidence is at least `threshold`, at most k.

        Parameters
        ----------
        rows : object
            A sequence of texts, or rows of numbers.
        threshold : float, default=0.5
            Above 0, up to 1.
        k : int, default=5
            Largest number of classes of a row.

        Raises
        ------
        ModelError
            If the model was trained on one label a row, if its learner has no scores, or if an older release fitted it.
        """
        check_share("threshold", threshold)
        calibrator = read_label_calibrator(self.manifest.held_out)
        found = self.answer(rows, k)
        assert found.scores is not None  # the calibrator needs them
        names = np.append(self.classifier.classes_, NO_CLASS)
        return choose_labels(found.positions, found.scores, calibrator, threshold, names)

    def decision_function(self, rows: Any) -> NDArray[np.float64]:
        """Return the scores of all classes, rows x classes; raise ModelError if the learner has no scores."""
        return self.classifier.decision_function(self.represent(rows))

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Return a probability for each class, rows x classes. That of the best class is the confidence."""
        return self.classifier.predict_proba(self.represent(rows))

    def save(self, folder: str | PathLike[str]) -> ModelManifest:
        """Save the model in a new folder, and return its manifest with the checksums of the files.

        Parameters
        ----------
        folder : path
            The new folder.

        Returns
        -------
        ModelManifest
            The manifest.

        Raises
        ------
        ModelError
            If the folder exists or cannot be written, or if a part cannot be saved without pickle.
        """
        return save_model(self, Path(folder))

    def as_pipeline(self) -> Any:
        """Return a fitted scikit-learn pipeline of the representation and the classifier."""
        from sklearn.pipeline import Pipeline  # noqa: PLC0415 (only this method needs it)
        from sklearn.preprocessing import FunctionTransformer  # noqa: PLC0415 (as above)

        first = self.representation
        if first is None or self.manifest.wants_dense:
            first = FunctionTransformer(self.represent)
        return Pipeline([("representation", first), ("classifier", self.classifier)])

    def represent(self, rows: Any) -> Any:
        """Return the output of the representation, which is the input of the learner."""
        if self.manifest.takes_text:
            rows = _as_texts(rows)
        fitted = FittedRepresentation(self.representation, self.manifest.takes_text, self.manifest.wants_dense)
        try:
            return fitted.transform(rows)
        except Exception as error:  # code of a plugin can raise any error
            raise ModelError(f"these rows cannot be represented: {type(error).__name__}: {error}") from error


def check_share(what: str, share: float) -> None:
    """Raise ModelError unless a limit for a confidence is above 0 and up to 1."""
    if not 0 < share <= 1:
        raise ModelError("expected a confidence above 0 and up to 1, such as 0.9", culprit=f"{what} {share}")


def _as_texts(rows: Any) -> Sequence[str]:
    if isinstance(rows, str):
        raise ModelError("expected a sequence of texts, got one text", next_step="Put it into a list: [text].")
    texts = list(rows)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ModelError(f"row {row} is {text!r}, expected a text: this model was trained on texts")
    return texts


def save_model(model: Model, folder: Path) -> ModelManifest:
    """Save a model in a new folder, and return its manifest with the checksums of the files.

    The folder appears only when it is complete.
    """
    with new_folder(folder) as place:
        return write_model(model, place)


def write_model(model: Model, place: Path) -> ModelManifest:
    """Write the files of a model into an empty folder, and return its manifest with the checksums of the files."""
    manifest = model.manifest
    learner = model.classifier.learner
    if isinstance(learner, ProcessLearner):
        learner.copy_files(place / manifest.learner.file)
    else:
        save_learner(learner, place / manifest.learner.file)
    if model.representation is not None:
        _save_representation(model.representation, place / REPRESENTATION)
    write_classes(place, ClassNames(model.classes, model.taxonomy))
    if model.kept is not None:
        write_kept(model.kept, place)
    return write_model_manifest(place, manifest)


def _save_representation(representation: Any, folder: Path) -> None:
    try:
        save_representation(representation, folder, write_foreign)
    except ValueError as error:
        raise ModelError(f"the representation cannot be saved: {error}") from error


def load_model(
    folder: str | PathLike[str],
    *,
    trusted: Iterable[str] = (),
    plugins_dirs: Iterable[str | PathLike[str]] = (),
) -> Model:
    """Load a model that `harness.fit` or the command `harness fit` saved.

    Loading does not run code from the model: nothing is unpickled, and only modules of installed plugins and trusted
    types are imported.

    Parameters
    ----------
    folder : path
        The folder of the model.
    trusted : iterable of str, default=()
        Further types that the model may load, such as "my_package.Mine". Types of scikit-learn, numpy and scipy are
        always allowed.
    plugins_dirs : iterable of path, default=()
        Folders with further plugins, besides those that this process already uses.

    Returns
    -------
    Model
        The fitted model.

    Raises
    ------
    ModelError
        If the model is damaged or has another format version, if its learner is not installed, or if one of its types
        is not trusted.
    """
    place = Path(folder)
    folders = make_session(plugins_dirs).folders
    manifest = read_steadily(place, lambda: read_model_manifest(place))
    if not _is_installed(manifest.learner.distribution):
        folders += plugin_folders()
    session = Session(folders)
    find_modules_of(session)
    return open_model(place, session, trusted)


def _is_installed(distribution: str) -> bool:
    """Return whether a distribution is installed; an importable estimator, which names none, needs no plugin folder."""
    try:
        return not distribution or bool(version(distribution))
    except PackageNotFoundError:
        return False


def open_model(place: Path, session: Session, trusted: Iterable[str] = ()) -> Model:
    """Load a model with the plugins of a session; see `load_model`.

    If `harness update` replaces the folder meanwhile, the new version is loaded.
    """
    return read_steadily(place, lambda: _open(place, session, frozenset(trusted)))


def _open(place: Path, session: Session, trusted: frozenset[str]) -> Model:
    manifest = read_model_manifest(place)
    try:
        learner = _load_learner(place, manifest, session, trusted)
        representation = _load_representation(place, manifest, trusted)
        calibrator = calibrator_from_plain(manifest.calibrator)
    except ModelError as error:
        raise error.about(f"model {place}") from None
    except ValueError as error:
        raise ModelError(str(error), culprit=f"model {place}") from error
    classes = read_classes(place)
    _check_classes(learner, classes, place)
    _check_figures(manifest, classes, place)
    kept = read_kept(place, len(classes.names)) if KEPT_FILE in manifest.files else None
    return Model(manifest, representation, NamedClassifier(learner, classes.names, calibrator), classes.taxonomy, kept)


def _load_learner(folder: Path, manifest: ModelManifest, session: Session, trusted: Iterable[str]) -> Any:
    part = manifest.learner
    found = next((entry for entry in session.catalog.learners if entry.spec.name == part.name), None)
    if found is not None and found.spec.environment:
        return _load_in_environment(folder, manifest, found, session, trusted)
    check_listed(manifest, part.file)
    return load_learner(folder / part.file, part, session.catalog, trusted)


def _load_in_environment(
    folder: Path, manifest: ModelManifest, entry: Entry[LearnerSpec], session: Session, trusted: Iterable[str]
) -> ProcessLearner:
    """Return a learner that runs in its environment. Its class is the registered one, and not what the file names."""
    part = manifest.learner
    if part.load != entry.spec.load:
        raise ModelError(f"{part.load} is not the learner {part.name!r}, which is {entry.spec.load}")
    if not any(name == part.file or name.startswith(f"{part.file}/") for name in manifest.files):
        raise ModelError(f"its manifest does not list {part.file!r}")
    check_only_listed(folder, part.file, manifest.files)
    home, place = home_of(entry.spec, session), folder / part.file
    return ProcessLearner(home, place, part.saved_as, tuple(trusted), params=part.params, facts=manifest.files)


def _load_representation(folder: Path, manifest: ModelManifest, trusted: Iterable[str]) -> Any:
    """Return the fitted representation; None if the learner takes rows unchanged."""
    if manifest.representation is None:
        return None
    start = f"{REPRESENTATION}/"
    check_listed(manifest, f"{start}{PLAN}")
    listed = [name.removeprefix(start) for name in manifest.files if name.startswith(start)]
    return load_representation(folder / REPRESENTATION, lambda path: read_foreign(path, trusted), listed)


def _check_figures(manifest: ModelManifest, classes: ClassNames, folder: Path) -> None:
    """Raise ModelError if the figures of the held-out rows are damaged, or do not fit to the taxonomy."""
    try:
        check_figures(manifest.reliability, manifest.held_out, classes.taxonomy)
    except ModelError as error:
        raise error.about(f"model {folder}") from None


def _check_classes(learner: Any, classes: ClassNames, folder: Path) -> None:
    """Raise ModelError if a class of the learner has no name."""
    positions = np.asarray(getattr(learner, "classes_", ()))
    is_sound = positions.ndim == 1 and positions.size > 0 and positions.dtype.kind in "iu"
    if not is_sound or positions.min() < 0 or positions.max() >= len(classes.names):
        raise ModelError("the learner and the class names do not fit together", culprit=f"model {folder}")
