"""XGBoost: gradient boosting with a tree for each class in each round.

Staged, not timed: the rows as XGBoost's own matrix. Timed as training: learning, with its histograms. Timed as
prediction: converting rows to such a matrix, and the probabilities of all classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xgboost
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from harness.sdk.kernels.instances import Labels
from harness.sdk.threads import allowed_threads
from harness_peers.peer import ScoringPeer


@dataclass(frozen=True)
class _Rows:
    """Training rows as a matrix of XGBoost, and the objective that suits their labels."""

    matrix: Any
    objective: dict[str, Any]


class XGBoost(ScoringPeer):
    """XGBoost: each round grows a decision tree for every class.

    With one label per row there is a softmax over all classes, with several labels a logistic model for each class.

    When to use
    -----------
    Few classes and few dense features. The number of trees per round is the number of classes.

    References
    ----------
    Chen, Guestrin, XGBoost: a scalable tree boosting system, KDD 2016.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of rounds.
    learning_rate : float, default=0.3
        Weight of a round.
    max_depth : int, default=6
        Maximum depth.
    min_child_weight : float, default=1.0
        Minimum weight of the rows in a leaf.
    max_bin : int, default=256
        Maximum number of bins for the values of a feature.
    subsample : float, default=1.0
        Share of the rows for each tree.
    colsample_bytree : float, default=1.0
        Share of the features that a tree may use.
    reg_lambda : float, default=1.0
        Weight of the L2 penalty.
    tree_method : {"auto", "hist", "approx", "exact"}, default="auto"
        Method to find splits. "auto" means hist.
    random_state : int or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    booster_ : Booster
        The model of XGBoost.
    index_bytes_ : int
        Bytes of the model as XGBoost writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.xgboost_trees import XGBoost
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = XGBoost(n_estimators=10, random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    tool_attributes: ClassVar[frozenset[str]] = frozenset({"booster_"})
    booster_: Any

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.3,
        max_depth: int = 6,
        min_child_weight: float = 1.0,
        max_bin: int = 256,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        reg_lambda: float = 1.0,
        tree_method: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_child_weight = min_child_weight
        self.max_bin = max_bin
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.reg_lambda = reg_lambda
        self.tree_method = tree_method
        self.random_state = random_state

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        target: NDArray[Any] = labels.indices
        objective: dict[str, Any] = {"objective": "multi:softprob", "num_class": n_classes}
        if (np.diff(labels.indptr) != 1).any():
            shape = (rows.shape[0], n_classes)
            target = csr_matrix((np.ones(labels.indices.size, np.int8), labels.indices, labels.indptr), shape).toarray()
            objective = {"objective": "binary:logistic"}
        return _Rows(xgboost.DMatrix(csr_matrix(rows), target, nthread=allowed_threads()), objective)

    def _train(self, rows: _Rows) -> None:
        settings = self.get_params() | rows.objective
        rounds = settings.pop("n_estimators")
        seed = settings.pop("random_state")
        settings |= {
            "nthread": allowed_threads(),
            "seed": seed or 0,
            "verbosity": 0,
        }
        self.booster_ = xgboost.train(settings, rows.matrix, rounds)

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        """Return the probability of each class."""
        matrix = xgboost.DMatrix(csr_matrix(rows), nthread=allowed_threads())
        scores = self.booster_.predict(matrix)
        return np.asarray(scores, dtype=np.float64).reshape(-1, self.classes_.size)

    def _save_model(self, path: str) -> None:
        self.booster_.save_model(f"{path}.ubj")

    def _load_model(self, path: str) -> None:
        self.booster_ = xgboost.Booster(model_file=f"{path}.ubj")

    @property
    def index_bytes_(self) -> int:
        """The bytes of the model as XGBoost writes it."""
        return len(self.booster_.save_raw())
