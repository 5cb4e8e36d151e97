"""What trials answered, from their saved ranks, the scores beside them, and the truth in the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import issparse

from harness.api.preparing import preparer
from harness.contract import Outcome
from harness.figures.answers import Answers, ReadAnswers
from harness.record import Record
from harness.rescore import dataset_opener, ranks_of, rebuild_outcome
from harness.sdk.by_class import by_class
from harness.sdk.selective import RiskCurve, gaps_of, risk_curve
from harness.trials.outcome import first_is_true

if TYPE_CHECKING:
    from harness.api.results import Results


def answer_reader(results: Results) -> ReadAnswers:
    """Reads the answers of a record of these results, each record's and each data set's once."""
    open_for = dataset_opener(results.session.catalog, preparer(results.session))
    kept: dict[str, Answers] = {}

    def read_answers(record: Record) -> Answers:
        if record.key not in kept:
            ranking = ranks_of(results.folder_of[record.key], record)
            data = open_for(record)
            outcome = rebuild_outcome(record, data, ranking)
            kept[record.key] = Answers(_risk_of(outcome), by_class(outcome, tuple(data.class_names)))
        return kept[record.key]

    return read_answers


def _risk_of(outcome: Outcome) -> RiskCurve | None:
    if outcome.scores is None:
        return None
    truth = outcome.truth
    labelled = np.diff(truth.indptr) > 0 if issparse(truth) else truth >= 0
    if not labelled.any():
        return None
    wrong = ~first_is_true(outcome.ranks, truth)
    gaps = gaps_of(outcome.ranks, outcome.scores)
    return risk_curve(gaps[labelled], wrong[labelled])
