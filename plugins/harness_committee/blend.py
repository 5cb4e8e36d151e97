"""Blend: different learners whose calibrated scores are averaged."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from harness import Taxonomy
from harness.sdk import rules, saving
from harness.sdk.classifier import Matrix, position_labels
from harness.sdk.costs import HELD_OUT, hold_out, take_rows
from harness.sdk.kernels.instances import Labels
from harness.sdk.saving import class_named
from harness.sdk.threads import allowed_threads, in_threads
from harness.sdk.wrappers import fresh, positions_by, scores_by, seeds, tells_scores
from harness_committee.wrapper import Wrapper

TREES_AND_PA = "label-tree(trees=3, fanout=2), pa"
MEMBERS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    TREES_AND_PA: [("harness_svm.label_tree:LabelTree", {"trees": 3, "fanout": 2}), ("harness_prototype.pa:PA", {})]
}
"""Looked up when they are needed: plugins do not import each other."""
TEMPERATURES = 2.0 ** np.arange(-8, 9, 0.25)
"""Tried for each learner: a factor of 1.2 between neighbours changes a likelihood by little."""
MOST_ROUNDS = 100
LEAST_SAMPLED = 1000
"""Minimum number of rows that temperatures and weights are fitted with, if there are as many."""


def _members_have_edges(blend: Blend) -> bool:
    return isinstance(blend.learners, str) or all(hasattr(learner, "edges_touched") for learner in blend.learners)


class Shares(NamedTuple):
    """Candidates of some rows with their probabilities, by row and class."""

    classes: NDArray[np.int32]
    """Rows x candidates, sorted; -1 in front pads."""
    values: NDArray[np.float64]
    """The probability of each, 0 beside pads."""
    places: NDArray[np.int64]
    """The best place of each in a learner's ranking."""


class Blend(Wrapper):
    """Flat and tree learners together: the mean of their probabilities, weighted.

    Each learner ranks its `candidates` best classes. Their scores s become probabilities in proportion to exp(s / T),
    with a temperature T for each learner; other classes have probability 0. A tenth of the training rows is held out.
    Copies of the learners are trained on a sample of the other rows and rank the held-out ones. First the temperatures
    are fitted, then the weights, both by maximum likelihood. The learners themselves are trained on all rows.

    When to use
    -----------
    Accuracy first: flat and tree learners make different mistakes. Training takes 1.2 to 1.7 times as long as all its
    learners together.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger, On calibration of modern neural networks, ICML 2017, for temperatures.

    Parameters
    ----------
    learners : sequence of estimators, default="label-tree(trees=3, fanout=2), pa"
        Two or more learners with scores. The default is three label trees and PA.
    candidates : int, default=10
        Number of classes that each learner names for a row.
    sample : float, default=0.25
        Share of the rows that are not held out to train the copies on, from 0 to 1; at least 1,000 rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the held-out rows, and of the learners without a seed.

    Attributes
    ----------
    models_ : list of estimators
        The learners, fitted.
    temperatures_, weights_ : ndarray of shape (n_learners,)
        Temperature and weight of each learner. The weights have the sum 1.
    index_size_, index_bytes_ : int
        Non-zero weights and bytes of all learners; present if each model has them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_committee import Blend
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Blend(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    takes_several: ClassVar[bool] = True

    temperatures_: NDArray[np.float64]
    weights_: NDArray[np.float64]
    index_bytes_: int

    def __init__(
        self,
        learners: Any = "label-tree(trees=3, fanout=2), pa",
        *,
        candidates: int = 10,
        sample: float = 0.25,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.learners = learners
        self.candidates = candidates
        self.sample = sample
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike, *, taxonomy: Taxonomy | None = None) -> Self:
        """Fit temperatures and weights on held-out rows, then train the learners on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.
        taxonomy : Taxonomy, optional
            Tree of the classes.

        Returns
        -------
        self
            The fitted estimator.
        """
        rows, targets = self._start_over(X, y)
        targets = csr_array(targets) if issparse(targets) else targets
        labels, self.classes_ = position_labels(targets)
        members = self._members()
        own, *drawn = seeds(self.random_state, 1 + len(members))
        unfitted = [fresh(member, seed) for member, seed in zip(members, drawn, strict=True)]
        train, held = hold_out(labels, HELD_OUT, np.random.default_rng(own))
        self.temperatures_, self.weights_ = np.ones(len(members)), np.full(len(members), 1 / len(members))
        final = [Fitting(each, rows, targets, taxonomy) for each in unfitted]
        if held.size:
            sample = sample_rows(train, labels, float(self.sample))
            part, part_targets = rows[sample], targets[sample]
            trial = [Fitting(fresh(each, 0), part, part_targets, taxonomy) for each in unfitted]
            truth = csr_array(
                (np.ones(labels.indices.size), labels.indices, labels.indptr), shape=(rows.shape[0], self.classes_.size)
            )
            # With threads, the final models are trained beside those that calibrate. They take longer, so they start
            # first. With one thread they are trained afterwards, when the others have left the memory.
            fitted = in_threads(fit_member, [*final, *trial] if allowed_threads() > 1 else trial)
            self._calibrate(fitted[-len(trial) :], rows[held], csr_array(truth[held]))
            self.models_ = fitted[: -len(trial)]
            del fitted
        if not held.size or allowed_threads() == 1:
            self.models_ = in_threads(fit_member, final)
        if not all(np.array_equal(model.classes_, self.classes_) for model in self.models_):
            raise ValueError(f"learners={self.learners!r}: one knows other classes than those of y after training")
        self._measure()
        return self

    def _members(self) -> list[Any]:
        if isinstance(self.learners, str):
            return [class_named(name)(**params) for name, params in MEMBERS[self.learners]]
        return list(self.learners)

    def _calibrate(self, models: Sequence[Any], rows: Matrix, truth: csr_array) -> None:
        """Set temperatures and weights from models that have not seen these rows."""
        right = []
        for number, model in enumerate(models):
            ranks, scores = rank_and_score(model, rows, int(self.candidates))
            places = np.searchsorted(self.classes_, model.classes_)  # a sample may lack some classes
            ranks = np.where(ranks >= 0, places[np.maximum(ranks, 0)], -1).astype(np.int32)
            is_true = hits(truth, ranks)
            self.temperatures_[number] = fit_temperature(ranks, scores, is_true)
            shares = as_probabilities(ranks, scores, self.temperatures_[number])
            right.append((shares * is_true).sum(axis=1))
        self.weights_ = fit_weights(np.stack(right, axis=1))

    def _rules(self) -> dict[str, rules.Rule]:
        several = isinstance(self.learners, list | tuple) and len(self.learners) > 1
        able = several and all(hasattr(each, "fit") and tells_scores(each) for each in self.learners)
        named = isinstance(self.learners, str) and self.learners in MEMBERS
        return {
            "learners": (named or able, f"a list of two or more learners with scores, or {TREES_AND_PA!r}"),
            "candidates": rules.count(self.candidates),
            "sample": rules.share(self.sample),
        }

    # -- asking

    def _known(self, X: Matrix) -> Matrix:
        """Return X without conversion, since learners may need dense or sparse rows."""
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=self.values, reset=False)

    def _rank(self, X: Matrix, k: int) -> NDArray[np.int32]:
        return self.rank_scored(X, k)[0]

    def rank_scored(self, X: Matrix, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return ranks and scores with one computation for both.

        Classes that no learner names follow behind, in the order in which the learners rank them.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows.
        k : int
            Number of classes for each row.

        Returns
        -------
        ranks : ndarray of int32, shape (n_rows, k)
            The same as by `rank`.
        scores : ndarray of float64, shape (n_rows, k)
            The same as by `scores`.
        """
        rows = self._known(X)
        classes, values, places = self._share(rows, k if k > self.candidates else 0)
        order = np.lexsort((classes, places, -values), axis=1)[:, :k]
        ranks = np.take_along_axis(classes, order, axis=1)
        scores = np.take_along_axis(values, order, axis=1)
        missing = ((0, 0), (0, k - order.shape[1]))
        return np.pad(ranks, missing, constant_values=-1), np.pad(scores, missing)

    def scores(self, X: Matrix, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the weighted probabilities of the classes in `ranks`.

        0 beside pads and for classes that no learner names.

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
        classes, values, _ = self._share(self._known(X), 0)
        row = np.arange(classes.shape[0])[:, np.newaxis] * (self.classes_.size + 1)
        known, wanted = (row + classes + 1).ravel(), row + ranks + 1
        at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
        return np.where((ranks >= 0) & (known[at] == wanted), values.ravel()[at], 0.0)

    def _share(self, rows: Matrix, more: int) -> Shares:
        """Return the candidates with their probabilities, and so many more of each learner with 0."""
        listed, shares = [], []
        for model, weight, temperature in zip(self.models_, self.weights_, self.temperatures_, strict=True):
            ranks, scores = rank_and_score(model, rows, int(self.candidates))
            listed.append(ranks)
            shares.append(weight * as_probabilities(ranks, scores, temperature))
            if more:
                listed.append(positions_by(model, rows, more))
                shares.append(np.zeros(listed[-1].shape))
        return unite(listed, shares)

    def _measure(self) -> None:
        super()._measure()
        if all(hasattr(model, "index_bytes_") for model in self.models_):
            self.index_bytes_ = sum(int(model.index_bytes_) for model in self.models_)

    @available_if(_members_have_edges)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Edges read per active feature by all learners together; present if each learner has it.

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
        check_is_fitted(self)
        return float(sum(model.edges_touched(X, max(k, int(self.candidates))) for model in self.models_))

    # -- files

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        for name in ("temperatures_", "weights_"):
            saving.expect_array(fitted.get(name, np.empty(0)), (len(self.models_),), np.float64, name)
        saving.expect(bool(np.all(self.temperatures_ > 0) and np.all(self.weights_ >= 0)), "temperatures_ or weights_")


def sample_rows(train: NDArray[np.int64], labels: Labels, share: float) -> NDArray[np.int64]:
    """Return a share of the rows, but at least `LEAST_SAMPLED`, sorted; all rows if the share has only one class.

    The rows are in random order.
    """
    sample = np.sort(train[: max(LEAST_SAMPLED, round(share * train.size))])
    return sample if np.unique(take_rows(labels, sample).indices).size > 1 else np.sort(train)


class Fitting(NamedTuple):
    """A learner to train, and its rows."""

    learner: Any
    X: Matrix
    y: Any
    taxonomy: Taxonomy | None


def fit_member(fitting: Fitting) -> Any:
    """Train one learner, with the taxonomy if its `fit` takes one."""
    learner, X, y, taxonomy = fitting
    if taxonomy is not None and "taxonomy" in inspect.signature(learner.fit).parameters:
        return learner.fit(X, y, taxonomy=taxonomy)
    return learner.fit(X, y)


def rank_and_score(model: Any, X: Matrix, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the k best classes of a model and their scores, with one computation for both if it can."""
    if hasattr(model, "rank_scored"):
        ranks, scores = model.rank_scored(X, k)
        return ranks, scores
    ranks = positions_by(model, X, k)
    return ranks, scores_by(model, X, ranks)


def hits(truth: csr_array, ranks: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return for each ranked class whether it is one of the row's labels."""
    n_classes = truth.shape[1]
    row = np.arange(ranks.shape[0])[:, np.newaxis] * n_classes
    owners = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    found: NDArray[np.bool_] = (ranks >= 0) & np.isin(row + ranks, owners * n_classes + truth.indices)
    return found


def as_probabilities(ranks: NDArray[np.int32], scores: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Return exp(score / temperature), scaled to the sum 1 over the ranked classes of a row; 0 beside pads."""
    listed = np.where(ranks >= 0, scores / temperature, -np.inf)
    top = listed.max(axis=1, keepdims=True, initial=np.finfo(np.float64).min)
    powers = np.exp(listed - top)
    total = powers.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)
    return shares


def fit_temperature(ranks: NDArray[np.int32], scores: NDArray[np.float64], is_true: NDArray[np.bool_]) -> float:
    """Return the temperature of the highest likelihood on the rows whose class is ranked; 1 without any."""
    labelled = is_true.any(axis=1)
    if not labelled.any():
        return 1.0
    ranks, scores, is_true = ranks[labelled], scores[labelled], is_true[labelled]
    tiny = np.finfo(np.float64).tiny
    likelihoods = []
    for temperature in TEMPERATURES:
        right = (as_probabilities(ranks, scores, float(temperature)) * is_true).sum(axis=1)
        likelihoods.append(np.log(np.maximum(right, tiny)).mean())
    return float(TEMPERATURES[int(np.argmax(likelihoods))])


def fit_weights(right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of the mixture with the highest likelihood, by expectation maximisation.

    Parameters
    ----------
    right : ndarray of shape (n_rows, n_learners)
        The probability that each learner gives to the true classes.
    """
    n_learners = right.shape[1]
    weights = np.full(n_learners, 1 / n_learners)
    right = right[right.max(axis=1) > 0]
    for _ in range(MOST_ROUNDS if right.size else 0):
        parts = right * weights
        weights = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights


def unite(listed: Sequence[NDArray[np.int32]], shares: Sequence[NDArray[np.float64]]) -> Shares:
    """Return the classes of all lists, each once a row, with the sum of their shares."""
    places = np.concatenate([np.broadcast_to(np.arange(ranks.shape[1]), ranks.shape) for ranks in listed], axis=1)
    classes, values = np.concatenate(listed, axis=1), np.concatenate(shares, axis=1)
    order = np.lexsort((places, classes), axis=1)
    classes, values, places = (np.take_along_axis(each, order, axis=1) for each in (classes, values, places))
    is_new = np.ones(classes.shape, np.bool_)
    is_new[:, 1:] = classes[:, 1:] != classes[:, :-1]
    sums = np.zeros(classes.shape)
    if classes.size:
        sums[is_new] = np.add.reduceat(values.ravel(), np.flatnonzero(is_new))
    kept = is_new & (classes >= 0)
    classes = np.where(kept, classes, -1)
    values = np.where(kept, sums, 0.0)
    places = np.where(kept, places, np.iinfo(np.int64).max)
    again = np.argsort(classes, axis=1, kind="stable")
    return Shares(*(np.take_along_axis(each, again, axis=1) for each in (classes, values, places)))
