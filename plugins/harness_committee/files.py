"""The learners inside of a wrapper as arrays: what they write themselves by their own `save`, byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.sdk.archive import NamedArrays
from harness.sdk.description import class_name, class_named

MODEL_KINDS = "model_kinds_"


def pack_models(models: Sequence[Any]) -> NamedArrays:
    """The class of each model, and the file that it writes; ValueError for one that writes none."""
    arrays: NamedArrays = {MODEL_KINDS: np.array([class_name(type(model)) for model in models])}
    for number, model in enumerate(models):
        arrays[_place(number)] = _write(model)
    return arrays


def unpack_models(arrays: dict[str, Any]) -> list[Any]:
    """The models, taken out of what a file holds; ValueError for one whose class is not at hand."""
    kinds = arrays.pop(MODEL_KINDS)
    return [_read(name, arrays.pop(_place(number))) for number, name in enumerate(kinds.tolist())]


def _place(number: int) -> str:
    return f"model_{number}_"


def _write(model: Any) -> NDArray[np.uint8]:
    if not (hasattr(model, "save") and hasattr(model, "load")):
        raise ValueError(f"{type(model).__name__} has no save and load: it cannot be kept without pickle")
    with TemporaryDirectory() as folder:
        file = Path(folder, "model")
        model.save(file)
        return np.frombuffer(file.read_bytes(), np.uint8)


def _read(name: str, content: NDArray[np.uint8]) -> Any:
    with TemporaryDirectory() as folder:
        file = Path(folder, "model")
        file.write_bytes(content.tobytes())
        return class_named(name).load(file)
