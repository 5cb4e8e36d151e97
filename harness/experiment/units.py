"""Times and sizes as people write them: 90s, 10m, 4GB, 2GiB."""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.wording import in_a_line

SMALLEST_MEMORY = 16 * 10**6
"""Bytes: less than an interpreter with numpy takes."""
MOST = 1e18
"""Seconds or bytes: what no machine has."""
_DURATIONS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_SIZES = {
    "b": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}


def parse_duration(value: object) -> float:
    """Seconds from a number or from a text such as 90s, 10m, 1.5h."""
    return _with_unit(value, _DURATIONS, "s", "a time such as 90s, 10m or 2h")


def parse_size(value: object) -> int:
    """Bytes from a number or from a text such as 512MB, 4GB, 2GiB."""
    return int(_with_unit(value, _SIZES, "b", "a size such as 512MB, 4GB or 2GiB"))


def parse_memory(value: object) -> int:
    """Bytes of a memory limit; one that no trial could start under is a unit forgotten."""
    size = parse_size(value)
    if size < SMALLEST_MEMORY:
        raise ValueError(
            f"{value!r} is a limit of {size:,} bytes, under which no trial can start: expected at least "
            f"{SMALLEST_MEMORY // 10**6}MB, with its unit, such as 512MB or 4GB"
        )
    return size


def _with_unit(value: object, units: Mapping[str, float], bare: str, expected: str) -> float:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(value))
    if match is None:
        raise ValueError(f"{in_a_line(repr(value), 100)} is not {expected}")
    number, unit = float(match[1]), match[2].lower() or bare
    whole = number * units.get(unit, 0)
    if not 0 < whole < MOST:
        raise ValueError(f"{in_a_line(repr(value), 100)} is not {expected}")
    return whole
