"""What the host expects of a representation: a transformer that is fitted on some rows and turns any into rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from harness.checks.check import CheckFailed, require
from harness.contract import RepresentationSpec
from harness.signature import import_target
from harness.trials.parts import checksum

N_ROWS, N_FITTED = 40, 30
"""Rows in all, and those that it is fitted on: the others bring words that it has not met."""


def _rows(spec: RepresentationSpec) -> Any:
    """Texts or counts, as it takes them; the last one is empty."""
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


def check_gives_a_row_of_numbers_for_each_row(spec: RepresentationSpec) -> None:
    rows = _rows(spec)
    fitted = _fitted(spec, rows)
    seen, all_rows = csr_array(fitted.transform(rows[:N_FITTED])), csr_array(fitted.transform(rows))
    require(all_rows.shape[0] == N_ROWS, f"transform gave {all_rows.shape[0]} rows for {N_ROWS}")
    require(seen.shape[1] == all_rows.shape[1], "transform gave other columns for other rows: fit decides them")
    require(bool(np.isfinite(all_rows.data).all()), "transform gave a value that is no finite number")
    if spec.gives == "counts":
        require(bool((all_rows.data >= 0).all()), "gives counts, but a value is negative: gives='vectors' says so")


def check_gives_the_same_twice(spec: RepresentationSpec) -> None:
    first, second = _transformed(spec, _rows(spec)), _transformed(spec, _rows(spec))
    require(checksum(first) == checksum(second), "two fits on the same rows differ: seed every random choice")


def check_leaves_its_input_alone(spec: RepresentationSpec) -> None:
    rows = _rows(spec)
    before = rows.copy()
    _transformed(spec, rows)
    same = rows == before if isinstance(rows, list) else checksum(rows) == checksum(before)
    require(same, "fit or transform changed what it was given: it must work on a copy")


def check_survives_sklearns_clone(spec: RepresentationSpec) -> None:
    try:
        clone(_fitted(spec, _rows(spec)))
    except (RuntimeError, TypeError) as error:
        raise CheckFailed(f"scikit-learn cannot clone it: {error}") from error
