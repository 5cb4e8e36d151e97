"""Committee: several members of one kind, with other seeds and after other passes, vote on the class."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from harness.sdk import rules
from harness.sdk.estimator import Matrix
from harness.sdk.labels import as_labels
from harness.sdk.wrapping import positions_by, seeds
from harness_committee.votes import best_of, count_votes, lift_winner
from harness_committee.wrapped import Wrapper, learns_in_batches, seeded, tells_passes

VOTES = ("majority", "minfreq")


def _members_learn_in_batches(committee: Committee) -> bool:
    return committee.passes is None and learns_in_batches(committee)


class Committee(Wrapper):
    """Each model votes for the class it ranks first; one that ranks none does not vote.

    Ranks behind the first follow the number of votes, then the sum of 1/rank over the models.

    When to use
    -----------
    A little more accuracy from any learner for several times its cost.

    References
    ----------
    Madani and Huang, Large-scale many-class prediction via flat techniques, 2010.

    Parameters
    ----------
    learner : any learner; scikit-learn's perceptron where none is given.
    members : how many are trained, each with a seed of its own.
    passes : after which passes a member is taken as a model: 7, "5:7" for 5, 6 and 7, or a list. None: as trained. The
        learner inside must tell its passes and have a parameter `passes`, which is set to the last one.
    vote : "majority" the class with the most votes, the lowest position on ties; "minfreq" among the classes voted for
        the one with the fewest training rows, then the most votes, then the lowest position.
    random_state : seed of the members' seeds.

    Attributes
    ----------
    classes_, class_counts_ : the classes, in the order of their positions, and how many rows of each were met.
    seeds_, batches_ : the members' seeds, and how many batches they have learned.
    models_ : the members, fitted, those of one seed side by side.
    index_size_ : the non-zero weights of all of them; there where each tells its own.
    n_features_in_ : the number of features.
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
        """Train the members one after the other."""
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
        """Let each member go once through a batch, in an order of its own, since that is what members differ by.

        Not there where models are taken after passes: a batch has only one.
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
        """Add the labels to the rows met of each class; new classes stand behind the known ones."""
        positions = as_labels(np.arange(labels.size + 1), labels, self.classes_).indices
        found = np.bincount(positions, minlength=self.classes_.size)
        found[: self.class_counts_.size] += self.class_counts_
        self.class_counts_ = found

    # -- asking

    def _known(self, X: Matrix) -> Matrix:
        """X as it is, dense or sparse, since the members may want either."""
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=self.values, reset=False)

    def _rank(self, X: Matrix, k: int) -> NDArray[np.int32]:
        ranks = np.stack([positions_by(model, X, k) for model in self.models_])
        votes, standing = count_votes(ranks, len(self.classes_))
        rarity = self.class_counts_ if self.vote == "minfreq" else np.zeros_like(self.class_counts_)
        return best_of(lift_winner(votes, standing, rarity), k)

    # -- files

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        known = {"class_counts_", "seeds_", "batches_"} <= fitted.keys()
        if not (known and self.class_counts_.shape == self.classes_.shape):
            raise ValueError("its members do not belong together")


def taken_passes(passes: Any) -> list[int]:
    """The passes after which a member becomes a model, in order; empty for the trained member alone."""
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
    """The models that one member makes: as it is after each of the passes that are taken, or once trained."""
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
