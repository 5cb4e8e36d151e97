"""Wrappers as files: an archive without pickle, which holds the files that the learners inside write themselves."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from harness.sdk import archive

MODEL = "models."
"""What the names of the models' files begin with; no fitted attribute has a dot in its name."""


def save(path: str | PathLike[str], wrapper: Any, fitted: dict[str, Any], models: Sequence[Any]) -> None:
    """Write a wrapper with what it has learned beside its models, and these by their own `save`."""
    header = {**_described(wrapper), "models": [_name(type(model)) for model in models]}
    arrays = {name: np.asarray(value) for name, value in fitted.items()}
    files = {f"{MODEL}{number}": _saved(model) for number, model in enumerate(models)}
    archive.write(path, header, {**arrays, **files})


def load(path: str | PathLike[str], kind: type) -> tuple[Any, dict[str, NDArray[Any]], list[Any]]:
    """A wrapper as it was before training, what it had learned, and its models; ValueError when the file is damaged,
    foreign, another learner's, or holds a model of a class that is not at hand."""
    header, arrays = archive.read(path)
    if header.get("learner") != _name(kind):
        raise ValueError(f"{path}: holds a model of {header.get('learner')}, not of {_name(kind)}")
    try:
        wrapper = _built(header)
        models = [_loaded(name, arrays.pop(f"{MODEL}{number}")) for number, name in enumerate(header["models"])]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: damaged ({error})") from error
    return wrapper, arrays, models


def _saved(model: Any) -> NDArray[np.uint8]:
    if not (hasattr(model, "save") and hasattr(model, "load")):
        raise ValueError(f"{type(model).__name__} has no save and load: it cannot be kept without pickle")
    with TemporaryDirectory() as folder:
        file = Path(folder, "model")
        model.save(file)
        return np.frombuffer(file.read_bytes(), np.uint8)


def _loaded(name: str, content: NDArray[np.uint8]) -> Any:
    with TemporaryDirectory() as folder:
        file = Path(folder, "model")
        file.write_bytes(content.tobytes())
        return _class(name).load(file)


def _described(learner: Any) -> dict[str, Any]:
    """Class and parameters as JSON can hold them, and so on for learners among the parameters."""
    parameters = learner.get_params(deep=False)
    return {"learner": _name(type(learner)), "parameters": {name: _plain(value) for name, value in parameters.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        return _described(value)
    if isinstance(value, np.random.RandomState):
        return None  # a seed is kept, a generator is not
    return value.item() if isinstance(value, np.generic) else value


def _built(described: Any) -> Any:
    if not isinstance(described, dict):
        return described
    parameters = {name: _built(value) for name, value in described["parameters"].items()}
    return _class(described["learner"])(**parameters)


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(name: str) -> Any:
    """A learner's class. A file may not have just any module imported: only what is there already, or a plugin's."""
    module, _, attribute = name.partition(":")
    if module not in sys.modules and not module.startswith("harness_"):
        raise ValueError(f"it holds a {name}: import {module} first")
    kind = getattr(import_module(module), attribute)
    if not (isinstance(kind, type) and issubclass(kind, BaseEstimator)):
        raise ValueError(f"{name} is no learner")
    return kind
