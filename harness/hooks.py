"""The five hooks of a plugin. They register things by name; no learner ever runs inside one."""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from harness.contract import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, RepresentationSpec

PROJECT = "harness"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def harness_learners() -> Iterable[LearnerSpec]:
    """The learners that this plugin brings."""
    raise NotImplementedError


@hookspec
def harness_datasets() -> Iterable[DatasetSpec]:
    """The data sets that this plugin brings."""
    raise NotImplementedError


@hookspec
def harness_metrics() -> Iterable[MetricSpec]:
    """The metrics that this plugin brings."""
    raise NotImplementedError


@hookspec
def harness_experiments() -> Iterable[ExperimentSpec]:
    """The ready-made experiments that this plugin brings."""
    raise NotImplementedError


@hookspec
def harness_representations() -> Iterable[RepresentationSpec]:
    """The representations that this plugin brings."""
    raise NotImplementedError
