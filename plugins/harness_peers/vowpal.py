"""Vowpal Wabbit, with examples in memory: one against all, and trees that answer in logarithmic time."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from vowpalwabbit import Workspace

from harness.sdk.kernels.instances import Labels
from harness_peers.peer import Peer, RankingPeer, ScoringPeer, bytes_saved, ranks_of, rows_of

MOST_HELD_BYTES = 3_200_000_000
"""Of examples that are held ready."""
EXAMPLE_BYTES = 32_000
"""What Vowpal Wabbit takes for each, however few features it has, beside the scores of all classes."""
USUAL_DEPTHS = (1, 10)
"""Classes a row that trials ask for: the best one, and a ranking."""


@dataclass(frozen=True)
class _Examples:
    """Examples as Vowpal Wabbit holds them, in the workspace that they were made for.

    Beyond those that are held ready they are lines, each read when it is learned from, as Vowpal Wabbit itself does.
    """

    workspace: Any
    held: list[Any]
    lines: list[str]


class _Vowpal(Peer):
    """A reduction of Vowpal Wabbit's for many classes, over hashed features."""

    reduction: ClassVar[str]
    options: ClassVar[str] = ""
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
        """What the command line would be given."""
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
        for example in rows.held:
            rows.workspace.finish_example(example)
        rows.held.clear()

    def _answers(self, X: Any) -> list[Any]:
        """What Vowpal Wabbit says of each row."""
        return [self.workspace_.predict(line) for line in _as_lines(rows_of(X))]

    @property
    def index_bytes_(self) -> int:
        """The bytes of the model as Vowpal Wabbit writes it."""
        return bytes_saved(self.workspace_.save)


class OneAgainstAll(_Vowpal, ScoringPeer):
    """Vowpal Wabbit's --oaa: a regressor for each class, side by side in one table of hashed weights.

    When to use
    -----------
    More rows than memory holds, in one pass.

    References
    ----------
    Langford, Li, Strehl, Vowpal Wabbit online learning project, 2007.

    Parameters
    ----------
    passes : passes over the examples.
    bit_precision : bits of the table of weights (-b): where classes times features are more, they share weights.
    learning_rate : the first step's length (-l).
    power_t : how fast steps shorten.
    loss_function : squared, logistic, hinge or another of its own.
    random_state : its random_seed.
    """

    reduction, options = "oaa", "--scores"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Rows x classes."""
        return np.asarray(self._answers(X), dtype=np.float64).reshape(-1, self.classes_.size)


class _OneAnswer(_Vowpal):
    """A tree that gives one class for a row, and no others."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        positions = np.asarray(self._answers(X), dtype=np.int64).reshape(-1) - 1
        return self.classes_[np.clip(positions, 0, self.classes_.size - 1)]


class LogMulti(_OneAnswer):
    """Vowpal Wabbit's --log_multi: the online tree of Choromanska and Langford, in its author's own code.

    When to use
    -----------
    Very many classes, answers in logarithmic time, and one class a row is enough.

    References
    ----------
    Choromanska, Langford, Logarithmic time online multiclass prediction, NIPS 2015.

    Parameters
    ----------
    passes : passes over the examples.
    bit_precision : bits of the table of weights (-b).
    learning_rate : the first step's length (-l).
    power_t : how fast steps shorten.
    loss_function : squared, for which it takes quantile here, logistic, hinge or another of its own.
    random_state : its random_seed.
    """

    reduction = "log_multi"


class RecallTree(_OneAnswer):
    """Vowpal Wabbit's --recall_tree: a tree leads to a few candidate classes, which compete one against another.

    When to use
    -----------
    As vw-log-multi, where more time for an answer may buy accuracy.

    References
    ----------
    Daume, Karampatziakis, Langford, Mineiro, Logarithmic time one-against-some, ICML 2017.

    Parameters
    ----------
    passes : passes over the examples.
    bit_precision : bits of the table of weights (-b).
    learning_rate : the first step's length (-l).
    power_t : how fast steps shorten.
    loss_function : squared, logistic, hinge or another of its own.
    random_state : its random_seed.
    """

    reduction = "recall_tree"


class LabelTree(_Vowpal, RankingPeer):
    """Vowpal Wabbit's --plt: a probabilistic label tree over the positions of the classes, learned online.

    When to use
    -----------
    Very many classes, one label a row or several, in one pass.

    References
    ----------
    Jasinska-Kobus, Wydmuch, Thiruvenkatachari, Dembczynski, Online probabilistic label trees, AISTATS 2021.

    Parameters
    ----------
    passes : passes over the examples.
    bit_precision : bits of the table of weights (-b).
    learning_rate : the first step's length (-l).
    power_t : how fast steps shorten.
    kary_tree : children of a node.
    random_state : its random_seed.
    """

    reduction = "plt"
    loss_function = "logistic"  # it takes no other

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
        self.passes = passes
        self.bit_precision = bit_precision
        self.learning_rate = learning_rate
        self.power_t = power_t
        self.kary_tree = kary_tree
        self.random_state = random_state

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
        self._opened: dict[int, Any] = {}
        for k in USUAL_DEPTHS:  # so that no answer waits for it
            self._opened_for(min(k, self.classes_.size))

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first; -1 pads."""
        opened = self._opened_for(min(k, self.classes_.size))
        found = []
        for line in _as_lines(rows_of(X)):
            found.append([position for position in opened.predict(line) if position < self.classes_.size])
        return ranks_of(found, k)

    def _opened_for(self, k: int) -> Any:
        """The model opened anew: how many classes it tells is settled then."""
        if k not in self._opened:
            # A last node that is not full has children that are no classes, and it tells of these too.
            told = k + self.kary_tree - 2
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model")
                self.workspace_.save(path)
                asked = f"--testonly --loss_function {self.loss_function} --top_k {told} --quiet"
                self._opened[k] = Workspace(f"--initial_regressor {path} {asked}")
        return self._opened[k]


def _hold(lines: list[str], arguments: str, n_classes: int) -> _Examples:
    """The lines of training rows as examples, as far as there is room."""
    workspace = Workspace(arguments)
    most = MOST_HELD_BYTES // (EXAMPLE_BYTES + np.dtype(np.float32).itemsize * n_classes)
    held = [workspace.example(line) for line in lines[:most]]
    return _Examples(workspace, held, lines[most:])


def _as_lines(rows: csr_array) -> list[str]:
    """Each row in Vowpal Wabbit's own words, without a label."""
    indices, values = rows.indices.tolist(), rows.data.tolist()
    lines = []
    for start, stop in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        features = [
            f"{index}:{value:.9g}" for index, value in zip(indices[start:stop], values[start:stop], strict=True)
        ]
        lines.append(f"| {' '.join(features)}")
    return lines
