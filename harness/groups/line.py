"""A line: the trials of one learner, as set up, on one data set, as prepared.

A row of a table, a bar, a curve and a point of a figure each stand for a line.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from harness.groups.set_ups import SetUp
from harness.stats import Summary, summarise

if TYPE_CHECKING:
    from harness.record import CurvePoint, Record
    from harness.split import Split


@dataclass(frozen=True)
class Prepared:
    """A data set as prepared: its content, and how its rows are parted."""

    dataset: str
    fingerprint: str
    split: Split


@dataclass(frozen=True)
class Line:
    """Trials that differ by chance alone: what is averaged, and nothing else ever is."""

    title: str
    """The label; where that stands for several set-ups, with what tells them apart. No two on a data set share one."""
    name: str
    """The title less what the learner sees of the data, for who tells that apart otherwise."""
    detail: str
    """The data set as prepared, in words."""
    set_up: SetUp
    prepared: Prepared
    records: tuple[Record, ...]
    """One for each seed, in their order; there is at least one."""

    @property
    def label(self) -> str:
        return self.records[0].label

    @property
    def family(self) -> str:
        return self.records[0].family

    @property
    def representation(self) -> str:
        """What the learner sees of the data."""
        return self.set_up.representation

    @property
    def preparation(self) -> str:
        """How the data was prepared for it, in words."""
        return f"{self.representation}, {self.prepared.split}"

    @property
    def params(self) -> Mapping[str, Any]:
        return self.set_up.params

    @property
    def kind(self) -> str:
        return self.records[0].learner_kind

    @property
    def dataset(self) -> str:
        return self.prepared.dataset

    @property
    def dataset_family(self) -> str:
        return self.records[0].dataset_family

    @cached_property
    def finished(self) -> tuple[Record, ...]:
        """The trials that did not fail."""
        return tuple(record for record in self.records if record.status == "ok")

    def values(self, metric: str) -> dict[int, float]:
        """A metric's value in each finished trial, by the trial's seed: trials with one seed are paired."""
        found = {}
        for record in self.finished:
            value = record.scores.get(metric)
            if value is not None and math.isfinite(value):
                found[record.seed] = value
        return found

    def summary(self, metric: str, seeds: Collection[int] | None = None) -> Summary | None:
        """Mean and spread of a metric over the trials, or over those with some seeds; None where none has a value."""
        values = self.values(metric)
        if seeds is not None:
            values = {seed: value for seed, value in values.items() if seed in seeds}
        return summarise(list(values.values()))

    @property
    def curve_points(self) -> list[CurvePoint]:
        """What was measured after each pass, of all finished trials."""
        points: list[CurvePoint] = []
        for record in self.finished:
            points += record.curve
        return points
