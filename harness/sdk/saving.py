"""Fitted estimators as files: parameters in words, what was learned as arrays, and back. Nothing is pickled."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from harness.sdk import archive
from harness.sdk.description import class_name, describe, parameters_from

DAMAGES = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What restoring an estimator from a damaged file may end in."""


def load_saved(cls: type[Any], path: str | PathLike[str]) -> Any:
    """An estimator from a file whose checksum was compared: mapped where its class can do so."""
    return cls.load(path, mapped=True) if issubclass(cls, Saved) else cls.load(path)


class Saved:
    """An estimator that can be kept in a file: all that it learns is in attributes that end in `_`.

    These are arrays, numbers, and named tuples of arrays. What is kept otherwise than it is held goes through `_fitted`
    on its way to the file, and through `_take_up` on its way back.
    """

    records: ClassVar[Mapping[str, archive.RecordClass]] = {}
    """The classes of the attributes that are named tuples of arrays: what a file needs to give them back."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write what was fitted to a numpy archive without pickle. A RandomState is not kept, a seed is."""
        check_is_fitted(self)
        archive.write_model(path, describe(self), archive.as_arrays(self._fitted()))

    @classmethod
    def load(cls, path: str | PathLike[str], *, mapped: bool = False) -> Self:
        """An estimator as `save` wrote it; ValueError when the file is damaged, foreign or another class's.

        `mapped` leaves its arrays in the file until they are used: for a file whose checksum was compared.
        """
        header, arrays = archive.read_model(path, mapped=mapped)
        if header.get("learner") != class_name(cls):
            raise ValueError(f"{path}: holds a model of {header.get('learner')}, not of {class_name(cls)}")
        try:
            estimator = cls(**parameters_from(header["parameters"]))
            estimator._check_parameters()
            estimator._take_up(archive.as_values(arrays, cls.records))
        except DAMAGES as error:
            raise ValueError(f"{path}: damaged ({error})") from error
        return estimator

    def _check_parameters(self) -> None:
        """Raise ValueError for a parameter that is not allowed."""

    def _fitted(self) -> dict[str, Any]:
        """All that was learned, by name, as it is saved."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def _take_up(self, fitted: dict[str, Any]) -> None:
        """Be what a file says that was learned; raise ValueError for what makes no sound model."""
        for name, value in fitted.items():
            archive.expect(name.endswith("_") and not name.startswith("_"), name)
            setattr(self, name, value)
