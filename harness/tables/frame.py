"""Records -> a pandas data frame, for notebooks: one row a trial, one column a field, one column a metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import pandas as pd

from harness.record import Record


def records_frame(records: Iterable[Record]) -> Any:
    """Every field of the records but the long texts; each metric and each parameter (`param_C`) as its own column."""
    rows = []
    for record in records:
        fields = asdict(record)
        for long in ("traceback", "output", "threads_in_force", "versions", "rescored", "curve", "tuning"):
            del fields[long]
        scores, params = fields.pop("scores"), fields.pop("params")
        rows.append({**fields, **{f"param_{name}": value for name, value in params.items()}, **scores})
    return pd.DataFrame(rows)
