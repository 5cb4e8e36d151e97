"""The public conformance suite: what the host expects of a learner, a data set or a metric, as named checks.

With pytest:

    from harness.checks import learner_checks

    @pytest.mark.parametrize("check", learner_checks(LearnerSpec(name="mine", load="my_package:Mine")), ids=str)
    def test_conformance(check):
        check()
"""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.contract import (
    Dataset,
    DatasetSpec,
    HasIndexBytes,
    HasIndexSize,
    LearnerSpec,
    MetricSpec,
    Outcome,
    Taxonomy,
    TouchesEdges,
)
from harness.data import checked
from harness.ranking import as_classes, rank_positions
from harness.signature import import_parameters, import_target, read_parameters
from harness.trial import checksum

ROWS, FEATURES, CLASSES = 240, 60, 6


@dataclass(frozen=True)
class Check:
    """One named check; calling it raises where the promise is broken."""

    name: str
    run: Callable[[], None]

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        with contextlib.suppress(NotApplicable):
            self.run()


class NotApplicable(Exception):  # it is no error
    """The check asks about something that this plugin does not claim."""


class CheckFailed(AssertionError):
    """A promise of the contract that was not kept; the message says which and what to do."""


def require(condition: bool, message: str) -> None:
    """Raise CheckFailed unless the condition holds."""
    if not condition:
        raise CheckFailed(message)


def _named(prefix: str, subject: Any) -> list[Check]:
    functions = [(name, f) for name, f in globals().items() if name.startswith(prefix)]
    return [Check(name.removeprefix(prefix), partial(f, subject)) for name, f in functions]


def learner_checks(spec: LearnerSpec) -> list[Check]:
    """The checks of a learner."""
    return _named("_learner_", spec)


def dataset_checks(spec: DatasetSpec) -> list[Check]:
    """The checks of a data set."""
    return _named("_dataset_", spec)


def metric_checks(spec: MetricSpec) -> list[Check]:
    """The checks of a metric."""
    return _named("_metric_", spec)


# -- a small problem -------------------------------------------------------------------------------------------------


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


def _learner_names_its_parameters(spec: LearnerSpec) -> None:
    actual = dict(import_parameters(spec.load))
    told = dict(parameters(spec))
    require(told.keys() == actual.keys(), f"parameters told {sorted(told)}, the class takes {sorted(actual)}")
    wrong = [name for name in told if repr(told[name]) != repr(actual[name]) and not hasattr(told[name], "text")]
    require(not wrong, f"defaults differ from those of the class: {', '.join(wrong)}")


def _learner_has_get_params_and_set_params(spec: LearnerSpec) -> None:
    learner = _build(spec)
    require(hasattr(learner, "get_params"), "no get_params: derive the class from sklearn.base.BaseEstimator")
    before = learner.get_params(deep=False)
    learner.set_params(**before)
    after = learner.get_params(deep=False)
    require(repr(before) == repr(after), f"set_params(**get_params()) changed the parameters: {before} -> {after}")


def _learner_ranks_in_the_promised_shape(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    learner = _fit(spec, problem)
    for k in (1, 3, CLASSES + 4):
        _ranks(learner, problem.X, k)


def _learner_learns_an_easy_problem(spec: LearnerSpec) -> None:
    problem, other = _problem(spec), _problem(spec, seed=1)
    first = _ranks(_fit(spec, problem), other.X)[:, 0]
    accuracy = float((first == other.y).mean())
    require(accuracy > 2 / CLASSES, f"accuracy {accuracy:.2f} on an easy problem of {CLASSES} classes")


def _learner_predicts_what_it_ranks_first(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    learner = _fit(spec, problem)
    ranks, predicted = _ranks(learner, problem.X), np.asarray(learner.predict(problem.X))
    ranked = ranks[:, 0] >= 0
    differ = np.flatnonzero(predicted[ranked] != ranks[ranked, 0])
    require(differ.size == 0, f"predict and the first rank differ in {differ.size} rows, first in row {differ[:1]}")


def _learner_leaves_its_input_alone(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    before = checksum(problem.X), checksum(problem.y)
    learner = _fit(spec, problem)
    require(before == (checksum(problem.X), checksum(problem.y)), "fit changed X or y: it must work on a copy")
    _ranks(learner, problem.X)
    require(before[0] == checksum(problem.X), "ranking changed X: it must work on a copy")


def _learner_gives_the_same_for_the_same_seed(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    first, second = (_ranks(_fit(spec, problem), problem.X) for _ in range(2))
    require(np.array_equal(first, second), "two fits with one random_state rank differently: seed every random choice")


def _learner_forgets_when_fitted_again(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    fresh = _ranks(_fit(spec, problem), problem.X)
    extra = {"taxonomy": problem.taxonomy} if "taxonomy" in spec.needs else {}
    learner = _fit(spec, problem, y=problem.y[::-1].copy())
    learner.fit(problem.X, problem.y, **extra)
    require(np.array_equal(fresh, _ranks(learner, problem.X)), "a second fit remembers the first: start anew in fit")


def _learner_ranks_only_classes_it_has_seen(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    y = np.where(problem.y == 2, 0, problem.y)
    ranks = _ranks(_fit(spec, problem, y=y), problem.X, CLASSES)
    require(not (ranks == 2).any(), "ranks a class that was not in the training data")


def _learner_takes_an_empty_row(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    learner = _fit(spec, problem)
    _ranks(learner, problem.X[-1:])


def _learner_takes_several_labels_if_it_says_so(spec: LearnerSpec) -> None:
    if "multilabel" not in spec.supports:
        raise NotApplicable("takes one label a row")
    problem = _problem(spec)
    rows = np.arange(ROWS)
    pairs = (np.concatenate([rows, rows]), np.concatenate([problem.y, (problem.y + 1) % CLASSES]))
    y = csr_array((np.ones(2 * ROWS, np.int8), pairs), shape=(ROWS, CLASSES))
    _ranks(_fit(spec, problem, y=y), problem.X)


def _learner_measures_its_index(spec: LearnerSpec) -> None:
    problem = _problem(spec)
    learner = _fit(spec, problem)
    if not isinstance(learner, HasIndexSize | HasIndexBytes | TouchesEdges):
        raise NotApplicable("measures nothing itself")
    if isinstance(learner, HasIndexSize):
        require(int(learner.index_size_) >= 0, f"index_size_ is {learner.index_size_!r}, expected a count")
    if isinstance(learner, HasIndexBytes):
        require(int(learner.index_bytes_) >= 0, f"index_bytes_ is {learner.index_bytes_!r}, expected a count")
    if isinstance(learner, TouchesEdges):
        edges = float(learner.edges_touched(problem.X))
        require(np.isfinite(edges) and edges >= 0, f"edges_touched gave {edges}, expected edges per active feature")


def _learner_tells_its_passes(spec: LearnerSpec) -> None:
    if "after_pass" not in inspect.signature(import_target(spec.load).fit).parameters:
        raise NotApplicable("fit takes no after_pass")
    told: list[int] = []
    _fit(spec, _problem(spec), after_pass=told.append)
    expected = list(range(1, len(told) + 1))
    require(bool(told) and told == expected, f"after_pass was told {told}, expected 1, 2, ... after each pass")


# -- data sets -------------------------------------------------------------------------------------------------------


def _load(spec: DatasetSpec) -> Dataset:
    data = import_target(spec.load)()
    require(isinstance(data, Dataset), f"the loader gave {type(data).__name__}, expected harness.Dataset")
    return data  # type: ignore[no-any-return]  # required above


def _dataset_loads_and_is_sound(spec: DatasetSpec) -> None:
    checked(spec.name, _load(spec))


def _dataset_loads_the_same_twice(spec: DatasetSpec) -> None:
    first, second = _load(spec), _load(spec)
    same = checksum(first.X) == checksum(second.X) and checksum(first.y) == checksum(second.y)
    require(same and first.class_names == second.class_names, "two loads differ: seed every random choice")


def _dataset_stamp_is_stable(spec: DatasetSpec) -> None:
    if not spec.stamp:
        raise NotApplicable("has no stamp")
    first, second = import_target(spec.stamp)(), import_target(spec.stamp)()
    require(isinstance(first, str) and first == second, f"stamp gave {first!r}, then {second!r}")


def _dataset_names_its_classes_apart(spec: DatasetSpec) -> None:
    names = _load(spec).class_names
    require(len(set(names)) == len(names), "two classes have one name")


def _dataset_has_rows_of_every_class(spec: DatasetSpec) -> None:
    data = _load(spec)
    counts = np.bincount(data.y.indices if issparse(data.y) else data.y, minlength=len(data.class_names))
    require(bool((counts > 0).all()), f"{int((counts == 0).sum())} classes have no row: leave them out")


def _dataset_states_licence_and_citation(spec: DatasetSpec) -> None:
    require(bool(spec.licence), "no licence line: say under what terms the data may be used")
    require(bool(spec.citation), "no citation: say whom to cite")


# -- metrics ---------------------------------------------------------------------------------------------------------


def _outcomes() -> Iterator[Outcome]:
    """A few outcomes: random, perfect, hopeless, multi-label, and one without any size known."""
    random = np.random.default_rng(0)
    n, k = 50, 12
    ranks = np.array([random.permutation(20)[:k] for _ in range(n)], np.int32)
    ranks[3, 5:] = -1
    truth = random.integers(0, 20, n)
    counts = np.bincount(truth, minlength=20).astype(np.int64)
    parent = np.array([-1, 0, 0, *(1 + np.arange(20) % 2)])
    taxonomy = Taxonomy(parent, 3 + np.arange(20))
    base = Outcome(
        truth, ranks, 20, counts, 500, 1.5, 1.4, 0.2, 1000, 8000, 3.5, 10**8, taxonomy
    )  # fmt: skip
    yield base
    yield replace(base, truth=ranks[:, 0].astype(np.intp))
    yield replace(base, ranks=np.full_like(ranks, -1))
    pairs = (np.repeat(np.arange(n), 2), np.column_stack([truth, (truth + 1) % 20]).ravel())
    yield replace(base, truth=csr_array((np.ones(2 * n, np.int8), pairs), shape=(n, 20)))
    yield replace(base, index_size=None, index_bytes=None, edges_per_feature=None, peak_bytes=None, taxonomy=None)


def _value(spec: MetricSpec, outcome: Outcome) -> Any:
    return import_target(spec.compute)(outcome)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def _alike(first: Any, second: Any) -> bool:
    if _is_number(first) and _is_number(second):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)
    return repr(first) == repr(second)  # what they are is for one check to judge


def _metric_gives_a_number_or_none(spec: MetricSpec) -> None:
    for outcome in _outcomes():
        value = _value(spec, outcome)
        require(value is None or _is_number(value), f"gave {value!r}, expected a finite number or None")


def _metric_is_pure(spec: MetricSpec) -> None:
    for outcome in _outcomes():
        before = checksum(outcome.truth), checksum(outcome.ranks), checksum(outcome.train_class_counts)
        first, second = _value(spec, outcome), _value(spec, outcome)
        after = checksum(outcome.truth), checksum(outcome.ranks), checksum(outcome.train_class_counts)
        require(_alike(first, second) and before == after, "two calls differ, or the outcome was changed")


def _metric_does_not_depend_on_the_order_of_rows(spec: MetricSpec) -> None:
    for outcome in _outcomes():
        order = np.random.default_rng(1).permutation(len(outcome.ranks))
        shuffled = replace(outcome, truth=outcome.truth[order], ranks=outcome.ranks[order])
        first, second = _value(spec, outcome), _value(spec, shuffled)
        require(_alike(first, second), f"shuffling the rows changed {first} to {second}")


def _metric_needs_no_more_ranks_than_it_says(spec: MetricSpec) -> None:
    for outcome in _outcomes():
        cut = replace(outcome, ranks=outcome.ranks[:, : max(spec.depth, 1)])
        require(_alike(_value(spec, outcome), _value(spec, cut)), f"reads ranks beyond its depth {spec.depth}")


def _metric_prefers_perfect_ranks(spec: MetricSpec) -> None:
    if spec.depth == 0:
        raise NotApplicable("reads no ranks")
    _, perfect, hopeless, *_ = _outcomes()
    best, worst = _value(spec, perfect), _value(spec, hopeless)
    if _is_number(best) and _is_number(worst):
        better = best > worst if spec.direction == "higher" else best < worst
        require(better, f"direction is {spec.direction!r}, but perfect ranks give {best} and empty ones {worst}")


# -- for the command line --------------------------------------------------------------------------------------------


def run_job(payload: dict[str, Any], send: Callable[[str], None]) -> tuple[dict[str, str], None]:
    """A job: one check by name, in a process of its own; gives the reason of a failure, or none."""
    spec, make = _spec_from(payload)
    check = next(check for check in make(spec) if check.name == payload["check"])
    send(check.name)
    try:
        check.run()
    except NotApplicable as reason:
        return {"skipped": str(reason)}, None
    except CheckFailed as error:
        return {"failed": str(error)}, None
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}, None
    return {}, None


def _spec_from(payload: dict[str, Any]) -> tuple[Any, Callable[[Any], list[Check]]]:
    content = dict(payload["spec"])
    if payload["kind"] == "learner":
        content |= {key: frozenset(content[key]) for key in ("needs", "supports")}
        return LearnerSpec(**content), learner_checks
    if payload["kind"] == "data set":
        return DatasetSpec(**content), dataset_checks
    return MetricSpec(**content), metric_checks
