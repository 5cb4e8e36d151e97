"""The table `[budget]` of an experiment file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StrictInt

from harness.experiment.units import parse_duration

Seconds = Annotated[float, PlainValidator(parse_duration)]


FILE_TABLE = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
"""How every table of an experiment file is read."""


class BudgetTable(BaseModel):
    """How much an experiment may take; `harness.budget` has the rules."""

    model_config = FILE_TABLE

    hours: Annotated[float, Field(gt=0)] | None = None
    """For all trials together; no further round begins after that."""
    trials: Annotated[StrictInt, Field(ge=1)]
    """What everybody gets; what the experiment's `trials` has beyond that needs data sets where all are quick."""
    quick_seconds: Annotated[Seconds, Field(alias="quick")] = 60.0
    """What the slowest trial on a data set may take for that."""
