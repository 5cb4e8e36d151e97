"""The file of a trial's ranks: plain numpy arrays one behind the other, so that who reads one array reads the ranks.

Behind the ranks stand, where they are known, the places (whole numbers), the scores of the first two classes and the
confidence (both float32, by two columns and by one).
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.trials.outcome import Ranking


def ranking_to_bytes(ranking: Ranking) -> bytes:
    """A ranking as the bytes of a file."""
    buffer = io.BytesIO()
    for array in (ranking.ranks, ranking.places, ranking.scores, ranking.confidence):
        if array is not None:
            np.save(buffer, array)
    return buffer.getvalue()


def ranking_from_bytes(content: bytes, known_depth: int | None) -> Ranking:
    """The ranking that a file holds; ValueError where it holds none."""
    buffer = io.BytesIO(content)
    ranks = _next_array(buffer)
    places = scores = confidence = None
    while buffer.tell() < len(content):
        array = _next_array(buffer)
        if array.dtype.kind != "f":
            places = array
        elif array.ndim == 2:
            scores = array
        else:
            confidence = array
    return Ranking(ranks, places, known_depth, scores, confidence)


def _next_array(buffer: io.BytesIO) -> NDArray[Any]:
    try:
        return np.load(buffer, allow_pickle=False)  # type: ignore[no-any-return]  # numpy says Any: it may be an archive
    except (EOFError, OSError) as error:
        raise ValueError(str(error)) from error
