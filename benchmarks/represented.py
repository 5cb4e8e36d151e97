"""Rows as learners see them: a representation fitted on training rows, as a trial of `harness run` has it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.catalog import Catalog
from harness.contract import Dataset
from harness.data.arrays import header_of
from harness.data.checking import checked
from harness.experiment.representations import find_representation, plan_representation
from harness.host import discover
from harness.trials.represent import represent_data


def represented(data: Dataset, name: str, train: np.ndarray, test: np.ndarray) -> tuple[csr_array, csr_array]:
    """The training and the test rows of a data set in a representation."""
    sound = checked("data", data)
    counting = find_representation(sound.counting, catalog()) if sound.counting else None
    plan = plan_representation(find_representation(name, catalog()), header_of(sound, ""), counting)
    seen: Any = represent_data(plan, sound, (train, test))
    return seen.train, seen.test


@cache
def catalog() -> Catalog:
    """What the installed plugins bring."""
    return discover()
