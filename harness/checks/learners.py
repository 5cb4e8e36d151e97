"""What the host expects of a learner, shown on a small, easy problem."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.checks.check import NotApplicable, require
from harness.contract import LearnerSpec, Taxonomy
from harness.signature import import_parameters, import_target, read_parameters
from harness.trials.measure import checksum
from harness.trials.ranking import as_classes, rank_positions
from harness.wording import counted

ROWS, FEATURES, CLASSES = 240, 60, 6


@dataclass(frozen=True)
class _Problem:
    X: Any
    y: Any
    taxonomy: Taxonomy


def _problem(spec: LearnerSpec, seed: int = 0) -> _Problem:
    """An easy problem: each class has features of its own, all values are positive, one row is empty."""
    random = np.random.default_rng(seed)
    y = np.arange(ROWS) % CLASSES
    dense = random.random((ROWS, FEATURES)) * (random.random((ROWS, FEATURES)) < 0.1)
    own = FEATURES // CLASSES
    for row, label in enumerate(y):
        dense[row, label * own + random.integers(0, own, 4)] += 1.0
    dense[-1] = 0
    X = csr_array(dense.astype(np.float32))
    parent = np.array([-1, 0, 0, *(1 + (np.arange(CLASSES) % 2))])
    taxonomy = Taxonomy(parent, 3 + np.arange(CLASSES))
    return _Problem(X.toarray() if "dense" in spec.needs else X, y, taxonomy)


def _build(spec: LearnerSpec, **params: Any) -> Any:
    known = parameters(spec)
    if "random_state" in known:
        params.setdefault("random_state", 0)
    return import_target(spec.load)(**params)


def parameters(spec: LearnerSpec) -> Any:
    """What the host takes for the learner's parameters."""
    if spec.parameters is not None:
        return spec.parameters
    found = read_parameters(spec.load)
    return found if found is not None else import_parameters(spec.load)


def _fit(spec: LearnerSpec, problem: _Problem, y: Any = None, **extra: Any) -> Any:
    if "taxonomy" in spec.needs:
        extra["taxonomy"] = problem.taxonomy
    learner = _build(spec)
    learner.fit(problem.X, problem.y if y is None else y, **extra)
    return learner


def _ranks(learner: Any, X: Any, k: int = 3, classes: int = CLASSES) -> np.ndarray:
    answer, by = rank_positions(learner, X, k)
    return as_classes(learner, answer, by, X.shape[0], k, classes)


# -- learners --------------------------------------------------------------------------------------------------------


def check_names_its_parameters(spec: LearnerSpec) -> None:
    actual = dict(import_parameters(spec.load))
    told = dict(parameters(spec))
    require(told.keys() == actual.keys(), f"parameters told {sorted(told)}, the class takes {sorted(actual)}")
    wrong = [name for name in told if repr(told[name]) != repr(actual[name]) and not hasattr(told[name], "text")]
    require(not wrong, f"defaults differ from those of the class: {', '.join(wrong)}")


def check_has_get_params_and_set_params(spec: LearnerSpec) -> None:
    learner = _build(spec)
    require(hasattr(learner, "get_params"), "no get_params: derive the class from sklearn.base.BaseEstimator")
    before = learner.get_params(deep=False)
    learner.set_params(**before)
    after = learner.get_params(deep=False)
    require(repr(before) == repr(after), f"set_params(**get_params()) changed the parameters: {before} -> {after}")


def check_ranks_in_the_promised_shape(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    learner = _fit(spec, problem)
    for k in (1, 3, CLASSES + 4):
        _ranks(learner, problem.X, k)


def check_learns_an_easy_problem(spec: LearnerSpec) -> None:
    problem, other = _problem(spec), _problem(spec, seed=1)
    first = _ranks(_fit(spec, problem), other.X)[:, 0]
    accuracy = float((first == other.y).mean())
    require(accuracy > 2 / CLASSES, f"accuracy {accuracy:.2f} on an easy problem of {CLASSES} classes")


def check_predicts_what_it_ranks_first(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    learner = _fit(spec, problem)
    ranks, predicted = _ranks(learner, problem.X), np.asarray(learner.predict(problem.X))
    ranked = ranks[:, 0] >= 0
    differ = np.flatnonzero(predicted[ranked] != ranks[ranked, 0])
    rows = counted(differ.size, "row")
    require(differ.size == 0, f"predict and the first rank differ in {rows}, first in row {differ[:1]}")


def check_leaves_its_input_alone(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    before = checksum(problem.X), checksum(problem.y)
    learner = _fit(spec, problem)
    require(before == (checksum(problem.X), checksum(problem.y)), "fit changed X or y: it must work on a copy")
    _ranks(learner, problem.X)
    require(before[0] == checksum(problem.X), "ranking changed X: it must work on a copy")


def check_gives_the_same_for_the_same_seed(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    first, second = (_ranks(_fit(spec, problem), problem.X) for _ in range(2))
    require(np.array_equal(first, second), "two fits with one random_state rank differently: seed every random choice")


def check_forgets_when_fitted_again(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    fresh = _ranks(_fit(spec, problem), problem.X)
    extra = {"taxonomy": problem.taxonomy} if "taxonomy" in spec.needs else {}
    learner = _fit(spec, problem, y=problem.y[::-1].copy())
    learner.fit(problem.X, problem.y, **extra)
    require(np.array_equal(fresh, _ranks(learner, problem.X)), "a second fit remembers the first: start anew in fit")


def check_ranks_only_classes_it_has_seen(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    y = np.where(problem.y == 2, 0, problem.y)
    ranks = _ranks(_fit(spec, problem, y=y), problem.X, CLASSES)
    require(not (ranks == 2).any(), "ranks a class that was not in the training data")


def check_takes_an_empty_row(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    learner = _fit(spec, problem)
    _ranks(learner, problem.X[-1:])


def check_takes_several_labels_if_it_says_so(spec: LearnerSpec) -> None:
    if "multilabel" not in spec.supports:
        raise NotApplicable("takes one label a row")
    problem = _problem(spec)
    rows = np.arange(ROWS)
    pairs = (np.concatenate([rows, rows]), np.concatenate([problem.y, (problem.y + 1) % CLASSES]))
    y = csr_array((np.ones(2 * ROWS, np.int8), pairs), shape=(ROWS, CLASSES))
    _ranks(_fit(spec, problem, y=y), problem.X)


def check_measures_its_index(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    learner = _fit(spec, problem)
    if not any(hasattr(learner, name) for name in ("index_size_", "index_bytes_", "edges_touched")):
        raise NotApplicable("measures nothing itself")
    if hasattr(learner, "index_size_"):
        require(int(learner.index_size_) >= 0, f"index_size_ is {learner.index_size_!r}, expected a count")
    if hasattr(learner, "index_bytes_"):
        require(int(learner.index_bytes_) >= 0, f"index_bytes_ is {learner.index_bytes_!r}, expected a count")
    if hasattr(learner, "edges_touched"):
        edges = float(learner.edges_touched(problem.X))
        require(np.isfinite(edges) and edges >= 0, f"edges_touched gave {edges}, expected edges per active feature")


def check_tells_its_passes(spec: LearnerSpec) -> None:
    if "after_pass" not in inspect.signature(import_target(spec.load).fit).parameters:
        raise NotApplicable("fit takes no after_pass")
    told: list[int] = []
    _fit(spec, _problem(spec), after_pass=told.append)
    expected = list(range(1, len(told) + 1))
    require(bool(told) and told == expected, f"after_pass was told {told}, expected 1, 2, ... after each pass")
