"""Checks of datasets, representations, metrics and registered experiments."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from harness.checks.subject import CheckFailed, NotApplicable, require
from harness.data.arrays import call_stamp
from harness.data.load import checked
from harness.experiment.load import build, read_file
from harness.experiment.resolve import resolve
from harness.experiment.schema import Experiment
from harness.host.contract import (
    Dataset,
    DatasetSpec,
    ExperimentSpec,
    MetricSpec,
    Outcome,
    RepresentationSpec,
    Taxonomy,
)
from harness.host.discovery import discover
from harness.host.introspection import REQUIRED, import_target, read_parameters
from harness.report.tables.published import read_published
from harness.sdk.texts import Texts
from harness.text import counted
from harness.trials.data import checksum


def _load(spec: DatasetSpec) -> Dataset:
    params = spec.parameters or {}
    if spec.wraps or (spec.opens and "path" not in params):
        raise NotApplicable("reads a file: use `harness check FILE`")
    data = import_target(spec.load)(**params)
    require(isinstance(data, Dataset), f"the loader returned {type(data).__name__}, expected harness.Dataset")
    return data  # type: ignore[no-any-return]  # required above


def check_loads_valid_data(spec: DatasetSpec) -> None:
    """The loader returns finite values, labels in range and a sound taxonomy, since learners rely on them."""
    checked(spec.name, _load(spec))


def check_loads_the_same_twice(spec: DatasetSpec) -> None:
    """Two calls of the loader return the same data, since results must be repeatable."""
    first, second = _load(spec), _load(spec)
    require(_content_of(first) == _content_of(second), "two loads differ: seed every random choice")


def _content_of(data: Dataset) -> list[object]:
    content: list[object] = [data.class_names, checksum(data.y), Texts.of(data.texts or ())]
    if data.X is not None:
        content.append(checksum(data.X))
    return content


def check_stamp_is_stable(spec: DatasetSpec) -> None:
    """Two calls of the stamp return the same text; otherwise the dataset would be parsed for every run."""
    if not spec.stamp:
        raise NotApplicable("has no stamp")
    params = {**(read_parameters(spec.load) or {}), **(spec.parameters or {})}
    if REQUIRED in params.values():
        raise NotApplicable("reads a file: use `harness check FILE`")
    first, second = call_stamp(spec.stamp, params), call_stamp(spec.stamp, params)
    require(isinstance(first, str) and first == second, f"stamp returned {first!r}, then {second!r}")


def check_has_unique_class_names(spec: DatasetSpec) -> None:
    """Class names are unique, since predictions are shown by class name."""
    names = _load(spec).class_names
    require(len(set(names)) == len(names), "two classes have the same name")


def check_has_rows_of_every_class(spec: DatasetSpec) -> None:
    """Every class has a row; otherwise the number of classes would be overstated."""
    data = _load(spec)
    counts = np.bincount(data.y.indices if issparse(data.y) else data.y, minlength=len(data.class_names))
    empty = counted(int((counts == 0).sum()), "class has", "classes have")
    require(bool((counts > 0).all()), f"{empty} no row: leave out empty classes")


def check_states_licence_and_citation(spec: DatasetSpec) -> None:
    """The spec states the licence and the citation, since users need both to publish results."""
    require(bool(spec.licence), "no licence: state the terms of use")
    require(bool(spec.citation), "no citation: name the source to cite")


N_ROWS, N_FITTED = 40, 30
"""Number of all rows, and of the rows to fit on. The other rows have words that are new after `fit`."""


def _rows(spec: RepresentationSpec) -> Any:
    """Return texts or counts, depending on the input of the representation. The last row is empty."""
    random = np.random.default_rng(0)
    if spec.takes == "text":
        words = [f"word{number}" for number in range(N_ROWS)]
        texts = [" ".join(words[number // 2 : number]) for number in range(1, N_ROWS)]
        return [*texts, ""]
    counts = random.poisson(0.3, (N_ROWS, 25))
    counts[-1] = 0
    return csr_array(counts.astype(np.float32))


def _fitted(spec: RepresentationSpec, rows: Any) -> Any:
    transformer = import_target(spec.load)()
    return transformer.fit(rows[:N_FITTED], np.arange(N_FITTED) % 3)


def _transformed(spec: RepresentationSpec, rows: Any) -> csr_array:
    return csr_array(_fitted(spec, rows).transform(rows))


def check_returns_a_row_of_numbers_for_each_row(spec: RepresentationSpec) -> None:
    """`transform` returns finite numbers in as many rows and columns as in training, since learners need them."""
    rows = _rows(spec)
    fitted = _fitted(spec, rows)
    seen, all_rows = csr_array(fitted.transform(rows[:N_FITTED])), csr_array(fitted.transform(rows))
    require(all_rows.shape[0] == N_ROWS, f"transform returned {all_rows.shape[0]} rows for {N_ROWS}")
    require(
        seen.shape[1] == all_rows.shape[1],
        "transform returned another number of columns for other rows: decide it in fit",
    )
    require(bool(np.isfinite(all_rows.data).all()), "transform returned a value that is not finite")
    if spec.gives == "counts":
        require(bool((all_rows.data >= 0).all()), "a count is negative: declare gives='vectors'")


def check_is_reproducible(spec: RepresentationSpec) -> None:
    """Two fits on the same rows lead to the same output, since results must be repeatable."""
    first, second = _transformed(spec, _rows(spec)), _transformed(spec, _rows(spec))
    require(checksum(first) == checksum(second), "two fits on the same rows differ: seed every random choice")


def check_does_not_change_its_input(spec: RepresentationSpec) -> None:
    """`fit` and `transform` do not change their input, which belongs to the caller."""
    rows = _rows(spec)
    before = rows.copy()
    _transformed(spec, rows)
    same = rows == before if isinstance(rows, list) else checksum(rows) == checksum(before)
    require(same, "fit or transform changed its input: work on a copy")


def check_can_be_cloned(spec: RepresentationSpec) -> None:
    """`sklearn.base.clone` can copy the transformer, as pipelines and tuning do."""
    try:
        clone(_fitted(spec, _rows(spec)))
    except (RuntimeError, TypeError) as error:
        raise CheckFailed(f"scikit-learn cannot clone it: {error}") from error


# -- metrics and experiments -----------------------------------------------------------------------------------------


def _outcomes() -> Iterator[Outcome]:
    """Yield made-up outcomes: random ranks, perfect ranks, no ranks, multi-label data, and no sizes or taxonomy."""
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


def _same_value(first: Any, second: Any) -> bool:
    if _is_number(first) and _is_number(second):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)
    return repr(first) == repr(second)  # check_returns_a_number_or_none reports wrong types


def check_returns_a_number_or_none(spec: MetricSpec) -> None:
    """The metric returns a finite number or None, since tables average its values."""
    for outcome in _outcomes():
        value = _value(spec, outcome)
        require(value is None or _is_number(value), f"returned {value!r}, expected a finite number or None")


def check_is_pure(spec: MetricSpec) -> None:
    """Two calls return the same value and leave the outcome unchanged, since other metrics read it too."""
    for outcome in _outcomes():
        before = checksum(outcome.truth), checksum(outcome.ranks), checksum(outcome.train_class_counts)
        first, second = _value(spec, outcome), _value(spec, outcome)
        after = checksum(outcome.truth), checksum(outcome.ranks), checksum(outcome.train_class_counts)
        require(_same_value(first, second) and before == after, "two calls differ, or the outcome was changed")


def check_does_not_depend_on_the_order_of_rows(spec: MetricSpec) -> None:
    """The value does not depend on the order of the test rows, which is arbitrary."""
    for outcome in _outcomes():
        order = np.random.default_rng(1).permutation(len(outcome.ranks))
        shuffled = replace(outcome, truth=outcome.truth[order], ranks=outcome.ranks[order])
        first, second = _value(spec, outcome), _value(spec, shuffled)
        require(_same_value(first, second), f"shuffling the rows changed {first} to {second}")


def check_needs_no_more_ranks_than_declared(spec: MetricSpec) -> None:
    """The metric reads no ranks beyond its `depth`, since a trial may compute only this number."""
    for outcome in _outcomes():
        cut = replace(outcome, ranks=outcome.ranks[:, : max(spec.depth, 1)])
        require(_same_value(_value(spec, outcome), _value(spec, cut)), f"reads ranks beyond its depth {spec.depth}")


def check_prefers_perfect_ranks(spec: MetricSpec) -> None:
    """Perfect ranks have a better value than empty ones, since tables mark the best in this direction."""
    if spec.depth == 0:
        raise NotApplicable("reads no ranks")
    _, perfect, hopeless, *_ = _outcomes()
    best, worst = _value(spec, perfect), _value(spec, hopeless)
    if _is_number(best) and _is_number(worst):
        better = best > worst if spec.direction == "higher" else best < worst
        require(better, f"direction is {spec.direction!r}, but perfect ranks give {best} and empty ones {worst}")


def _file(resource: str) -> Path:
    package, _, file = resource.partition(":")
    return Path(str(resources.files(package) / file))


def _experiment(spec: ExperimentSpec) -> Experiment:
    path = _file(spec.resource)
    return build(read_file(path), str(path), discover())


def check_its_file_is_an_experiment(spec: ExperimentSpec) -> None:
    """The file is valid TOML and a valid experiment, so that `harness run` accepts it."""
    _experiment(spec)


def check_names_are_registered(spec: ExperimentSpec) -> None:
    """All learners, datasets and metrics that the file names are installed, so that a run can start."""
    resolve(_experiment(spec), discover())


def check_its_published_numbers_can_be_read(spec: ExperimentSpec) -> None:
    """The file with the published numbers is valid, since `harness reproduce` prints them."""
    if not spec.published:
        raise NotApplicable("has no published numbers")
    read_published(_file(spec.published))
