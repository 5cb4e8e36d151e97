"""The risk of a trial by coverage, from its saved ranks, the scores beside them, and the truth in the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import issparse

from harness.api.preparing import preparer
from harness.figures.coverage import ReadRisk
from harness.record import Record
from harness.rescore import dataset_opener, ranks_of, rebuild_outcome
from harness.sdk.selective import RiskCurve, gaps_of, risk_curve
from harness.trials.outcome import first_is_true

if TYPE_CHECKING:
    from harness.api.results import Results


def risk_reader(results: Results) -> ReadRisk:
    """Reads the curve of a record of these results; the data of each is opened once."""
    open_for = dataset_opener(results.session.catalog, preparer(results.session))

    def read_risk(record: Record) -> RiskCurve | None:
        ranking = ranks_of(results.folder_of[record.key], record)
        if ranking.scores is None:
            return None
        truth = rebuild_outcome(record, open_for(record), ranking).truth
        labelled = np.diff(truth.indptr) > 0 if issparse(truth) else truth >= 0
        wrong = ~first_is_true(ranking.ranks, truth)
        gaps = gaps_of(ranking.ranks, ranking.scores)
        return risk_curve(gaps[labelled], wrong[labelled]) if labelled.any() else None

    return read_risk
