"""Base classes of the wrappers: rows and labels as arrays, staged training data, predictions from rankings.

`stage` converts training rows to the format of a tool. A trial records its time separately from training. `fit` then
times only the training. Test rows are converted during the timed prediction, since every caller of the tool must do it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from harness.sdk.classifier import has_several, position_labels
from harness.sdk.kernels.instances import Labels, canonical_rows
from harness.sdk.saving import Saved

MOST_SCORES = 4_000_000
"""Maximum number of scores in memory at a time."""
MODEL, WRAPPER = "model", "wrapper.npz"
"""Names in the folder of a saved wrapper: the tool's own file or folder, and the wrapper's parameters and classes."""
FILES = "files of the model"
"""Key of the content of the tool's files in a pickled wrapper."""


@dataclass(frozen=True)
class Staged:
    """Training rows in the format of a tool."""

    classes: NDArray[Any]
    n_features: int
    rows: Any


class ModelFolder:
    """A temporary folder with the tool's own files of a model. It is removed together with this object.

    It is for tools that write their model during training, and cannot write it again later.
    """

    def __init__(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="harness-peer-", ignore_cleanup_errors=True)
        self.path = folder.name
        weakref.finalize(self, folder.cleanup)

    @classmethod
    def copy_of(cls, path: str) -> ModelFolder:
        """Return a folder with the files of an existing one."""
        copied = cls()
        shutil.copytree(path, copied.path, dirs_exist_ok=True)
        return copied


class SavedAsFiles(Saved):
    """Mixin for learners whose model another tool writes: saved and pickled as the tool's own files, without pickle.

    A learner with `tool_attributes` implements `_save_model` and `_load_model`. Its other fitted attributes are numbers
    or arrays.
    """

    tool_attributes: ClassVar[frozenset[str]] = frozenset()
    """The attributes that hold objects of the tool."""

    def _save_model(self, path: str) -> None:
        """Write the tool's model to this path, as a file or a folder. The path may get an ending."""

    def _load_model(self, path: str) -> None:
        """Set the `tool_attributes` from the files at this path."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted learner to a new folder: the tool's own files, and an archive with the rest.

        Parameters
        ----------
        path : str or path-like
            The folder, which must not exist.

        Raises
        ------
        ValueError
            If a parameter or a fitted attribute cannot be saved without pickle.
        """
        check_is_fitted(self)
        os.mkdir(path)
        super().save(os.path.join(path, WRAPPER))
        self._save_model(os.path.join(path, MODEL))

    @classmethod
    def load(cls, path: str | PathLike[str], *, mapped: bool = False) -> Self:
        """Return the learner that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            The folder.
        mapped : bool, default=False
            Map arrays into memory; see `harness.sdk.saving.Saved.load`.

        Returns
        -------
        estimator
            A fitted learner of this class.

        Raises
        ------
        ValueError
            If the files are damaged, or of another class.
        """
        learner = super().load(os.path.join(path, WRAPPER), mapped=mapped)
        learner._load_model(os.path.join(path, MODEL))
        return learner

    def _fitted(self) -> dict[str, Any]:
        return {name: value for name, value in super()._fitted().items() if name not in self.tool_attributes}

    def __getstate__(self) -> dict[str, Any]:
        whole: Any = super().__getstate__()  # that of BaseEstimator
        state: dict[str, Any] = dict(whole)
        held = self.tool_attributes & state.keys()
        if held:
            for name in held:
                del state[name]
            with tempfile.TemporaryDirectory() as folder:
                self._save_model(os.path.join(folder, MODEL))
                state[FILES] = {str(path.relative_to(folder)): path.read_bytes() for path in files_below(folder)}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.pop(FILES, None)
        super().__setstate__(state)  # type: ignore[misc]  # that of BaseEstimator
        if files is not None:
            with tempfile.TemporaryDirectory() as folder:
                for name, content in files.items():
                    path = Path(folder, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                self._load_model(os.path.join(folder, MODEL))


class Peer(SavedAsFiles, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A wrapper of another tool. It checks input as scikit-learn does, before the tool reads it.

    A wrapper implements `_convert` and `_train`, and the methods required by `RankingPeer` or `ScoringPeer`. If an
    attribute holds an object of the tool, the wrapper names it in `tool_attributes`, and implements `_save_model` and
    `_load_model`.

    Attributes
    ----------
    classes_ : ndarray
        The classes by position.
    n_features_in_ : int
        Number of features in training; absent for texts.
    """

    classes_: NDArray[Any]
    n_features_in_: int

    @abstractmethod
    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        """Return the rows and their labels, by position, in the format of the tool."""

    @abstractmethod
    def _train(self, rows: Any) -> None:
        """Learn from what `_convert` returned."""

    # -- training

    def stage(self, X: Any, y: Any) -> Staged:
        """Return the training rows in the format of the tool, without learning from them.

        Parameters
        ----------
        X : array, sparse matrix or list of str
            Training rows.
        y : array of shape (n_rows,) or (n_rows, n_classes)
            Class of each row, or an indicator matrix.

        Returns
        -------
        Staged
            The rows for `fit`.

        Raises
        ------
        ValueError
            If X or y is empty, has NaN or infinity, or if their lengths differ.
        """
        several = has_several(y)
        rows, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float32, multi_output=several, estimator=self)
        if not several:
            check_classification_targets(y)
        labels, classes = position_labels(y)
        return Staged(classes, rows.shape[1], self._convert(rows_of(rows), labels, classes.size))

    def fit(self, X: Any, y: Any, *, staged: Staged | None = None) -> Self:
        """Learn from the rows.

        Parameters
        ----------
        X : array, sparse matrix or list of str
            Training rows.
        y : array of shape (n_rows,) or (n_rows, n_classes)
            Class of each row, or an indicator matrix.
        staged : Staged or None, default=None
            The result of `stage` for these rows. None converts them now.

        Returns
        -------
        self : Peer
            The fitted learner.
        """
        ready = self.stage(X, y) if staged is None else staged
        if ready.n_features:
            validate_data(self, X, reset=True, skip_check_array=True)  # their number and names
            self.n_features_in_ = ready.n_features
        self.classes_ = ready.classes
        self._train(ready.rows)
        return self

    # -- prediction

    def _known(self, X: Any) -> Any:
        """Return the rows of X, which must have the features of training."""
        check_is_fitted(self)
        return rows_of(validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class RankingPeer(Peer):
    """A tool that returns the best classes of a row. A wrapper implements `_rank`."""

    @abstractmethod
    def _rank(self, rows: Any, k: int) -> NDArray[np.int32]:
        """Return the positions in `classes_` of the k best classes of each row, best first; -1 pads."""

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """Return the positions in `classes_` of the k best classes of each row, best first; -1 pads.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        k : int
            Number of classes for each row, at least 1.

        Returns
        -------
        ndarray of int32, shape (n_rows, k)
            Positions, best first.
        """
        return self._rank(self._known(X), k)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the best class of each row; the class at position 0 if the tool ranks none.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The best class of each row.
        """
        best = self.rank(X, 1)[:, 0]
        return self.classes_[np.maximum(best, 0)]


class ScoringPeer(Peer):
    """A tool that scores every class, so the harness makes the ranking. A wrapper implements `_score`."""

    @abstractmethod
    def _score(self, rows: csr_array) -> NDArray[Any]:
        """Return the scores, rows x classes."""

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the scores, rows x classes; for two classes, the lead of the second.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The scores, in the order of `classes_`.
        """
        scores = self._score(self._known(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The best class of each row.
        """
        rows = self._known(X)
        step = max(1, MOST_SCORES // self.classes_.size)
        best = [np.empty(0, np.int64)]
        for start in range(0, rows.shape[0], step):
            best.append(self._score(rows[start : start + step]).argmax(axis=1))
        return self.classes_[np.concatenate(best)]


def rows_of(X: Any) -> csr_array:
    """Return rows of 32-bit values and indices, each feature once and in order."""
    rows = canonical_rows(csr_array(X, dtype=np.float32))
    return csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr), shape=rows.shape)


def ranks_of(found: Sequence[Sequence[int]], k: int) -> NDArray[np.int32]:
    """Return lists of positions, one per row, as an array with k columns; -1 pads.

    Examples
    --------
    >>> ranks_of([[2, 0], [1]], 3)
    array([[ 2,  0, -1],
           [ 1, -1, -1]], dtype=int32)
    """
    ranks = np.full((len(found), k), -1, np.int32)
    for row, positions in enumerate(found):
        ranks[row, : len(positions)] = positions[:k]
    return ranks


def seed_c(random_state: int | None) -> None:
    """Seed the random numbers of C, which LIBLINEAR uses in every tool that includes it."""
    if random_state is not None:
        ctypes.CDLL(None).srand(ctypes.c_uint(random_state))


def bytes_saved(save: Callable[[str], object]) -> int:
    """Return the bytes of all files of a model; `save` gets a path that does not exist yet."""
    with tempfile.TemporaryDirectory() as folder:
        save(os.path.join(folder, "model"))
        return bytes_in(folder)


def bytes_in(folder: str) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in files_below(folder))


def files_below(folder: str) -> list[Path]:
    """Return all files below a folder."""
    return [path for path in sorted(Path(folder).rglob("*")) if path.is_file()]
