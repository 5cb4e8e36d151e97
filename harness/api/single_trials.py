"""What results tell of single trials: how one failed, and what one ranked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.contract import Labels


@dataclass(frozen=True)
class Failure:
    """A trial that failed, and how."""

    label: str
    dataset: str
    seed: int
    status: str
    message: str
    traceback: str
    output: str


@dataclass(frozen=True)
class Ranked:
    """What a learner ranked for each test row of a trial, beside the truth."""

    rows: Any
    """The test rows, as positions in the data set."""
    truth: Labels
    """Their labels, as class positions."""
    ranks: Any
    """Class positions, best first, -1 pads."""
    class_names: tuple[str, ...]
