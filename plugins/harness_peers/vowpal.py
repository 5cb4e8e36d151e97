"""Vowpal Wabbit, with examples in memory: one against all, and trees that predict in logarithmic time.

Staged, not timed: writing rows as lines and parsing them to examples, as far as memory allows. Timed as training:
`learn` for each example, parsing for the remaining lines, and reopening a label tree for prediction. Timed as
prediction: writing rows as lines, and `predict`. Releasing examples is not timed, since it is not part of learning.
"""

from __future__ import annotations

import os
import struct
import tempfile
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from vowpalwabbit import Workspace

from harness.sdk.kernels.instances import Labels
from harness_peers.peer import Peer, RankingPeer, ScoringPeer, bytes_saved, ranks_of

MOST_HELD_BYTES = 3_200_000_000
"""Maximum size of parsed examples in memory."""
EXAMPLE_BYTES = 32_000
"""Memory of an example in Vowpal Wabbit, without the scores of all classes."""
_HEAD = struct.Struct("<cff4I")
"""Head of a model file after two texts: a mark, the range of labels, bits, topics, n-grams and skips."""
MOST_OPTIONS = 10_000
"""Maximum length of the options in a model file."""
SAVED_OPTIONS = frozenset(
    f"--{name}" for name in ("oaa", "plt", "log_multi", "recall_tree", "kary_tree", "learning_rate", "power_t")
)
"""Options that Vowpal Wabbit keeps in the files of these learners."""
USUAL_DEPTHS = (1, 10)
"""Numbers of classes per row that trials usually need: the best one, and a ranking."""


@dataclass(frozen=True)
class _Examples:
    """Examples in the workspace that parsed them. They are released together with this object.

    Rows beyond the memory limit stay lines, which are parsed during training.
    """

    workspace: Any
    held: list[Any]
    lines: list[str]


class _Vowpal(Peer):
    """A reduction of Vowpal Wabbit for many classes, over hashed features.

    Parameters
    ----------
    passes : int, default=1
        Number of passes over the examples.
    bit_precision : int, default=18
        Bits of the weight table (-b).
    learning_rate : float, default=0.5
        Initial learning rate (-l).
    power_t : float, default=0.5
        Exponent of the learning rate's decay.
    loss_function : str, default="squared"
        Loss: squared, logistic, hinge or another loss of Vowpal Wabbit.
    random_state : int or None, default=None
        Vowpal Wabbit's random_seed.
    """

    reduction: ClassVar[str]
    options: ClassVar[str] = ""
    tool_attributes: ClassVar[frozenset[str]] = frozenset({"workspace_"})
    workspace_: Any

    def __init__(
        self,
        *,
        passes: int = 1,
        bit_precision: int = 18,
        learning_rate: float = 0.5,
        power_t: float = 0.5,
        loss_function: str = "squared",
        random_state: int | None = None,
    ) -> None:
        self.passes = passes
        self.bit_precision = bit_precision
        self.learning_rate = learning_rate
        self.power_t = power_t
        self.loss_function = loss_function
        self.random_state = random_state

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        lines = [f"{label + 1} {row}" for row, label in zip(_as_lines(rows), labels.indices.tolist(), strict=True)]
        return _hold(lines, self._arguments(n_classes), n_classes)

    def _arguments(self, n_classes: int) -> str:
        """Return Vowpal Wabbit's command line arguments."""
        words = [
            f"--{self.reduction} {n_classes} {self.options}",
            f"--bit_precision {self.bit_precision} --learning_rate {self.learning_rate} --power_t {self.power_t}",
            f"--loss_function {self.loss_function} --random_seed {self.random_state or 0} --quiet",
        ]
        return " ".join(words)

    def _train(self, rows: _Examples) -> None:
        self.workspace_ = rows.workspace
        for _ in range(self.passes):
            for example in rows.held:
                rows.workspace.learn(example)
            for line in rows.lines:
                rows.workspace.learn(line)

    def _answers(self, rows: csr_array) -> list[Any]:
        """Return Vowpal Wabbit's prediction for each row."""
        return [self.workspace_.predict(line) for line in _as_lines(rows)]

    def _save_model(self, path: str) -> None:
        self.workspace_.save(path)

    def _load_model(self, path: str) -> None:
        _check_options(path)
        self.workspace_ = self._opened_from(path, *self.options.split())

    def _opened_from(self, path: str, *options: str) -> Any:
        """Return a workspace with the model at this path; the path may have spaces."""
        given = ["--initial_regressor", path, *options, "--loss_function", self.loss_function, "--quiet"]
        return Workspace(arg_list=given)

    @property
    def index_bytes_(self) -> int:
        """The bytes of the model as Vowpal Wabbit writes it."""
        return bytes_saved(self.workspace_.save)


class OneAgainstAll(_Vowpal, ScoringPeer):
    """Vowpal Wabbit's --oaa: a regressor for each class, side by side in one table of hashed weights.

    When to use
    -----------
    More rows than memory holds, in a single pass.

    References
    ----------
    Langford, Li, Strehl, Vowpal Wabbit online learning project, 2007.

    Parameters
    ----------
    bit_precision : int, default=18
        Bits of the weight table (-b). With fewer places than classes times features, weights are shared.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    workspace_ : object
        The model of Vowpal Wabbit.
    index_bytes_ : int
        Bytes of the model as Vowpal Wabbit writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.vowpal import OneAgainstAll
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = OneAgainstAll(passes=5, random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    reduction, options = "oaa", "--scores"

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        return np.asarray(self._answers(rows), dtype=np.float64).reshape(-1, self.classes_.size)


class _OneAnswer(_Vowpal):
    """A tree that predicts a single class for a row."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        positions = np.asarray(self._answers(self._known(X)), dtype=np.int64).reshape(-1) - 1
        return self.classes_[np.clip(positions, 0, self.classes_.size - 1)]


class LogMulti(_OneAnswer):
    """Vowpal Wabbit's --log_multi: the online tree of Choromanska and Langford, in its author's implementation.

    When to use
    -----------
    Very many classes, if predictions must take logarithmic time and one class per row is enough.

    References
    ----------
    Choromanska, Langford, Logarithmic time online multiclass prediction, NIPS 2015.

    Parameters
    ----------
    loss_function : str, default="squared"
        Loss: squared (which it replaces by quantile), logistic, hinge or another loss of Vowpal Wabbit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    workspace_ : object
        The model of Vowpal Wabbit.
    index_bytes_ : int
        Bytes of the model as Vowpal Wabbit writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.vowpal import LogMulti
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = LogMulti(passes=10, random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    reduction = "log_multi"


class RecallTree(_OneAnswer):
    """Vowpal Wabbit's --recall_tree: a tree leads to a few candidate classes, which compete against each other.

    When to use
    -----------
    The same tasks as `vw-log-multi`, if more accuracy is worth slower predictions.

    References
    ----------
    Daume, Karampatziakis, Langford, Mineiro, Logarithmic time one-against-some, ICML 2017.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    workspace_ : object
        The model of Vowpal Wabbit.
    index_bytes_ : int
        Bytes of the model as Vowpal Wabbit writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.vowpal import RecallTree
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = RecallTree(passes=5, random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    reduction = "recall_tree"


class LabelTree(_Vowpal, RankingPeer):
    """Vowpal Wabbit's --plt: a probabilistic label tree over the positions of the classes, learned online.

    When to use
    -----------
    Very many classes, with one or several labels per row, in a single pass.

    References
    ----------
    Jasinska-Kobus, Wydmuch, Thiruvenkatachari, Dembczynski, Online probabilistic label trees, AISTATS 2021.

    Parameters
    ----------
    kary_tree : int, default=2
        Number of children of a node.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    workspace_ : object
        The model of Vowpal Wabbit.
    index_bytes_ : int
        Bytes of the model as Vowpal Wabbit writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.vowpal import LabelTree
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = LabelTree(passes=5, random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 1])
    """

    reduction = "plt"
    tool_attributes = frozenset({"workspace_", "_opened"})
    _opened: dict[int, Any]

    def __init__(
        self,
        *,
        passes: int = 1,
        bit_precision: int = 18,
        learning_rate: float = 0.5,
        power_t: float = 0.5,
        kary_tree: int = 2,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            passes=passes,
            bit_precision=bit_precision,
            learning_rate=learning_rate,
            power_t=power_t,
            loss_function="logistic",  # the only one that it supports
            random_state=random_state,
        )
        self.kary_tree = kary_tree

    def _arguments(self, n_classes: int) -> str:
        return f"{super()._arguments(n_classes)} --kary_tree {self.kary_tree}"

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        bounds = zip(labels.indptr[:-1], labels.indptr[1:], strict=True)
        lines = []
        for row, (start, stop) in zip(_as_lines(rows), bounds, strict=True):
            named = ",".join(map(str, labels.indices[start:stop]))
            lines.append(f"{named} {row}")
        return _hold(lines, self._arguments(n_classes), n_classes)

    def _train(self, rows: _Examples) -> None:
        super()._train(rows)
        self._opened = {}
        for k in USUAL_DEPTHS:  # now, so predictions need not wait for it
            self._opened_for(min(k, self.classes_.size))

    def _rank(self, rows: csr_array, k: int) -> NDArray[np.int32]:
        opened = self._opened_for(min(k, self.classes_.size))
        found = []
        for line in _as_lines(rows):
            found.append([position for position in opened.predict(line) if position < self.classes_.size])
        return ranks_of(found, k)

    def _load_model(self, path: str) -> None:
        super()._load_model(path)
        self._opened = {}

    def _opened_for(self, k: int) -> Any:
        """Return the model reopened for k classes per row, since this number is fixed when a model is opened."""
        if k not in self._opened:
            # The last node may have children that are not classes, and predictions include them.
            told = k + self.kary_tree - 2
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model")
                self.workspace_.save(path)
                self._opened[k] = self._opened_from(path, "--testonly", "--top_k", str(told))
        return self._opened[k]


def _check_options(path: str) -> None:
    """Raise ValueError if a model file sets other options than those of this module, such as one that writes a file.

    Vowpal Wabbit reads options from the head of the file as if they were given on the command line.
    """
    with open(path, "rb") as file:
        version = _read_text(file)
        _read_text(file)  # the name of the model
        *_, ngrams, skips = _HEAD.unpack(file.read(_HEAD.size))
        words = _read_text(file).split()
    others = [word for word in words if word.startswith("-") and word.partition("=")[0] not in SAVED_OPTIONS]
    if int(version.partition(".")[0] or 0) < 9 or ngrams or skips or others:
        raise ValueError(f"not a model of this learner: version {version}, options {' '.join(others) or 'none'}")


def _read_text(file: BinaryIO) -> str:
    """Return a text with its length before it."""
    (size,) = struct.unpack("<I", file.read(4))
    if size > MOST_OPTIONS:
        raise ValueError("not a model of Vowpal Wabbit")
    return file.read(size).rstrip(b"\0").decode("ascii")


def _hold(lines: list[str], arguments: str, n_classes: int) -> _Examples:
    """Parse the lines of training rows to examples, as far as memory allows."""
    workspace = Workspace(arguments)
    most = MOST_HELD_BYTES // (EXAMPLE_BYTES + np.dtype(np.float32).itemsize * n_classes)
    held = [workspace.example(line) for line in lines[:most]]
    return _Examples(workspace, held, lines[most:])


def _as_lines(rows: csr_array) -> list[str]:
    """Return each row as a line of Vowpal Wabbit, without a label."""
    indices, values = rows.indices.tolist(), rows.data.tolist()
    lines = []
    for start, stop in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        features = [
            f"{index}:{value:.9g}" for index, value in zip(indices[start:stop], values[start:stop], strict=True)
        ]
        lines.append(f"| {' '.join(features)}")
    return lines
