"""PA: multi-class passive-aggressive learning. One prototype per class; each update moves two of them."""

from __future__ import annotations

from math import inf
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from harness import AfterPass
from harness.kernels.instances import Instances, as_instances
from harness.kernels.passive_aggressive import Step, train_pass
from harness.kernels.rows import empty_rows, pack
from harness.kernels.topk import rank

VARIANTS = ("PA", "PA-I", "PA-II")
STEPS = ("printed", "exact")


class PA(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Passive-aggressive classifier on sparse prototypes.

    An instance x of class y is compared with the best other class c' seen so far. When its loss
    L = margin - s_y + s_c' is positive, W[:, y] += tau x and W[:, c'] -= tau x.

    Parameters
    ----------
    C : aggressiveness: bounds tau in PA-I, softens it in PA-II, means nothing to PA.
    passes : times that training goes through the data, in a fresh random order each time.
    variant : "PA" tau = L / n, "PA-I" tau = min(C, L / n), "PA-II" tau = L / (n + 1 / (2 C)).
    step : "printed" n = ||x||^2 as in the papers; "exact" n = 2 ||x||^2, the norm of what really moves.
    margin : the lead over every other class below which an instance costs a loss.
    random_state : seed of the orders; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes of y, sorted.
    rows_ : the index, a `harness.kernels.rows.Rows`: for each feature its edges to classes.
    index_size_, index_bytes_ : non-zero weights, and the bytes that the index takes.
    n_features_in_ : the number of features.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        passes: int = 5,
        variant: Literal["PA", "PA-I", "PA-II"] = "PA-II",
        step: Literal["printed", "exact"] = "printed",
        margin: float = 1.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.passes = passes
        self.variant = variant
        self.step = step
        self.margin = margin
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, *, after_pass: AfterPass | None = None) -> PA:
        """Train from nothing. `after_pass(n)` is called after pass n = 1, 2, ...; the learner may rank meanwhile."""
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        labels, instances, step = labels.astype(np.int32), as_instances(X), self._step()
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        rows, base = empty_rows(X.shape[1], n_edges=instances.data.size), np.full(self.classes_.size, -inf)
        for number in range(1, self.passes + 1):
            order = generator.permutation(labels.size)
            self.rows_ = rows = train_pass(rows, base, instances, labels, order, step=step)
            if not np.isfinite(rows.weights[: rows.heads[0]]).all():
                raise ValueError(f"weights outgrew float32 in pass {number}: scale X up, or use PA-I or PA-II")
            if after_pass is not None:
                after_pass(number)
        self.rows_ = pack(rows)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The best class of each row. A row without a feature, which has no best class, gets `classes_[0]`."""
        best = self.rank(X, 1)[:, 0]
        return self.classes_[np.maximum(best, 0)]

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first, ties by position; -1 pads.

        All classes take part, and one that no feature of the row knows scores 0. A row without a feature ranks none.
        """
        instances = self._instances(X)
        if not _is_count(k):
            raise ValueError(f"k={k!r}: must be an integer of at least 1")
        return rank(self.rows_, instances, np.zeros(self.classes_.size), k)

    @property
    def index_size_(self) -> int:
        check_is_fitted(self)
        return self.rows_.n_edges

    @property
    def index_bytes_(self) -> int:
        check_is_fitted(self)
        return self.rows_.n_bytes

    def edges_touched(self, X: Any) -> float:
        """Edges read per active feature while scoring X; features that training never met count, with no edge."""
        instances = self._instances(X)
        active = instances.indices[instances.data != 0]
        return float(self.rows_.length[active].mean()) if active.size else 0.0

    def _instances(self, X: Any) -> Instances:
        check_is_fitted(self)
        return as_instances(validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False))

    def _step(self) -> Step:
        return Step(
            margin=float(self.margin),
            scale=1.0 if self.step == "printed" else 2.0,
            ridge=1 / (2 * float(self.C)) if self.variant == "PA-II" else 0.0,
            cap=float(self.C) if self.variant == "PA-I" else inf,
        )

    def _check_parameters(self) -> None:
        rules = {
            "C": (_is_positive(self.C), "a finite number above 0"),
            "passes": (_is_count(self.passes), "an integer of at least 1"),
            "variant": (self.variant in VARIANTS, f"one of {', '.join(VARIANTS)}"),
            "step": (self.step in STEPS, f"one of {', '.join(STEPS)}"),
            "margin": (_is_positive(self.margin), "a finite number above 0"),
            "random_state": (_is_seed(self.random_state), "None, an integer from 0 to 2**32 - 1 or a RandomState"),
        }
        for name, (holds, allowed) in rules.items():
            if not holds:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be {allowed}")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < inf


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1


def _is_seed(value: Any) -> bool:
    try:
        check_random_state(value)
    except ValueError:
        return False
    return True
