"""LightGBM: gradient boosting with a tree for each class in each round.

Staged, not timed: the rows as a matrix. Timed as training: sorting values into bins, and learning. Timed as prediction:
the probabilities of all classes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import lightgbm
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from harness.sdk.kernels.instances import Labels
from harness.sdk.threads import allowed_threads
from harness_peers.peer import ScoringPeer


class LightGBM(ScoringPeer):
    """LightGBM with one softmax over all classes: each round grows a decision tree for every class.

    When to use
    -----------
    Few classes and few dense features. The number of trees per round is the number of classes.

    References
    ----------
    Ke, Meng, Finley, Wang, Chen, Ma, Ye, Liu, LightGBM: a highly efficient gradient boosting decision tree, NIPS 2017.

    Parameters
    ----------
    num_iterations : int, default=100
        Number of rounds.
    learning_rate : float, default=0.1
        Weight of a round.
    num_leaves : int, default=31
        Maximum number of leaves of a tree.
    max_depth : int, default=-1
        Maximum depth. -1 means no limit.
    min_data_in_leaf : int, default=20
        Minimum number of rows in a leaf.
    max_bin : int, default=255
        Maximum number of bins for the values of a feature.
    feature_fraction : float, default=1.0
        Share of the features that a tree may use.
    lambda_l2 : float, default=0.0
        Weight of the L2 penalty.
    random_state : int or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    booster_ : Booster
        The model of LightGBM.
    index_bytes_ : int
        Bytes of the model as LightGBM writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.lightgbm_trees import LightGBM
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = LightGBM(num_iterations=10, random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    tool_attributes: ClassVar[frozenset[str]] = frozenset({"booster_"})
    booster_: Any

    def __init__(
        self,
        *,
        num_iterations: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_data_in_leaf: int = 20,
        max_bin: int = 255,
        feature_fraction: float = 1.0,
        lambda_l2: float = 0.0,
        random_state: int | None = None,
    ) -> None:
        self.num_iterations = num_iterations
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_data_in_leaf = min_data_in_leaf
        self.max_bin = max_bin
        self.feature_fraction = feature_fraction
        self.lambda_l2 = lambda_l2
        self.random_state = random_state

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        """Return rows and labels. Values are sorted into bins during the timed training, since that is a part of it."""
        return lightgbm.Dataset(csr_matrix(rows), labels.indices)

    def _train(self, rows: Any) -> None:
        settings = {name: value for name, value in self.get_params().items() if name != "random_state"}
        settings |= {
            "objective": "multiclass",
            "num_class": self.classes_.size,
            "num_threads": allowed_threads(),
            "seed": self.random_state or 0,
            "deterministic": True,
            "verbosity": -1,
        }
        self.booster_ = lightgbm.train(settings, rows)

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        """Return the probability of each class."""
        scores = self.booster_.predict(csr_matrix(rows), num_threads=allowed_threads())
        return np.asarray(scores, dtype=np.float64)

    def _save_model(self, path: str) -> None:
        self.booster_.save_model(path)

    def _load_model(self, path: str) -> None:
        self.booster_ = lightgbm.Booster(model_file=path)

    @property
    def index_bytes_(self) -> int:
        """The bytes of the model as LightGBM writes it."""
        return len(self.booster_.model_to_string().encode())
