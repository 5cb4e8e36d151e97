"""Representations: texts or counts to what a learner sees. Whatever is fitted is fitted on the training part alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.contract import Dataset, Labels
from harness.data.arrays import open_dataset
from harness.data.checking import checked_rows
from harness.data.represented import Represented, is_large, keep_blocks, keep_represented, open_represented
from harness.errors import ContractError, DataError
from harness.sdk.texts import Texts
from harness.split import Split
from harness.trials.blueprint import Blueprint, build_estimator
from harness.trials.clock import Clock
from harness.trials.splitting import part_data
from harness.trials.trial import RepresentationPlan

Parted = tuple[np.ndarray, np.ndarray]
"""Positions of training and of test rows."""
BLOCK_ROWS = 50_000


@dataclass(frozen=True)
class RepresentJob:
    """A representation to be computed and kept, for the trials of several learners, as it travels to its process."""

    data_folder: str
    split: Split
    seed: int
    representing: RepresentationPlan
    folder: Path


def run_represent_job(job: RepresentJob, send: Callable[[str], None]) -> tuple[str, None]:
    """A job: represent both parts and keep them; gives what went wrong, which each trial will meet again by itself."""
    send("representing")
    try:
        if open_represented(job.folder) is None:
            data = open_dataset(Path(job.data_folder))
            parted = part_data(job.split, data, job.seed)
            if not _keep_in_blocks(job, data, parted):
                keep_represented(represent_data(job.representing, data, parted), job.folder)
    except Exception as error:  # a representation is a plugin's code, and may fail in any way
        return f"{type(error).__name__}: {error}", None
    return "", None


def _keep_in_blocks(job: RepresentJob, data: Dataset, parted: Parted) -> bool:
    """Represent and keep rows block by block, where they are large and the representation can be fitted so."""
    plan = job.representing
    if plan.takes_text or plan.blueprint is None or data.X is None or not is_large(data.X.nnz):
        return False
    transformer = build_estimator(plan.blueprint)
    if not hasattr(transformer, "partial_fit"):
        return False
    clock = Clock()
    for rows, y in _blocks(data, parted[0]):
        with clock.running():
            transformer.partial_fit(rows, y)

    def seen(part: np.ndarray) -> Iterator[csr_array]:
        for rows, _ in _blocks(data, part):
            with clock.running():
                block = checked_representation(transformer.transform(rows))
            yield block

    keep_blocks({"train": seen(parted[0]), "test": seen(parted[1])}, clock, job.folder)
    return True


def _blocks(data: Dataset, part: np.ndarray) -> Iterator[tuple[Any, Labels]]:
    """The rows of a part and their labels, some at a time."""
    for start in range(0, len(part), BLOCK_ROWS):
        block = part[start : start + BLOCK_ROWS]
        yield rows_for(data, takes_text=False)[block], data.y[block]


REPRESENT_TARGET = f"{run_represent_job.__module__}:{run_represent_job.__name__}"


def represent_data(plan: RepresentationPlan, data: Dataset, parted: Parted) -> Represented:
    """Both parts of a data set as a learner sees them."""
    rows = rows_for(data, plan.takes_text)
    train, test = parted
    if plan.blueprint is None:
        return Represented(as_text_array(rows[train]), as_text_array(rows[test]))
    return represent(plan.blueprint, rows[train], data.y[train], rows[test])


def rows_for(data: Dataset, takes_text: bool) -> Any:
    """What a representation is fitted on: the texts of a data set, or its rows of numbers."""
    rows = data.texts if takes_text else data.X
    assert rows is not None  # a data set that lacks what is taken is refused when trials are planned
    return rows


def represent(blueprint: Blueprint, train: Any, y: Labels, test: Any) -> Represented:
    """Both parts in a representation that is fitted on the training part; sparse rows of float32."""
    clock = Clock()
    transformer = build_estimator(blueprint)  # importing it is not its work
    with clock.running():
        fitted = checked_representation(fit_transform(transformer, train, y))
        applied = checked_representation(transformer.transform(test))
    return Represented(fitted, applied, clock.wall, clock.cpu)


def fit_transform(transformer: Any, rows: Any, y: Labels) -> Any:
    """Fit a representation and give what it makes of these rows, in one go where it knows how."""
    if hasattr(transformer, "fit_transform"):
        return transformer.fit_transform(rows, y)
    return transformer.fit(rows, y).transform(rows)


def as_text_array(texts: Texts) -> Any:
    """Texts as learners take them: an array of Python's own, one a row."""
    return np.array([*texts, None], dtype=object)[:-1]  # else numpy would make a matrix of texts of one length


def checked_representation(rows: Any) -> csr_array:
    """What a representation gave, as sparse rows of float32; ContractError where no learner could take it."""
    try:
        return checked_rows(rows)
    except (DataError, ValueError, TypeError) as error:
        raise ContractError(f"the representation gave what no learner can take: {error}") from error
