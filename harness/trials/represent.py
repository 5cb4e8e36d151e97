"""Representations: texts or counts to what a learner sees. Whatever is fitted is fitted on the training part alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.contract import Dataset, Labels
from harness.data.checking import checked_rows
from harness.errors import ContractError, DataError
from harness.sdk.texts import Texts
from harness.trials.blueprint import Blueprint, build_estimator


@dataclass(frozen=True)
class Represented:
    """Both parts of a trial as its learner sees them."""

    train: Any
    test: Any


def rows_for(data: Dataset, takes_text: bool) -> Texts | csr_array:
    """What a representation is fitted on: the texts of a data set, or its rows of numbers."""
    rows = data.texts if takes_text else data.X
    assert rows is not None  # a data set that lacks what is taken is refused when trials are planned
    return rows


def represent(blueprint: Blueprint, train: Any, y: Labels, test: Any) -> Represented:
    """Both parts in a representation that is fitted on the training part; sparse rows of float32."""
    transformer = build_estimator(blueprint)
    return Represented(
        checked_representation(fit_transform(transformer, train, y)),
        checked_representation(transformer.transform(test)),
    )


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
