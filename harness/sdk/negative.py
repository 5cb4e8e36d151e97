"""What a learner leaves out of the data is said, once a fit."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning


def warn_of_negative(rows: csr_array, learner: object) -> None:
    """Say how many values are ignored because they are negative, and what share of those that are not 0 they are; for
    `fit`, in the name of who called that.
    """
    ignored = np.count_nonzero(rows.data < 0)
    if ignored:
        share = ignored / np.count_nonzero(rows.data)
        warnings.warn(
            f"{type(learner).__name__} ignores {ignored:,} negative values in X, {share:.1%} of those that are not 0: "
            "scale the features to 0 and above",
            DataConversionWarning,
            stacklevel=3,
        )
