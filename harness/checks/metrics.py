"""What the host expects of a metric: a pure function of the outcome that reads no more than it says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.checks.check import NotApplicable, require
from harness.contract import MetricSpec, Outcome, Taxonomy
from harness.signature import import_target
from harness.trials.parts import checksum


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
    single = random.exponential(1e-3, 30)
    base = Outcome(
        truth=truth,
        ranks=ranks,
        n_classes=20,
        train_class_counts=counts,
        n_train=500,
        fit_seconds=1.5,
        fit_cpu_seconds=1.4,
        rank_seconds=0.2,
        index_size=1000,
        index_bytes=8000,
        edges_per_feature=3.5,
        peak_bytes=10**8,
        taxonomy=taxonomy,
        single_seconds=single,
    )
    yield base
    yield replace(base, truth=ranks[:, 0].astype(np.intp))
    yield replace(base, ranks=np.full_like(ranks, -1))
    pairs = (np.repeat(np.arange(n), 2), np.column_stack([truth, (truth + 1) % 20]).ravel())
    yield replace(base, truth=csr_array((np.ones(2 * n, np.int8), pairs), shape=(n, 20)))
    sizeless = replace(base, index_size=None, index_bytes=None, edges_per_feature=None, peak_bytes=None)
    yield replace(sizeless, taxonomy=None, single_seconds=None)


def _value(spec: MetricSpec, outcome: Outcome) -> Any:
    return import_target(spec.compute)(outcome, **spec.parameters)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def _alike(first: Any, second: Any) -> bool:
    if _is_number(first) and _is_number(second):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)
    return repr(first) == repr(second)  # what they are is for one check to judge


def check_gives_a_number_or_none(spec: MetricSpec) -> None:
    for outcome in _outcomes():
        value = _value(spec, outcome)
        require(value is None or _is_number(value), f"gave {value!r}, expected a finite number or None")


def check_is_pure(spec: MetricSpec) -> None:
    for outcome in _outcomes():
        before = checksum(outcome.truth), checksum(outcome.ranks), checksum(outcome.train_class_counts)
        first, second = _value(spec, outcome), _value(spec, outcome)
        after = checksum(outcome.truth), checksum(outcome.ranks), checksum(outcome.train_class_counts)
        require(_alike(first, second) and before == after, "two calls differ, or the outcome was changed")


def check_does_not_depend_on_the_order_of_rows(spec: MetricSpec) -> None:
    for outcome in _outcomes():
        order = np.random.default_rng(1).permutation(len(outcome.ranks))
        shuffled = replace(outcome, truth=outcome.truth[order], ranks=outcome.ranks[order])
        first, second = _value(spec, outcome), _value(spec, shuffled)
        require(_alike(first, second), f"shuffling the rows changed {first} to {second}")


def check_needs_no_more_ranks_than_it_says(spec: MetricSpec) -> None:
    for outcome in _outcomes():
        cut = replace(outcome, ranks=outcome.ranks[:, : max(spec.depth, 1)])
        require(_alike(_value(spec, outcome), _value(spec, cut)), f"reads ranks beyond its depth {spec.depth}")


def check_prefers_perfect_ranks(spec: MetricSpec) -> None:
    if spec.depth == 0:
        raise NotApplicable("reads no ranks")
    _, perfect, hopeless, *_ = _outcomes()
    best, worst = _value(spec, perfect), _value(spec, hopeless)
    if _is_number(best) and _is_number(worst):
        better = best > worst if spec.direction == "higher" else best < worst
        require(better, f"direction is {spec.direction!r}, but perfect ranks give {best} and empty ones {worst}")
