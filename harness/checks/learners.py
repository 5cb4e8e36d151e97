"""What the host expects of a learner, shown on a small, easy problem: that it ranks, learns, and keeps what it says."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.checks.check import CheckFailed, NotApplicable, require
from harness.checks.subject import N_CLASSES, N_ROWS, Problem, Subject, accuracy_of, own_parameters, ranks_by
from harness.errors import ContractError
from harness.signature import import_parameters
from harness.trials.parts import checksum
from harness.trials.scoring import ask_scores, tells_scores
from harness.wording import counted

FRESH_FITS, FITS_AGAIN = 5, 2
"""Fits that show what chance does, and those that must differ from all of these by more."""
MEASURES = ("index_size_", "index_bytes_", "edges_touched")


def check_names_its_parameters(subject: Subject) -> None:
    actual = dict(import_parameters(subject.spec.load))
    told = subject.told_parameters()
    require(told.keys() == actual.keys(), f"parameters told {sorted(told)}, the class takes {sorted(actual)}")
    wrong = []
    for name, default in told.items():
        is_source = hasattr(default, "text")  # an expression in the source, whose value is not known without running it
        if not is_source and repr(default) != repr(actual[name]):
            wrong.append(name)
    require(not wrong, f"defaults differ from those of the class: {', '.join(wrong)}")


def check_has_get_params_and_set_params(subject: Subject) -> None:
    learner = subject.build()
    before = own_parameters(learner)
    if before is None:
        raise CheckFailed("no get_params: derive the class from sklearn.base.BaseEstimator")
    learner.set_params(**before)
    after = own_parameters(learner)
    require(repr(before) == repr(after), f"set_params(**get_params()) changed the parameters: {before} -> {after}")


def check_ranks_in_the_promised_shape(subject: Subject) -> None:
    problem = subject.problem()
    learner = subject.fitted(problem)
    for k in (1, 3, N_CLASSES + 4):
        ranks_by(learner, problem.X, k)


def check_learns_an_easy_problem(subject: Subject) -> None:
    accuracy = accuracy_of(subject.fitted(subject.problem()), subject.problem(seed=1))
    require(accuracy > 2 / N_CLASSES, f"accuracy {accuracy:.2f} on an easy problem of {N_CLASSES} classes")


def check_predicts_what_it_ranks_first(subject: Subject) -> None:
    problem = subject.problem()
    learner = subject.fitted(problem)
    ranks, predicted = ranks_by(learner, problem.X), np.asarray(learner.predict(problem.X))
    ranked = ranks[:, 0] >= 0
    differ = np.flatnonzero(predicted[ranked] != ranks[ranked, 0])
    rows = counted(differ.size, "row")
    require(differ.size == 0, f"predict and the first rank differ in {rows}, first in row {differ[:1]}")


def check_leaves_its_input_alone(subject: Subject) -> None:
    problem = subject.problem()
    before = checksum(problem.X), checksum(problem.y)
    learner = subject.fitted(problem)
    require(before == (checksum(problem.X), checksum(problem.y)), "fit changed X or y: it must work on a copy")
    ranks_by(learner, problem.X)
    require(before[0] == checksum(problem.X), "ranking changed X: it must work on a copy")


def check_gives_the_same_for_the_same_seed(subject: Subject) -> None:
    if not subject.spec.deterministic:
        raise NotApplicable("says that it is not deterministic")
    problem = subject.problem()
    first, second = ranks_by(subject.fitted(problem), problem.X), ranks_by(subject.fitted(problem), problem.X)
    require(np.array_equal(first, second), "two fits with one random_state rank differently: seed every random choice")


def check_forgets_when_fitted_again(subject: Subject) -> None:
    problem = subject.problem()
    fresh = [ranks_by(subject.fitted(problem), problem.X)]
    if np.array_equal(fresh[0], _ranks_after_another_fit(subject, problem)):
        return
    # Two fits may differ by chance alone: what was fitted again must stand out among several that were not.
    fresh += [ranks_by(subject.fitted(problem), problem.X) for _ in range(FRESH_FITS - 1)]
    by_chance = max(_difference(one, other) for one, other in itertools.combinations(fresh, 2))
    for _ in range(FITS_AGAIN):
        again = _ranks_after_another_fit(subject, problem)
        if min(_difference(again, one) for one in fresh) <= by_chance:
            return
    raise CheckFailed("a second fit remembers the first: start anew in fit")


def _ranks_after_another_fit(subject: Subject, problem: Problem) -> NDArray[np.int32]:
    """What a learner ranks that was fitted to other labels before."""
    learner = subject.fitted(problem.labelled(problem.y[::-1].copy()))
    return ranks_by(subject.fit(learner, problem), problem.X)


def _difference(first: NDArray[np.int32], second: NDArray[np.int32]) -> float:
    """The share of ranks that differ."""
    return float((first != second).mean())


def check_ranks_only_classes_it_has_seen(subject: Subject) -> None:
    problem = subject.problem()
    without = problem.labelled(np.where(problem.y == 2, 0, problem.y))
    ranks = ranks_by(subject.fitted(without), problem.X, N_CLASSES)
    require(not (ranks == 2).any(), "ranks a class that was not in the training data")


def check_takes_an_empty_row(subject: Subject) -> None:
    problem = subject.problem()
    learner = subject.fitted(problem)
    ranks_by(learner, problem.X[-1:])


def check_takes_several_labels_if_it_says_so(subject: Subject) -> None:
    if "multilabel" not in subject.spec.supports:
        raise NotApplicable("takes one label a row")
    problem = subject.problem()
    rows = np.arange(N_ROWS)
    pairs = (np.concatenate([rows, rows]), np.concatenate([problem.y, (problem.y + 1) % N_CLASSES]))
    y = csr_array((np.ones(2 * N_ROWS, np.int8), pairs), shape=(N_ROWS, N_CLASSES))
    ranks_by(subject.fitted(problem.labelled(y)), problem.X)


def check_measures_its_index(subject: Subject) -> None:
    problem = subject.problem()
    learner = subject.fitted(problem)
    if not any(hasattr(learner, name) for name in MEASURES):
        raise NotApplicable("measures nothing itself")
    if hasattr(learner, "index_size_"):
        require(int(learner.index_size_) >= 0, f"index_size_ is {learner.index_size_!r}, expected a count")
    if hasattr(learner, "index_bytes_"):
        require(int(learner.index_bytes_) >= 0, f"index_bytes_ is {learner.index_bytes_!r}, expected a count")
    if hasattr(learner, "edges_touched"):
        edges = float(learner.edges_touched(problem.X))
        require(np.isfinite(edges) and edges >= 0, f"edges_touched gave {edges}, expected edges per active feature")


def check_scores_what_it_ranks(subject: Subject) -> None:
    problem = subject.problem()
    learner = subject.fitted(problem)
    if not tells_scores(learner):
        raise NotApplicable("has no scores(X, ranks)")
    try:
        ask_scores(learner, problem.X, np.asarray(learner.rank(problem.X, 3)))
    except ContractError as error:
        raise CheckFailed(str(error)) from error


def check_tells_its_passes(subject: Subject) -> None:
    if "after_pass" not in inspect.signature(subject.kind().fit).parameters:
        raise NotApplicable("fit takes no after_pass")
    told: list[int] = []
    subject.fitted(subject.problem(), after_pass=told.append)
    expected = list(range(1, len(told) + 1))
    require(bool(told) and told == expected, f"after_pass was told {told}, expected 1, 2, ... after each pass")
