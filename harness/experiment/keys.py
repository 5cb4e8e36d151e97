"""The key of a trial: the hash of all that decides its result, and of nothing else."""

from __future__ import annotations

import hashlib
from typing import Any

from harness.experiment.parameters import as_declared
from harness.experiment.resolve import ResolvedLearner
from harness.params import Params
from harness.signature import read_floats
from harness.trials.trial import TuningPlan


def identity_of(learner: ResolvedLearner, params: Params) -> dict[str, Any]:
    """What tells one learner, as set up, from another: its code and all its parameters, the learner inside included."""
    spec, origin, wrapped = learner.entry.spec, learner.entry.origin, learner.wrapped_with(params)
    whole = {**learner.defaults, **params}
    if wrapped is not None:
        whole[spec.wraps] = identity_of(wrapped, wrapped.ref.params)
    return {
        "learner": spec.name,
        "load": spec.load,
        "distribution": origin.distribution,
        "version": origin.version,
        "code": learner.code,
        "params": as_declared(whole, read_floats(spec.load)),
    }


def code_behind(learner: ResolvedLearner, params: Params) -> str:
    """The digests of all code that a trial runs: the learner's, and those of the learners inside it."""
    return "+".join(dict.fromkeys(each.code for each in learner.chain_with(params)))


def decisive_tuning(tuning: TuningPlan) -> dict[str, Any]:
    """What of a search for parameters decides its outcome."""
    return {
        "split": str(tuning.split),
        "metric": tuning.judge.name,
        "compute": tuning.judge.compute,
        "parameters": dict(tuning.judge.params),
        "direction": tuning.direction,
        "candidates": list(tuning.candidates),
        "seconds": tuning.seconds,
    }


def key_of(decisive: Params) -> str:
    """A short hash of the values as Python writes them, dictionaries in order: what differs is written differently."""
    return hashlib.sha256(written(decisive).encode()).hexdigest()[:20]


def written(value: Any) -> str:
    """A value as Python writes it, but for the order of dictionaries."""
    if isinstance(value, dict):
        items = [f"{key!r}: {written(item)}" for key, item in value.items()]
        return "{" + ", ".join(sorted(items)) + "}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(written, value))})"
    return repr(value)
