"""Parameters by name: of learners, data sets and metrics. Their values are whatever their owners take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Params = Mapping[str, Any]
