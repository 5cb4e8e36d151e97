"""What is in data, before anything is compared on it: `harness data info` in Python."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from harness.api.given_data import describe_data
from harness.api.preparing import preparer
from harness.api.session import make_session
from harness.data.arrays import open_dataset
from harness.data.profile import DataProfile, profile_of
from harness.errors import SpecError
from harness.experiment.dataset_ref import parse_dataset
from harness.experiment.resolve import resolve_dataset

__all__ = ["DataProfile", "profile_data"]


def profile_data(
    data: Any,
    *,
    text: str | None = None,
    label: str | None = None,
    plugins_dirs: Iterable[str | PathLike[str]] = (),
    disabled_plugins: Iterable[str] = (),
) -> DataProfile:
    """Counts of rows, classes, repeated texts and lengths; `data` is one of what `harness.run` takes."""
    session = make_session(plugins_dirs, disabled_plugins)
    described = describe_data(data, text=text, label=label)
    names = [described] if isinstance(described, str) else described
    if len(names) != 1:
        raise SpecError(f"one data set is profiled at a time, and {len(names)} were given: {', '.join(names)}")
    header = preparer(session)(resolve_dataset(parse_dataset(names[0]), session.catalog))
    return profile_of(open_dataset(Path(header.folder)))
