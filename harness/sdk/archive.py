"""Models as files: a numpy archive without pickle, with a JSON header that says whose model it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT, VERSION = "harness model", 1
HEADER = "arr_0"
"""What numpy calls an array without a name."""


def write(path: str | PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays under their names; those of Python strings become fixed-width text."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **header})
    objects = [name for name, array in arrays.items() if array.dtype.hasobject]
    for name in objects:
        if not all(isinstance(value, str) for value in arrays[name].flat):
            raise ValueError(f"{name} holds objects that are not text: only numbers and text can be saved")
    plain = {name: array.astype(str) if name in objects else array for name, array in arrays.items()}
    with open(path, "wb") as file:  # a file, so that numpy adds no ending to the name
        np.savez(file, np.array([text, *objects]), **plain)  # type: ignore[arg-type]  # none is called allow_pickle


def read(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays; ValueError when the file is damaged or no model."""
    with open(path, "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            text, *objects = arrays.pop(HEADER).tolist()
            header = json.loads(text)
            arrays |= {name: arrays[name].astype(object) for name in objects}
        except Exception as error:  # a damaged file can fail anywhere on the way
            raise ValueError(f"{path}: not a model file, or damaged ({error})") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{path}: not a model file")
    if header.get("version") != VERSION:
        raise ValueError(f"{path}: written in version {header.get('version')} of the format, this reads {VERSION}")
    return header, arrays
