"""Parameters by name: of learners, data sets and metrics. Their values are whatever their owners take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Params = Mapping[str, Any]


def describe_params(params: Params) -> str:
    """Parameters in words that are the same whatever the order in which they were given."""
    parts = [f"{name}={value!r}" for name, value in sorted(params.items())]
    return ", ".join(parts) or "defaults"
