"""Shortlist: one learner proposes some classes for each row, support vector machines decide among them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from harness.sdk import rules, saving
from harness.sdk.classifier import Classifier, Matrix
from harness.sdk.costs import cost_rule, settle_cost
from harness.sdk.kernels.instances import Labels, as_instances, frozen
from harness.sdk.saving import class_named
from harness.sdk.threads import in_threads
from harness.sdk.wrappers import fresh, index_size, pack_models, positions_by, unpack_models
from harness_shortlist.class_groups import group_classes
from harness_shortlist.kernels.decisions import Judgement, Tables, Weights, build_tables, fill_ranks, judge
from harness_shortlist.kernels.machines import Goal
from harness_shortlist.kernels.training_pairs import NO_GROUP, list_pairs
from harness_shortlist.trainer import priors_of_places, train

PROPOSERS = {"ff": "harness_index.ff:FF"}
"""Looked up when one is needed: plugins do not import each other."""
SAMPLE = 0.08
"""Share of the rows that choose the cost: candidates for the held-out rows take time, too."""


def _proposer_has_edges(learner: Shortlist) -> bool:
    return isinstance(learner.learner, str) or hasattr(learner.learner, "edges_touched")


class Shortlist(Classifier):
    """A proposer names candidate classes for each row; linear support vector machines choose among them.

    The machine of a class is trained on the rows of the class and on rows for which it was proposed by mistake, its
    hard negatives. Similar classes form groups, each with a machine that is trained in the same way. The value of a
    candidate is -max(0, 1 - score)^2, plus `group_share` times the same of its group, minus `prior` times the log of
    its place among the candidates.

    The defaults are chosen on validation sets (results/defaults).

    When to use
    -----------
    Texts with hundreds to tens of thousands of classes: almost the accuracy of machines trained on all classes, in a
    fraction of their time.

    References
    ----------
    Hsieh et al., A dual coordinate descent method for large-scale linear SVM, ICML 2008, for the machines. Prabhu et
    al., Parabel, WWW 2018, for balanced groups of classes and the value of a score.

    Parameters
    ----------
    learner : estimator, default="ff"
        The proposer: any learner with `rank`, or with scores for all classes. "ff" is feature focus with its defaults.
    candidates : int, default=40
        Number of classes proposed for a row, in training and in ranking.
    C : float or "auto", default=1.5
        Weight of the loss. "auto" chooses from 0.3, 1, 3 and 10 on a held-out tenth of the training rows.
    group_classes : int or None, default=64
        Maximum number of classes in a group, at least 2. There are no groups if this is None, or if there are no more
        classes than this.
    group_share : float, default=0.5
        Weight of the group's machine, at least 0.
    prior : float, default=0.2
        Weight of the place among the candidates, at least 0.
    tol : float, default=0.3
        Tolerance, above 0: training of a machine ends when no projected gradient is larger.
    max_sweeps : int, default=100
        Maximum number of sweeps over the rows of a machine, at least 1.
    prune : float, default=0.05
        Weights with an absolute value up to this, at least 0, are not stored.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows, the groups and the proposer. Equal seeds give equal bits.

    Attributes
    ----------
    C_ : float
        The cost that was used.
    proposer_ : estimator
        The fitted proposer.
    weights_ : Weights
        The machines of the classes, then those of the groups, a `harness_shortlist.kernels.decisions.Weights`.
    bias_ : ndarray of shape (n_machines,)
        Bias of each machine.
    group_of_ : ndarray of shape (n_classes,)
        Number of the machine of each class's group.
    sweeps_ : ndarray of shape (n_machines,)
        Number of sweeps for each machine.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and their bytes; including those of the proposer if known.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_shortlist import Shortlist
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Shortlist(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    takes_several: ClassVar[bool] = True
    learned: ClassVar[str] = "tables_"
    records: ClassVar[Mapping[str, saving.RecordClass]] = {"weights_": Weights}

    C_: float
    proposer_: Any
    weights_: Weights
    bias_: NDArray[np.float32]
    group_of_: NDArray[np.uint32]
    sweeps_: NDArray[np.int64]
    tables_: Tables

    def __init__(
        self,
        learner: Any = "ff",
        *,
        candidates: int = 40,
        C: float | Literal["auto"] = 1.5,
        group_classes: int | None = 64,
        group_share: float = 0.5,
        prior: float = 0.2,
        tol: float = 0.3,
        max_sweeps: int = 100,
        prune: float = 0.05,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.learner = learner
        self.candidates = candidates
        self.C = C
        self.group_classes = group_classes
        self.group_share = group_share
        self.prior = prior
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.prune = prune
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Train the proposer, then the machines on its proposals for the training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.

        Returns
        -------
        self
            The fitted estimator.
        """
        rows, labels = self._begin(X, y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.C_ = settle_cost(self, self.C, rows, labels, seed, share=SAMPLE)
        (fitted,) = self._train_path(rows, labels, [self.C_], seed, y=y)
        late = int((fitted.sweeps_ > self.max_sweeps).sum())
        if late:
            warnings.warn(f"{late} machines are not within tol after {self.max_sweeps} sweeps", ConvergenceWarning, 2)
        fitted.sweeps_ = np.minimum(fitted.sweeps_, self.max_sweeps)
        return fitted

    def _train_path(
        self, rows: csr_array, labels: Labels, costs: Sequence[float], seed: int, *, y: Any = None
    ) -> Iterator[Self]:
        """Yield the learner after training at each cost; a machine that is late has one sweep more than allowed."""
        if y is None:
            y = self._name_targets(labels)
        steps = [partial(self._train_proposer, rows, y, seed), partial(self._group, rows, labels, seed)]
        beside = in_threads if isinstance(self.learner, str) else map  # another proposer may need the threads itself
        self.proposer_, self.group_of_ = beside(lambda step: step(), steps)
        proposed = positions_by(self.proposer_, rows, int(self.candidates)).astype(np.int32, copy=False)
        n_groups = np.unique(self.group_of_[self.group_of_ != NO_GROUP]).size
        pairs = list_pairs(labels, proposed, self.group_of_, self.classes_.size + n_groups)
        goals = [Goal(C, float(self.tol), int(self.max_sweeps), float(self.prune)) for C in costs]
        for found in train(as_instances(rows), rows.shape[1], pairs, goals, seed):
            self.weights_ = Weights(found.start, found.features, found.weights)
            self.bias_ = found.bias
            self.sweeps_ = found.sweeps
            self.tables_ = build_tables(self.weights_, self.bias_, self.group_of_)
            yield self

    def _name_targets(self, labels: Labels) -> Any:
        """Return labels as a learner takes them: classes, or an indicator matrix, whose columns become the classes."""
        if np.all(np.diff(labels.indptr) == 1):
            return self.classes_[labels.indices]
        marks = np.ones(labels.indices.size, np.int8)
        self.classes_ = np.arange(self.classes_.size)
        return csr_array((marks, labels.indices, labels.indptr), shape=(labels.indptr.size - 1, self.classes_.size))

    def _train_proposer(self, rows: csr_array, y: ArrayLike, seed: int) -> Any:
        learner = class_named(PROPOSERS[self.learner])() if isinstance(self.learner, str) else self.learner
        proposer = fresh(learner, seed).fit(rows, y)
        if not np.array_equal(proposer.classes_, self.classes_):
            raise ValueError(f"learner={self.learner!r}: it was given other classes than it knows after training")
        return proposer

    def _group(self, rows: csr_array, labels: Labels, seed: int) -> NDArray[np.uint32]:
        """Return the machine number of each class's group."""
        n_classes = self.classes_.size
        if self.group_classes is None or n_classes <= self.group_classes:
            return np.full(n_classes, NO_GROUP)
        groups = group_classes(rows, labels, n_classes, int(self.group_classes), np.random.default_rng(seed))
        return (n_classes + groups).astype(np.uint32)

    # -- asking

    def _get_ready(self) -> None:
        if isinstance(self.proposer_, Classifier):
            self.proposer_._get_ready()  # before the rows are shared out among threads

    def _rank(self, X: csr_array, k: int) -> NDArray[np.int32]:
        proposed = self._propose(X, k)
        ranked = np.empty((X.shape[0], k), np.int32)
        values, _ = self._judge(X, proposed)
        fill_ranks(proposed, values, ranked)
        return ranked

    def scores(self, X: Matrix, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the value of the classes in `ranks`, positions as returned by `rank`, for each row; 0 for pads.

        A class that was not proposed is placed behind all proposed classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        ranks : ndarray of int32, shape (n_rows, k)
            Positions in `classes_`; -1 pads.

        Returns
        -------
        ndarray of float64, shape (n_rows, k)
            The scores; 0 beside pads.
        """
        rows = self._known(X)
        proposed = self._propose(rows, ranks.shape[1])
        values, _ = self._judge(rows, np.ascontiguousarray(ranks, np.int32), places_among(proposed, ranks))
        return np.where(ranks >= 0, values, 0.0)

    def _propose(self, rows: csr_array, k: int) -> NDArray[np.int32]:
        proposed = positions_by(self.proposer_, rows, max(int(self.candidates), k))
        return np.ascontiguousarray(proposed, np.int32)

    def _judge(
        self, rows: csr_array, proposed: NDArray[np.int32], places: NDArray[np.intp] | None = None
    ) -> tuple[NDArray[np.float64], int]:
        """Return the value of each candidate, and the number of edges read; `places` if not in proposed order."""
        n_machines = self.bias_.size
        values = np.empty(proposed.shape)
        priors = priors_of_places(float(self.prior), max(int(self.candidates), proposed.shape[1]) + 1)
        judgement = Judgement(
            priors=frozen(priors if places is None else np.zeros_like(priors)),
            group_share=float(self.group_share),
            values=np.zeros(n_machines),
            asked=np.zeros(n_machines, np.int64),
            read=np.zeros(1, np.int64),
        )
        tables = Tables(*(frozen(array) for array in self.tables_))  # those of a pickled learner are no more
        judge(tables, as_instances(rows), proposed, judgement, values)
        if places is not None:
            values += priors[places]
        return values, int(judgement.read[0])

    @property
    def index_size_(self) -> int:
        """The number of stored weights, with those of the proposer if known."""
        check_is_fitted(self)
        return self.weights_.weights.size + (index_size(self.proposer_) or 0)

    @property
    def index_bytes_(self) -> int:
        """The bytes of the tables, and of the proposer's index if known."""
        check_is_fitted(self)
        own = sum(array.nbytes for array in self.tables_)
        return own + int(getattr(self.proposer_, "index_bytes_", 0))

    @available_if(_proposer_has_edges)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Edges read per active feature, by the proposer and by the machines of its candidates together.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        k : int, default=1
            Number of classes for each row, at least 1.

        Returns
        -------
        float
            Mean over the active features of all rows.
        """
        rows = self._known(X)
        active = int(np.count_nonzero(rows.data))
        _, read = self._judge(rows, self._propose(rows, k))
        return float(self.proposer_.edges_touched(rows, k)) + (read / active if active else 0.0)

    # -- files

    def _fitted(self) -> dict[str, Any]:
        fitted = super()._fitted()
        del fitted["tables_"]  # made of the weights
        fitted.update(pack_models([fitted.pop("proposer_")]))
        return fitted

    def _take_up(self, fitted: dict[str, Any]) -> None:
        (self.proposer_,) = unpack_models(fitted)
        super()._take_up(fitted)
        check_machines(self.weights_, self.bias_, self.group_of_, self.n_features_in_, self.classes_.size)
        if not np.array_equal(self.proposer_.classes_, self.classes_):
            raise ValueError("its proposer knows other classes")
        self.tables_ = build_tables(self.weights_, self.bias_, self.group_of_)

    def _rules(self) -> dict[str, rules.Rule]:
        can_rank = any(hasattr(self.learner, name) for name in ("rank", "decision_function", "predict_proba"))
        named = isinstance(self.learner, str) and self.learner in PROPOSERS
        return {
            "learner": (named or can_rank, f"a learner with rank or scores, or one of {', '.join(PROPOSERS)}"),
            "candidates": rules.count(self.candidates),
            "C": cost_rule(self.C),
            "group_classes": rules.optional(self.group_classes, rules.count(self.group_classes, 2)),
            "group_share": rules.not_negative(self.group_share),
            "prior": rules.not_negative(self.prior),
            "tol": rules.positive(self.tol),
            "max_sweeps": rules.count(self.max_sweeps),
            "prune": rules.not_negative(self.prune),
        }


def places_among(proposed: NDArray[np.int32], ranks: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return the place of each ranked class among the proposed ones, from 0.

    The number of proposals if it is missing.
    """
    places = np.empty(ranks.shape, np.intp)
    for column in range(ranks.shape[1]):
        same = proposed == ranks[:, [column]]
        places[:, column] = np.where(same.any(axis=1), same.argmax(axis=1), proposed.shape[1])
    return places


def check_machines(
    weights: Weights, bias: NDArray[Any], group_of: NDArray[Any], n_features: int, n_classes: int
) -> None:
    """Raise ValueError if the arrays of the machines are inconsistent and would be read beyond their end."""
    n_machines, n_weights = weights.start.size - 1, weights.weights.size
    saving.expect_array(weights.start, (n_machines + 1,), np.int64, "weights_")
    saving.expect_array(weights.features, (n_weights,), np.uint32, "weights_")
    saving.expect_array(weights.weights, (n_weights,), np.float32, "weights_")
    saving.expect_array(bias, (n_machines,), np.float32, "bias_")
    saving.expect_array(group_of, (n_classes,), np.uint32, "group_of_")
    whole = weights.start[0] == 0 and weights.start[-1] == n_weights and np.all(np.diff(weights.start) >= 0)
    saving.expect(bool(whole) and n_machines >= n_classes, "weights_")
    saving.expect(bool(np.all(weights.features < n_features)), "weights_")
    saving.expect(bool(np.all((group_of < n_machines) | (group_of == NO_GROUP))), "group_of_")
