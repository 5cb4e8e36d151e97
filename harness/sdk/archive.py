"""Models as files: a numpy archive without pickle, with a JSON header that says whose model it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from harness.sdk import zipped

NamedArrays = dict[str, NDArray[Any]]
RecordClass = type[tuple[Any, ...]]
"""The class of a named tuple of arrays."""

MODEL_FORMAT, MODEL_VERSION = "harness model", 2
HEADER = "arr_0"
"""What numpy calls an array without a name."""


def write_model(path: str | PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays under their names; those of Python strings become fixed-width text."""
    text = json.dumps({"format": MODEL_FORMAT, "version": MODEL_VERSION, **header})
    plain: NamedArrays = {}
    objects: list[str] = []
    for name, array in arrays.items():
        plain[name] = array
        if array.dtype.hasobject:
            objects.append(name)
            plain[name] = _as_text(name, array)
    with open(path, "wb") as file:
        zipped.write_arrays(file, {HEADER: np.array([text, *objects]), **plain})


def read_model(path: str | PathLike[str], *, mapped: bool = False) -> tuple[dict[str, Any], NamedArrays]:
    """The header and the arrays; ValueError when the file is damaged or no model.

    Mapped, arrays are read when they are used, and what changes them changes no file; what is damaged inside of them is
    not noticed then, so that is for a file whose checksum was compared.
    """
    arrays: NamedArrays = {}
    with open(path, "rb") as file:
        try:
            if mapped:
                arrays = zipped.map_arrays(file)
            else:
                with np.load(file, allow_pickle=False) as archive:
                    for name in archive.files:
                        arrays[name] = archive[name]
            text, *objects = arrays.pop(HEADER).tolist()
            header = json.loads(text)
            for name in objects:
                arrays[name] = arrays[name].astype(object)
        except Exception as error:  # a damaged file can fail anywhere on the way
            raise ValueError(f"{path}: not a model file, or damaged ({error})") from error
    if not isinstance(header, dict) or header.get("format") != MODEL_FORMAT:
        raise ValueError(f"{path}: not a model file")
    version = header.get("version")
    if version != MODEL_VERSION:
        known = f"this reads {MODEL_VERSION}: train it again"
        raise ValueError(f"{path}: written in version {version} of the format, {known}")
    return header, arrays


def _as_text(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if not all(isinstance(value, str) for value in array.flat):
        raise ValueError(f"{name} holds objects that are not text: only numbers and text can be saved")
    return array.astype(str)


def as_arrays(values: Mapping[str, Any]) -> NamedArrays:
    """Arrays, numbers and named tuples of arrays, all as arrays: field f of a tuple t becomes `t.f`."""
    arrays: NamedArrays = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            for field, array in value._asdict().items():  # type: ignore[attr-defined]  # it is a named tuple
                arrays[f"{name}.{field}"] = array
        else:
            arrays[name] = np.asarray(value)
    return arrays


def as_values(arrays: Mapping[str, NDArray[Any]], records: Mapping[str, RecordClass]) -> dict[str, Any]:
    """The opposite: `records` names the tuples and their classes; what has no dimension is a number again."""
    values: dict[str, Any] = {}
    for name, array in arrays.items():
        if "." not in name:
            values[name] = array if array.ndim else array.item()
    for name, record in records.items():
        fields = record._fields  # type: ignore[attr-defined]  # it is a named tuple
        values[name] = record(*[arrays[f"{name}.{field}"] for field in fields])
    return values


def expect(holds: bool, what: str) -> None:
    """Raise ValueError when something that came from a file does not hold."""
    if not holds:
        raise ValueError(f"{what} does not fit")


def expect_array(array: NDArray[Any], shape: tuple[int, ...], dtype: DTypeLike, name: str) -> None:
    """Raise ValueError when an array that came from a file is not of this shape and type."""
    expect(array.shape == shape and array.dtype == np.dtype(dtype), name)
