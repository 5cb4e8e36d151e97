"""Labels as the kernels want them: from one label a row, or an indicator matrix, to positions in `classes_`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.multiclass import is_multilabel

from harness.sdk.kernels.arrays import frozen
from harness.sdk.kernels.instances import Labels


def has_several(y: Any) -> bool:
    """Whether y is an indicator matrix, rows x classes, rather than one label a row."""
    return issparse(y) or (y is not None and bool(is_multilabel(y)))


def name_labels(y: Any) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """Where each row's labels begin, the labels, and all classes that y names, sorted; those of an indicator matrix are
    the numbers of its columns."""
    if not has_several(y):
        return np.arange(y.size + 1, dtype=np.int64), y, np.unique(y)
    indicator = csr_array(y, copy=True)
    indicator.sum_duplicates()
    indicator.eliminate_zeros()
    return indicator.indptr.astype(np.int64), indicator.indices.astype(np.int64), np.arange(indicator.shape[1])


def extend(classes: NDArray[Any], found: NDArray[Any]) -> NDArray[Any]:
    """The classes with those found that are new behind them, so that no class changes its position."""
    if _is_text(classes) != _is_text(found):
        raise ValueError(f"new classes {found[:3].tolist()} are of another kind than {classes[:3].tolist()}")
    new = np.setdiff1d(found, classes)
    return np.concatenate([classes, new]) if new.size else classes


def as_labels(starts: NDArray[np.int64], labels: NDArray[Any], classes: NDArray[Any]) -> Labels:
    """The labels as positions in `classes`, whatever the order of these."""
    by_name = np.argsort(classes, kind="stable")
    places = np.searchsorted(classes, labels, sorter=by_name)
    return Labels(frozen(starts, np.int64), frozen(by_name[places], np.int32))


def _is_text(classes: NDArray[Any]) -> bool:
    return classes.dtype.kind in "OSUT"
