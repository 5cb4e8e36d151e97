"""What tuning tries: all candidates are listed before anything runs, so that they are part of a trial's key."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

from harness.errors import SpecError
from harness.experiment.schema import MOST_CANDIDATES, TuneTable
from harness.params import Params
from harness.trials.trial import REPRESENTATION


def list_candidates(label: str, ranges: Params, tuning: TuneTable, seed: int) -> list[dict[str, Any]]:
    """Every combination in the order written, or as many as asked for drawn by chance; never one of them twice.

    The first of those drawn by chance is the learner as it is set up: where time is short, it is not left to luck.
    """
    if tuning.search == "random":
        return _draw(ranges, tuning.candidates or 0, random.Random(seed))
    for name, values in ranges.items():
        if not isinstance(values, list):
            raise SpecError(f"tune: {label}.{name} is a range, which only search = 'random' can draw from: list values")
    total = math.prod(map(len, ranges.values()))
    if total > MOST_CANDIDATES:
        raise SpecError(
            f"tune: {label} has {total:,} combinations, more than {MOST_CANDIDATES:,}: use search = 'random'"
        )
    return [dict(zip(ranges, values, strict=True)) for values in itertools.product(*ranges.values())]


def _draw(ranges: Params, count: int, chance: random.Random) -> list[dict[str, Any]]:
    drawn = [{name: values[0] for name, values in ranges.items() if name == REPRESENTATION}]
    for _ in range(20 * count):  # a small grid may not have as many different ones
        candidate = {name: _value_at(values, chance.random()) for name, values in ranges.items()}
        if len(drawn) == count:
            break
        if candidate not in drawn:
            drawn.append(candidate)
    return drawn


def _value_at(values: Any, share: float) -> Any:
    """The value that lies at this share of a list or of a range; only `random()` is the same with every Python."""
    if isinstance(values, list):
        return values[int(share * len(values))]
    low, high = values["low"], values["high"]
    if values.get("log"):
        value = low * (high / low) ** share
    else:
        value = low + (high - low) * share
    if isinstance(low, int) and isinstance(high, int):
        return round(value)
    return float(f"{value:.4g}")
