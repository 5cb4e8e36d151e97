"""What a learner leaves out of the data is said, once a fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning


def warn_of_negative(X: Any, learner: object) -> None:
    """Say how many values are ignored because they are negative; for `_validated`, in the name of who called `fit`."""
    values = X.data if issparse(X) else X
    ignored = np.count_nonzero(values < 0)
    if ignored:
        warnings.warn(
            f"{type(learner).__name__} ignores {ignored:,} negative values in X: scale the features to 0 and above",
            DataConversionWarning,
            stacklevel=4,
        )
