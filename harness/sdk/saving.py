"""Files of fitted estimators: numpy archives with a JSON header, without pickle.

The header has the class and the parameters; the arrays hold the fitted attributes. `np.load` reads the archives, and
their arrays can be memory-mapped: a padding field before each member aligns it to 64 bytes, since compiled code takes
no unaligned arrays.
"""

from __future__ import annotations

import json
import math
import os
import struct
import sys
from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from typing import Any, BinaryIO, ClassVar, Self
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from harness.host.discovery import is_plugin_module

NamedArrays = dict[str, NDArray[Any]]
RecordClass = type[tuple[Any, ...]]
"""The class of a named tuple of arrays."""
ALIGNED_BYTES = 64
ENDING = ".npy"
LEARNER_FORMAT, LEARNER_VERSION = "harness learner", 2
HEADER = "arr_0"
"""Name that numpy gives to an array without one."""
PLAIN_TYPES = (bool, int, float, str, type(None))
DAMAGES = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Errors of restoring an estimator from a damaged file."""
_LOCAL_HEADER = struct.Struct("<26x2H")
"""Header of a member; it ends with the lengths of the name and of the field."""
_FIELD_HEAD = struct.Struct("<2H")
_PADDING_KIND = 0xD935
"""Identifier of the padding field, as in Android's zipalign."""
_LARGE_BYTES = 20
"""Bytes that zipfile adds to the field of a member that may exceed 4 GB."""


class Saved:
    """Mixin for estimators that can be saved: all fitted attributes end in `_`.

    They are arrays, numbers, and named tuples of arrays. Override `_fitted` and `_take_up` to save them in another
    form.
    """

    records: ClassVar[Mapping[str, RecordClass]] = {}
    """The classes of the attributes that are named tuples of arrays."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted estimator to a numpy archive without pickle.

        Parameters
        ----------
        path : str or path-like
            File to write. An existing one is overwritten.

        Raises
        ------
        ValueError
            If a parameter or a fitted attribute cannot be saved without pickle.

        Notes
        -----
        An integer seed is saved, a RandomState is not.
        """
        check_is_fitted(self)
        write_model(path, describe(self), as_arrays(self._fitted()))

    @classmethod
    def load(cls, path: str | PathLike[str], *, mapped: bool = False) -> Self:
        """Return the estimator that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            File to read.
        mapped : bool, default=False
            Map the arrays into memory. Use it for files with a verified checksum.

        Returns
        -------
        estimator
            A fitted estimator of this class.

        Raises
        ------
        ValueError
            If the file is damaged, or of another class.
        """
        header, arrays = read_model(path, mapped=mapped)
        if header.get("learner") != class_name(cls):
            raise ValueError(f"{path}: holds a model of {header.get('learner')}, not of {class_name(cls)}")
        try:
            estimator = cls(**parameters_from(header["parameters"]))
            estimator._check_parameters()
            estimator._take_up(as_values(arrays, cls.records))
        except DAMAGES as error:
            raise ValueError(f"{path}: damaged ({error})") from error
        return estimator

    def _check_parameters(self) -> None:
        """Raise ValueError for an invalid parameter."""

    def _fitted(self) -> dict[str, Any]:
        """Return the fitted attributes by name, as they are saved."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def _take_up(self, fitted: dict[str, Any]) -> None:
        """Set the fitted attributes from a file; raise ValueError if they make no valid model."""
        for name, value in fitted.items():
            expect(name.endswith("_") and not name.startswith("_"), name)
            setattr(self, name, value)


def load_saved(cls: type[Any], path: str | PathLike[str]) -> Any:
    """Return an estimator from a file with a verified checksum; mapped if its class supports it.

    Parameters
    ----------
    cls : type
        Class with `load`.
    path : str or path-like
        File to read.

    Returns
    -------
    estimator
        The fitted estimator.
    """
    return cls.load(path, mapped=True) if issubclass(cls, Saved) else cls.load(path)


# -- checks of files -------------------------------------------------------------------------------------------------


def expect(holds: bool, what: str) -> None:
    """Raise ValueError if a condition on the content of a file does not hold.

    Parameters
    ----------
    holds : bool
        The condition.
    what : str
        The name of the value in the error message.

    Raises
    ------
    ValueError
        If `holds` is False.
    """
    if not holds:
        raise ValueError(f"{what} does not fit")


def expect_array(array: NDArray[Any], shape: tuple[int, ...], dtype: DTypeLike, name: str) -> None:
    """Raise ValueError if an array from a file does not have this shape and type.

    Parameters
    ----------
    array : ndarray
        Array from the file.
    shape : tuple of int
        Expected shape.
    dtype : dtype-like
        Expected type.
    name : str
        Name of the array in the message.
    """
    expect(array.shape == shape and array.dtype == np.dtype(dtype), name)


# -- models as archives with a header --------------------------------------------------------------------------------


def write_model(path: str | PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a header and arrays to a model file.

    Parameters
    ----------
    path : str or path-like
        File to write.
    header : mapping
        JSON values: the class, the parameters, and the format.
    arrays : mapping of str to ndarray
        Arrays by name. Arrays of Python strings become fixed-width text.
    """
    text = json.dumps({"format": LEARNER_FORMAT, "version": LEARNER_VERSION, **header})
    plain: NamedArrays = {}
    objects: list[str] = []
    for name, array in arrays.items():
        plain[name] = array
        if array.dtype.hasobject:
            objects.append(name)
            plain[name] = _as_text(name, array)
    with open(path, "wb") as file:
        write_arrays(file, {HEADER: np.array([text, *objects]), **plain})


def read_model(path: str | PathLike[str], *, mapped: bool = False) -> tuple[dict[str, Any], NamedArrays]:
    """Return the header and the arrays of a model file.

    Mapped arrays are read when they are used, and changes do not reach the file. Damage inside of them is not noticed:
    verify the checksum of the file before.

    Parameters
    ----------
    path : str or path-like
        File to read.
    mapped : bool, default=False
        Map the arrays into memory.

    Returns
    -------
    header : dict
        JSON values.
    arrays : dict of str to ndarray
        Arrays by name.

    Raises
    ------
    ValueError
        If the file is damaged, or no model.
    """
    arrays: NamedArrays = {}
    with open(path, "rb") as file:
        try:
            if mapped:
                arrays = map_arrays(file)
            else:
                _check_sizes(file)
                with np.load(file, allow_pickle=False) as archive:
                    for name in archive.files:
                        arrays[name] = archive[name]
            text, *objects = arrays.pop(HEADER).tolist()
            header = json.loads(text)
            for name in objects:
                arrays[name] = arrays[name].astype(object)
        except Exception as error:  # a damaged file can raise anything
            raise ValueError(f"{path}: not a model file, or damaged ({error})") from error
    if not isinstance(header, dict) or header.get("format") != LEARNER_FORMAT:
        raise ValueError(f"{path}: not a model file")
    version = header.get("version")
    if version != LEARNER_VERSION:
        known = f"this reads {LEARNER_VERSION}: train it again"
        raise ValueError(f"{path}: written in version {version} of the format, {known}")
    return header, arrays


def as_arrays(values: Mapping[str, Any]) -> NamedArrays:
    """Return arrays, numbers and named tuples of arrays as arrays: field f of a tuple t becomes `t.f`.

    Parameters
    ----------
    values : mapping of str to object
        Fitted attributes by name.

    Returns
    -------
    dict of str to ndarray
        Arrays by name.
    """
    arrays: NamedArrays = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            for field, array in value._asdict().items():  # type: ignore[attr-defined]  # it is a named tuple
                arrays[f"{name}.{field}"] = array
        else:
            arrays[name] = np.asarray(value)
    return arrays


def as_values(arrays: Mapping[str, NDArray[Any]], records: Mapping[str, RecordClass]) -> dict[str, Any]:
    """Return the values that `as_arrays` was given.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Arrays by name; those of a named tuple have names such as `t.f`.
    records : mapping of str to RecordClass
        The class of each named tuple, by name.

    Returns
    -------
    dict of str to object
        Values by name. A named tuple that the file lacks is left out.
    """
    values: dict[str, Any] = {}
    for name, array in arrays.items():
        if "." not in name:
            values[name] = array if array.ndim else array.item()
    for name, record in records.items():
        fields = record._fields  # type: ignore[attr-defined]  # it is a named tuple
        if f"{name}.{fields[0]}" in arrays:
            values[name] = record(*[arrays[f"{name}.{field}"] for field in fields])
    return values


def _as_text(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if not all(isinstance(value, str) for value in array.flat):
        raise ValueError(f"{name} holds objects that are not text: only numbers and text can be saved")
    return array.astype(str)


# -- descriptions of learners ----------------------------------------------------------------------------------------


def describe(learner: BaseEstimator) -> dict[str, Any]:
    """Return class and parameters of a learner, and of learners among its parameters, as JSON values.

    A RandomState among the parameters is dropped.

    Parameters
    ----------
    learner : BaseEstimator
        The learner, fitted or not.

    Returns
    -------
    dict of str to object
        `learner` names the class, `parameters` has the parameters by name.

    Raises
    ------
    ValueError
        If a parameter has no form in JSON.
    """
    parameters = {}
    for name, value in learner.get_params(deep=False).items():
        try:
            parameters[name] = _in_words(value)
        except TypeError as error:
            raise ValueError(f"{name}={value!r} cannot be saved: {error}") from error
    return {"learner": class_name(type(learner)), "parameters": parameters}


def learner_from(described: Mapping[str, Any]) -> Any:
    """Return an unfitted learner from its description.

    Parameters
    ----------
    described : mapping
        Class and parameters, as returned by `describe`.

    Returns
    -------
    estimator
        The learner.

    Raises
    ------
    ValueError
        If the class is not available.
    """
    return class_named(described["learner"])(**parameters_from(described["parameters"]))


def parameters_from(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters from their description.

    Parameters
    ----------
    described : mapping
        The `parameters` of `describe`.

    Returns
    -------
    dict of str to object
        Parameters by name.
    """
    return {name: _out_of_words(value) for name, value in described.items()}


def class_name(kind: type) -> str:
    """Return the name of a class in files.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    str
        "module:Class".
    """
    return f"{kind.__module__}:{kind.__qualname__}"


def class_named(name: str, *, is_trusted: bool = False) -> Any:
    """Return the estimator class that a file names.

    A file cannot import arbitrary modules: only modules of plugins are imported, and modules that are loaded are used.

    Parameters
    ----------
    name : str
        "module:Class".
    is_trusted : bool, default=False
        Whether to import a module of no plugin as well.

    Returns
    -------
    type
        The class.

    Raises
    ------
    ValueError
        If the module may not be imported, or if the name is not that of a scikit-learn estimator.
    """
    module, _, attribute = name.partition(":")
    if not (is_trusted or module in sys.modules or is_plugin_module(module)):
        raise ValueError(f"{name} belongs to no plugin: import {module} first if you trust it")
    kind: Any = import_module(module)
    for part in attribute.split("."):
        kind = getattr(kind, part)
    if not (isinstance(kind, type) and issubclass(kind, BaseEstimator)):
        raise ValueError(f"{name} is not an estimator")
    return kind


def _in_words(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, PLAIN_TYPES):
        return value
    if isinstance(value, list):
        return [_in_words(one) for one in value]
    if isinstance(value, tuple):  # JSON has no tuples
        return {"tuple": [_in_words(one) for one in value]}
    if isinstance(value, BaseEstimator):
        return describe(value)
    if isinstance(value, np.random.RandomState):
        return None  # a seed is saved, a generator is not
    raise TypeError(f"{type(value).__name__} is neither a number, text, a list or tuple of such, nor a learner")


def _out_of_words(value: Any) -> Any:
    if isinstance(value, list):
        return [_out_of_words(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(_out_of_words(value["tuple"]))
    return learner_from(value)


# -- aligned archives ------------------------------------------------------------------------------------------------


def write_arrays(file: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an aligned archive; none may hold objects.

    Parameters
    ----------
    file : BinaryIO
        The open file to write to.
    arrays : mapping of str to ndarray
        Arrays by name; none may hold objects.
    """
    with ZipFile(file, "w", ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = ZipInfo(name + ENDING)
            member.extra = _padding(file.tell() + _LOCAL_HEADER.size + len(member.filename.encode()) + _LARGE_BYTES)
            with archive.open(member, "w", force_zip64=True) as stream:
                npy.write_array(stream, array, allow_pickle=False)


def map_arrays(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Return the arrays of an uncompressed archive, mapped copy-on-write.

    Unaligned arrays, as in archives by `np.savez`, are read into memory.

    Parameters
    ----------
    file : binary file
        Open archive, which may be closed afterwards.

    Returns
    -------
    dict of str to ndarray
        Arrays by name.
    """
    with ZipFile(file) as archive:
        members = archive.infolist()
    return {member.filename.removesuffix(ENDING): _map(file, member) for member in members}


def _padding(place: int) -> bytes:
    """Return the padding field that aligns a member at this position."""
    rest = -(place + _FIELD_HEAD.size) % ALIGNED_BYTES
    return _FIELD_HEAD.pack(_PADDING_KIND, rest) + bytes(rest)


def _check_sizes(file: BinaryIO) -> None:
    """Raise ValueError if an array claims more bytes than the archive has for it, before memory is allocated."""
    with ZipFile(file) as archive:
        members = archive.infolist()
    for member in members:
        _read_header(file, member)
    file.seek(0)


def _read_header(file: BinaryIO, member: ZipInfo) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array, and leave the file at its first byte.

    Raises
    ------
    ValueError
        If the member is compressed, or if shape and type do not have the size of the member.
    """
    if member.compress_type != ZIP_STORED:
        raise ValueError(f"{member.filename} is compressed")
    file.seek(member.header_offset)
    lengths = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    file.seek(sum(lengths), os.SEEK_CUR)
    start = file.tell()
    if npy.read_magic(file) == (1, 0):
        shape, by_column, dtype = npy.read_array_header_1_0(file)
    else:
        shape, by_column, dtype = npy.read_array_header_2_0(file)
    if dtype.hasobject:
        raise ValueError(f"{member.filename} has objects")
    has_bytes = member.file_size - (file.tell() - start)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != has_bytes:
        raise ValueError(f"{member.filename} has {has_bytes:,} bytes, expected those of shape {shape}")
    return shape, by_column, dtype


def _map(file: BinaryIO, member: ZipInfo) -> NDArray[Any]:
    shape, by_column, dtype = _read_header(file, member)
    if not math.prod(shape):  # an empty array cannot be mapped
        return np.empty(shape, dtype)
    mapped = np.memmap(file, dtype, "c", file.tell(), shape, "F" if by_column else "C")
    array: NDArray[Any] = mapped.view(np.ndarray)
    return array if array.flags.aligned else array.copy()
