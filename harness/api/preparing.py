"""Data sets that the data home lacks, read when they are needed: most calls need none."""

from __future__ import annotations

from collections.abc import Callable

from harness.api.session import Session
from harness.data.arrays import Header
from harness.executors import loading_executor
from harness.experiment.resolve import ResolvedDataset
from harness.runner import prepare_dataset


def preparer(session: Session) -> Callable[[ResolvedDataset], Header]:
    """Reads a data set in a process of its own, with the session's plugins at hand."""

    def prepare(dataset: ResolvedDataset) -> Header:
        with loading_executor(session.folders) as executor:
            return prepare_dataset(dataset, executor)

    return prepare
