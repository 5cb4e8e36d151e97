"""Committee: members of one kind, with different seeds and after different passes, vote on the class."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from harness.sdk import rules
from harness.sdk.classifier import Matrix, SearchScores, as_labels
from harness.sdk.wrappers import positions_by, rank_scores, seeds
from harness_committee.wrapper import Wrapper, learns_in_batches, reports_passes, seeded

VOTES = ("majority", "minfreq")


def _members_learn_in_batches(committee: Committee) -> bool:
    return committee.passes is None and learns_in_batches(committee)


class Committee(SearchScores, Wrapper):
    """Committee of learners that differ by their seeds and numbers of passes, and vote on the class.

    Each model votes for the class that it ranks first. A model that ranks no class does not vote. Further classes are
    ranked by the number of votes, then by the sum of 1/rank over the models.

    When to use
    -----------
    A little more accuracy from any learner, for several times its cost.

    References
    ----------
    Madani and Huang, Large-scale many-class prediction via flat techniques, 2010.

    Parameters
    ----------
    learner : estimator, default=None
        The learner whose copies are the members. None means scikit-learn's Perceptron.
    members : int, default=4
        Number of members, at least 1, each with its own seed.
    passes : int, str, list of int or None, default=None
        Passes after which a copy of a member becomes a model: 7, "5:7" for 5, 6 and 7, or a list. None takes only the
        trained member. Otherwise, the inner learner must call `after_pass` and have a parameter `passes`, which is set
        to the last of these numbers.
    vote : {"majority", "minfreq"}, default="majority"
        "majority" chooses the class with the most votes, the lowest position on ties. "minfreq" chooses among the
        classes with a vote the one with the fewest training rows, then the most votes, then the lowest position.
    random_state : int, RandomState instance or None, default=None
        Seed from which the seeds of the members are drawn.

    Attributes
    ----------
    classes_, class_counts_ : ndarray of shape (n_classes,)
        The classes in the order of their positions, and the number of training rows of each.
    seeds_ : ndarray of shape (members,)
        Seed of each member.
    batches_ : int
        Number of batches learned by `partial_fit`.
        The fitted models. Models of the same seed are neighbours.
    index_size_ : int
        Number of non-zero weights of all models; present if each model has it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import Perceptron
    >>> from harness_committee import Committee
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Committee(Perceptron(), random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    class_counts_: NDArray[np.int64]
    seeds_: NDArray[np.int64]
    batches_: int

    def __init__(
        self,
        learner: Any = None,
        *,
        members: int = 4,
        passes: int | str | list[int] | None = None,
        vote: Literal["majority", "minfreq"] = "majority",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.learner = learner
        self.members = members
        self.passes = passes
        self.vote = vote
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Train the members one after the other.

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
        taken = taken_passes(self.passes)
        X, labels = self._start_over(X, y)
        self.classes_, self.class_counts_ = np.unique(labels, return_counts=True)
        self._draw_seeds()
        models: list[Any] = []
        for seed in self.seeds_:
            models += train_member(seeded(self.learner, int(seed)), taken, X, labels)
        self.models_ = models
        self._measure()
        return self

    @available_if(_members_learn_in_batches)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def partial_fit(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Train each member on a batch, in one pass.

        Each member uses a different order of the rows, since the members differ by nothing else. This method is not
        available if `passes` is set, because a batch is a single pass.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.
        classes : array-like, optional
            All classes, if the first batch lacks some.

        Returns
        -------
        self
            The estimator.
        """
        self._check_parameters()
        first = not self.__sklearn_is_fitted__()
        checked, labels = self._check_data(X, y)
        self._take_features(X, reset=first or self._is_wider(X, checked.shape[1]))
        if first:
            self._draw_seeds()
            self.class_counts_ = np.zeros(0, np.int64)
            models = [seeded(self.learner, int(seed)) for seed in self.seeds_]
        else:
            models = self.models_
        try:
            for seed, model in zip(self.seeds_, models, strict=True):
                order = np.random.default_rng((seed, self.batches_)).permutation(len(labels))
                model.partial_fit(checked[order], labels[order], classes)
        finally:  # a learner inside may refuse new features
            self.n_features_in_ = getattr(models[0], "n_features_in_", self.n_features_in_)
        self.models_, self.classes_ = models, models[0].classes_
        self.batches_ += 1
        self._count(labels)
        self._measure()
        return self

    def _rules(self) -> dict[str, rules.Rule]:
        return {"members": rules.count(self.members), "vote": rules.one_of(self.vote, VOTES)}

    def _draw_seeds(self) -> None:
        self.seeds_, self.batches_ = np.array(seeds(self.random_state, self.members)), 0

    def _count(self, labels: NDArray[Any]) -> None:
        """Add the labels to the class counts; new classes follow the known ones."""
        positions = as_labels(np.arange(labels.size + 1), labels, self.classes_).indices
        found = np.bincount(positions, minlength=self.classes_.size)
        found[: self.class_counts_.size] += self.class_counts_
        self.class_counts_ = found

    # -- ranking

    def _known(self, X: Matrix) -> Matrix:
        """Return X without conversion, since members may need dense or sparse rows."""
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=self.values, reset=False)

    def _rank(self, X: Matrix, k: int) -> NDArray[np.int32]:
        return rank_scores(self._tally(X, k), k)

    def _score_pairs(self, rows: Matrix, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the number of votes of each class plus its standing: the ranks by all models, as a fraction."""
        tally = self._tally(rows, ranks.shape[1])
        numbers = np.broadcast_to(np.arange(ranks.shape[0])[:, np.newaxis], ranks.shape)
        return np.asarray(tally[numbers.ravel(), np.maximum(ranks, 0).ravel()]).reshape(ranks.shape).astype(np.float64)

    def _tally(self, X: Matrix, k: int) -> Any:
        """Return votes plus standing of each class, rows x classes."""
        ranks = np.stack([positions_by(model, X, k) for model in self.models_])
        votes, standing = count_votes(ranks, len(self.classes_))
        rarity = self.class_counts_ if self.vote == "minfreq" else np.zeros_like(self.class_counts_)
        lifted = lift_winner(votes, standing, rarity)
        lifted.sum_duplicates()
        return lifted

    # -- files

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        known = {"class_counts_", "seeds_", "batches_"} <= fitted.keys()
        if not (known and self.class_counts_.shape == self.classes_.shape):
            raise ValueError("its members do not belong together")


def taken_passes(passes: Any) -> list[int]:
    """Return the passes after which a member becomes a model, in order; empty for the trained member alone."""
    if passes is None:
        return []
    named = _passes_named(passes)
    if not named or not all(_is_pass(number) for number in named):
        raise ValueError(f"passes={passes!r}: must be None, a number from 1, a list of them, or FIRST:LAST")
    return sorted(set(named))


def _passes_named(passes: Any) -> list[Any]:
    if isinstance(passes, list | tuple):
        return list(passes)
    stretch = re.fullmatch(r"(\d+):(\d+)", passes) if isinstance(passes, str) else None
    if stretch:
        return list(range(int(stretch[1]), int(stretch[2]) + 1))
    return [passes]


def _is_pass(number: Any) -> bool:
    holds, _ = rules.count(number)
    return holds


def train_member(learner: Any, taken: list[int], X: Matrix, y: NDArray[Any]) -> list[Any]:
    """Return the models of one member: copies after each of the given passes, or the trained learner alone."""
    if not taken:
        return [learner.fit(X, y)]
    if "passes" not in learner.get_params(deep=False) or not reports_passes(learner):
        raise ValueError(f"passes={taken}: {type(learner).__name__} does not call after_pass; leave passes out")
    learner.set_params(passes=taken[-1])
    models: list[Any] = []

    def after_pass(number: int) -> None:
        if number in taken[:-1]:
            models.append(deepcopy(learner))

    learner.fit(X, y, after_pass=after_pass)
    return [*models, learner]


def count_votes(ranks: NDArray[np.int32], n_classes: int) -> tuple[csr_array, csr_array]:
    """Return the number of models that rank a class first, and this number plus the sum of 1/rank as a fraction.

    Both matrices are rows x classes.
    """
    models, n_rows, _ = ranks.shape
    model, row, place = np.nonzero(ranks >= 0)
    classes = ranks[model, row, place]
    shape = (n_rows, n_classes)
    votes = csr_array(coo_array(((place == 0).astype(np.float64), (row, classes)), shape=shape))
    # Votes are whole numbers, and the sum of 1/rank over all models stays below 1 once divided.
    support = csr_array(coo_array((1.0 / ((place + 1.0) * (models + 1)), (row, classes)), shape=shape))
    return votes, csr_array(votes + support)


def lift_winner(votes: csr_array, standing: csr_array, rarity: NDArray[np.int64]) -> csr_array:
    """Return the standing with the winner of each row ahead: lowest `rarity`, then most votes, then lowest position."""
    cast = coo_array(votes)
    voted = cast.data > 0
    row, classes, number = cast.row[voted], cast.col[voted], cast.data[voted]
    order = np.lexsort((classes, -number, rarity[classes], row))
    winners = order[np.unique(row[order], return_index=True)[1]]
    above = standing.max() + 1 if standing.nnz else 1.0
    lifted = coo_array((np.full(winners.size, above), (row[winners], classes[winners])), shape=standing.shape)
    return csr_array(standing + lifted)
