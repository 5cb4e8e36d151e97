"""Training rows that a model keeps, to show those that are nearest to a text.

They are stored in one archive without pickle: the texts as UTF-8, the classes, and the rows as the representation
returned them. The archive is mapped into memory when the model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from harness.errors import ModelError
from harness.host.contract import Labels
from harness.sdk.saving import expect, expect_array, map_arrays, write_arrays
from harness.sdk.texts import Texts

KEPT_FILE = "rows.npz"


@dataclass(frozen=True)
class KeptRows:
    """The training rows of a model: texts, classes and represented rows."""

    texts: Texts
    label_starts: NDArray[np.int64]
    labels: NDArray[np.int32]
    """Class positions: those of row r are `labels[label_starts[r]:label_starts[r + 1]]`."""
    rows: csr_array

    def nearest(self, row: Any) -> Iterator[tuple[int, float]]:
        """Yield the rows with a cosine above 0 to a represented row, and the cosine, the largest first."""
        query = np.asarray(csr_array(row).toarray(), dtype=np.float64).ravel()
        products = np.asarray(self.rows @ query)
        norms = np.sqrt(np.asarray(self.rows.power(2).sum(axis=1)).ravel() * (query @ query))
        cosines = np.divide(products, norms, out=np.zeros(norms.size), where=norms > 0)
        near = np.flatnonzero(cosines > 0)
        for number in near[np.argsort(-cosines[near], kind="stable")].tolist():
            yield number, float(cosines[number])

    def classes_of(self, row: int) -> list[int]:
        """Return the class positions of a row."""
        positions: list[int] = self.labels[self.label_starts[row] : self.label_starts[row + 1]].tolist()
        return positions


def as_kept(texts: Texts, y: Labels, rows: Any) -> KeptRows:
    """Return training rows to keep.

    Parameters
    ----------
    texts : Texts
        The texts.
    y : Labels
        Class positions, or an indicator matrix for several labels a row.
    rows : object
        The texts as the representation returned them.
    """
    kept = csr_array(rows).astype(np.float32)
    if issparse(y):
        indicator = csr_array(y)
        return KeptRows(texts, indicator.indptr.astype(np.int64), indicator.indices.astype(np.int32), kept)
    labels = np.asarray(y, dtype=np.int32)
    return KeptRows(texts, np.arange(labels.size + 1, dtype=np.int64), labels, kept)


def add_rows(kept: KeptRows, texts: Sequence[str], y: Labels, transform: Callable[[Any], Any]) -> KeptRows:
    """Return kept rows and further ones, all as the representation of an updated model returns them.

    Parameters
    ----------
    kept : KeptRows
        The rows of the former model, whose class positions are still valid.
    texts : sequence of str
        The new texts.
    y : Labels
        Their class positions, or an indicator matrix for several labels a row.
    transform : callable
        The fitted representation of the updated model.
    """
    every = Texts.of([*kept.texts, *texts])
    rows = csr_array(transform(every)).astype(np.float32)
    added = as_kept(Texts.of(texts), y, rows[len(kept.texts) :])
    starts = np.concatenate([kept.label_starts, kept.label_starts[-1] + added.label_starts[1:]])
    return KeptRows(every, starts, np.concatenate([kept.labels, added.labels]), rows)


def write_kept(kept: KeptRows, folder: Path) -> None:
    """Write kept rows to the folder of a model."""
    arrays = {
        "content": kept.texts.content,
        "bounds": kept.texts.bounds,
        "label_starts": kept.label_starts,
        "labels": kept.labels,
        "data": kept.rows.data,
        "indices": kept.rows.indices.astype(np.int64),
        "starts": kept.rows.indptr.astype(np.int64),
        "features": np.array([kept.rows.shape[1]]),
    }
    with (folder / KEPT_FILE).open("wb") as file:
        write_arrays(file, arrays)


def read_kept(folder: Path, n_classes: int) -> KeptRows:
    """Return the kept rows of a model, whose checksum is already verified.

    Raises
    ------
    ModelError
        If the arrays do not fit together.
    """
    try:
        with (folder / KEPT_FILE).open("rb") as file:
            return _restored(map_arrays(file), n_classes)
    except Exception as error:  # a damaged archive can raise any error
        raise ModelError(f"{KEPT_FILE} cannot be read: {error}", culprit=f"model {folder}") from error


def _restored(arrays: dict[str, NDArray[Any]], n_classes: int) -> KeptRows:
    texts = Texts(arrays["content"], arrays["bounds"])
    n_rows, n_features = len(texts), int(arrays["features"][0])
    expect_array(texts.content, texts.content.shape, np.uint8, "content")
    for name, size, limit in (
        ("bounds", texts.content.size, None),
        ("label_starts", arrays["labels"].size, None),
        ("starts", arrays["indices"].size, None),
        ("labels", arrays["labels"].size, n_classes),
        ("indices", arrays["data"].size, n_features),
    ):
        values = arrays[name]
        expect(values.ndim == 1 and values.dtype.kind == "i", name)
        if limit is None:
            expect(values.size == n_rows + 1 and _ascends(values, size), name)
        else:
            expect(values.size == size and (not size or (values.min() >= 0 and values.max() < limit)), name)
    expect_array(arrays["data"], arrays["data"].shape, np.float32, "data")
    rows = csr_array((arrays["data"], arrays["indices"], arrays["starts"]), shape=(n_rows, n_features))
    return KeptRows(texts, arrays["label_starts"], arrays["labels"], rows)


def _ascends(starts: NDArray[Any], end: int) -> bool:
    return bool(starts[0] == 0 and starts[-1] == end and (np.diff(starts) >= 0).all())
