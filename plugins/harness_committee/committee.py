"""Committee: several members of one kind, with other seeds and after other passes, vote on the class."""

from __future__ import annotations

import re
from copy import deepcopy
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from harness_committee import files
from harness_committee.wrapped import (
    fresh,
    index_size,
    learns_in_batches,
    ranks_of,
    seeds,
    tells_edges,
    tells_passes,
)

VOTES = ("majority", "minfreq")


def _learns_in_batches(committee: Any) -> bool:
    return committee.passes is None and learns_in_batches(committee)


class Committee(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Each model votes for the class it ranks first; one that ranks none does not vote.

    Parameters
    ----------
    learner : any learner; scikit-learn's perceptron where none is given.
    members : how many are trained, each with a seed of its own.
    passes : after which passes a member is taken as a model: 7, "5:7" for 5, 6 and 7, or a list. None: as trained. The
        learner inside must tell its passes and have a parameter `passes`, which is set to the last one.
    vote : "majority" the class with the most votes, the lowest position on ties; "minfreq" among the classes voted for
        the one with the fewest training rows, then the most votes, then the lowest position.
    random_state : seed of the members' seeds.

    Ranks behind the first follow the number of votes, then the sum of 1/rank over the models.
    """

    n_features_in_: int

    def __init__(
        self,
        learner: Any = None,
        *,
        members: int = 4,
        passes: int | str | list[int] | None = None,
        vote: Literal["majority", "minfreq"] = "majority",
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.members = members
        self.passes = passes
        self.vote = vote
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train the members one after the other."""
        self._check_parameters()
        taken = taken_passes(self.passes)
        X, y = validate_data(self, X, y, accept_sparse="csr")
        check_classification_targets(y)
        self.seeds_, self.batches_ = np.array(seeds(self.random_state, self.members)), 0
        self.classes_, self.class_counts_ = np.unique(y, return_counts=True)
        self.models_: list[Any] = []
        for seed in self.seeds_:
            self.models_ += _train(fresh(self.learner, int(seed)), taken, X, y)
        self._measure()
        return self

    @available_if(_learns_in_batches)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Let each member go once through a batch, in an order of its own, since that is what members differ by.

        Not there where models are taken after passes: a batch has only one.
        """
        self._check_parameters()
        begun = hasattr(self, "models_")
        wider = begun and len(np.shape(X)) == 2 and np.shape(X)[1] > self.n_features_in_
        X, y = validate_data(self, X, y, accept_sparse="csr", reset=not begun or wider)
        check_classification_targets(y)
        if not begun:
            self.seeds_, self.batches_ = np.array(seeds(self.random_state, self.members)), 0
            self.class_counts_ = np.zeros(0, np.int64)
        models = self.models_ if begun else [fresh(self.learner, int(seed)) for seed in self.seeds_]
        try:
            for seed, model in zip(self.seeds_, models, strict=True):
                order = np.random.default_rng((seed, self.batches_)).permutation(len(y))
                model.partial_fit(X[order], y[order], classes)
        finally:  # a learner inside may refuse new features
            self.n_features_in_ = getattr(models[0], "n_features_in_", self.n_features_in_)
        self.models_, self.classes_ = models, models[0].classes_
        self.batches_ += 1
        self._count(y)
        self._measure()
        return self

    def _check_parameters(self) -> None:
        if isinstance(self.members, bool) or not isinstance(self.members, int | np.integer) or self.members < 1:
            raise ValueError(f"members={self.members!r}: must be an integer of at least 1")
        if self.vote not in VOTES:
            raise ValueError(f"vote={self.vote!r}: must be one of {', '.join(VOTES)}")

    def _count(self, y: NDArray[Any]) -> None:
        """Add the labels to the rows met of each class; new classes stand behind the known ones."""
        by_name = np.argsort(self.classes_, kind="stable")
        positions = by_name[np.searchsorted(self.classes_, y, sorter=by_name)]
        found = np.bincount(positions, minlength=self.classes_.size)
        found[: self.class_counts_.size] += self.class_counts_
        self.class_counts_ = found

    def _measure(self) -> None:
        sizes = [size for model in self.models_ if (size := index_size(model)) is not None]
        if len(sizes) == len(self.models_):  # a sum of what is known would pass for the whole
            self.index_size_ = sum(sizes)

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """Positions in `classes_` of the k best classes of each row by the committee's vote, -1 pads."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        ranks = np.stack([ranks_of(model, X, k) for model in self.models_])
        votes, standing = count_votes(ranks, len(self.classes_))
        rarity = self.class_counts_ if self.vote == "minfreq" else np.zeros_like(self.class_counts_)
        return best_of(lift_winner(votes, standing, rarity), k)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class that wins the vote; `classes_[0]` where no model votes."""
        check_is_fitted(self)
        return self.classes_[np.maximum(self.rank(X, 1)[:, 0], 0)]

    @available_if(tells_edges)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def edges_touched(self, X: Any) -> float:
        """Edges read per active feature by all models together; there where the learner inside tells its own."""
        check_is_fitted(self)
        return float(sum(model.edges_touched(X) for model in self.models_))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted committee to a numpy archive without pickle; its members must have `save` themselves."""
        check_is_fitted(self)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") and name != "models_"}
        files.save(path, self, fitted, self.models_)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A committee as `save` wrote it; ValueError when the file is damaged, foreign or another learner's."""
        committee, fitted, models = files.load(path, cls)
        for name, value in fitted.items():
            setattr(committee, name, value if value.ndim else value.item())
        committee.models_ = models
        known = {"classes_", "class_counts_", "seeds_", "batches_", "n_features_in_"} <= fitted.keys()
        alike = known and all(np.array_equal(model.classes_, committee.classes_) for model in models)
        if not (models and alike and committee.class_counts_.shape == committee.classes_.shape):
            raise ValueError(f"{path}: damaged (its members do not belong together)")
        own: Self = committee
        return own

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def taken_passes(passes: Any) -> list[int]:
    """The passes after which a member becomes a model, in order; empty for the trained member alone."""
    if passes is None:
        return []
    whole = re.fullmatch(r"(\d+):(\d+)", passes) if isinstance(passes, str) else None
    named = [*passes] if isinstance(passes, list | tuple) else [passes]
    if whole:
        named = [*range(int(whole[1]), int(whole[2]) + 1)]
    if not named or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in named):
        raise ValueError(f"passes={passes!r}: must be None, a number from 1, a list of them, or FIRST:LAST")
    return sorted(set(named))


def _train(learner: Any, taken: list[int], X: Any, y: Any) -> list[Any]:
    if not taken:
        return [learner.fit(X, y)]
    if "passes" not in learner.get_params(deep=False) or not tells_passes(learner):
        raise ValueError(f"passes={taken}: {type(learner).__name__} does not tell its passes; leave passes out")
    learner.set_params(passes=taken[-1])
    models: list[Any] = []

    def after_pass(number: int) -> None:
        if number in taken[:-1]:
            models.append(deepcopy(learner))

    learner.fit(X, y, after_pass=after_pass)
    return [*models, learner]


def count_votes(ranks: NDArray[np.int32], n_classes: int) -> tuple[csr_array, csr_array]:
    """Rows x classes: how many models rank a class first; and the same with the sum of 1/rank as a fraction behind."""
    models, n_rows, _ = ranks.shape
    model, row, place = np.nonzero(ranks >= 0)
    classes = ranks[model, row, place]
    shape = (n_rows, n_classes)
    votes = csr_array(coo_array(((place == 0).astype(np.float64), (row, classes)), shape=shape))
    # Votes are whole numbers, and the sum of 1/rank over all models stays below 1 once divided.
    support = csr_array(coo_array((1.0 / ((place + 1.0) * (models + 1)), (row, classes)), shape=shape))
    return votes, csr_array(votes + support)


def lift_winner(votes: csr_array, standing: csr_array, rarity: NDArray[np.int64]) -> csr_array:
    """The standing with the winner of each row ahead: lowest `rarity`, then most votes, then lowest position."""
    cast = coo_array(votes)
    voted = cast.data > 0
    row, classes, number = cast.row[voted], cast.col[voted], cast.data[voted]
    order = np.lexsort((classes, -number, rarity[classes], row))
    winners = order[np.unique(row[order], return_index=True)[1]]
    above = standing.max() + 1 if standing.nnz else 1.0
    lifted = coo_array((np.full(winners.size, above), (row[winners], classes[winners])), shape=standing.shape)
    return csr_array(standing + lifted)


def best_of(standing: csr_array, k: int) -> NDArray[np.int32]:
    """The k classes of highest standing of each row, the lowest position on ties, -1 pads."""
    standing.sum_duplicates()
    row = np.repeat(np.arange(standing.shape[0]), np.diff(standing.indptr))
    order = np.lexsort((standing.indices, -standing.data, row))
    place = np.arange(row.size) - standing.indptr[row]
    ranks = np.full((standing.shape[0], k), -1, np.int32)
    kept = place < k
    ranks[row[kept], place[kept]] = standing.indices[order][kept]
    return ranks
