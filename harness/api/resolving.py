"""An experiment as it was asked for, with every name in it looked up."""

from __future__ import annotations

from harness.api.request import RawExperiment
from harness.api.session import Session
from harness.experiment.building import build
from harness.experiment.pairs import check_size
from harness.experiment.resolve import Resolved, resolve


def read_experiment(raw: RawExperiment, session: Session) -> Resolved:
    """An experiment with every name looked up, before any work."""
    resolved = resolve(build(raw.table, raw.source, session.catalog), session.catalog)
    check_size(resolved)
    return resolved
