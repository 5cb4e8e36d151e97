"""Python objects as text that an experiment file can hold.

Arrays, texts and data frames are stored as files in the data home, named by a hash of their content. Estimators become
expressions such as `pa(C=0.1)`. A run from a notebook can therefore be saved, resumed and reproduced like any other.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.errors import DataError, SpecError
from harness.experiment.references import read_dataset
from harness.files.atomic import write_file
from harness.files.home import data_home, not_writable
from harness.host.catalog import Catalog
from harness.host.introspection import import_target
from harness.syntax.expression import Expression, parse, parse_value, split_list, write_value

GIVEN = "given"
"""The folder of the data home for data that was passed as Python objects."""
NUMBERS, TEXTS = "biuf", "U"
"""Allowed kinds of values, as the codes of `numpy.dtype.kind`."""


def describe_data(data: Any, *, text: str | None = None, label: str | None = None) -> str | list[str]:
    """Return the text by which an experiment refers to data; arrays and frames are stored in the data home.

    Parameters
    ----------
    data : str, path, pair, data frame or list of these
        A pair is (X, y) or (texts, labels). A text is returned unchanged unless `text` or `label` is given.
    text, label : str, optional
        The columns with texts and labels.

    Raises
    ------
    DataError
        If the data has another type, or rows and labels do not fit together.
    """
    columns = {name: value for name, value in (("text", text), ("label", label)) if value is not None}
    if isinstance(data, str) and not columns:
        return data
    if isinstance(data, str):
        return [_with_columns(one, columns) for one in split_list(data)]
    if isinstance(data, PathLike):
        return [str(Expression(_as_source(data), None, columns))]
    if isinstance(data, list):
        described: list[str] = []
        for one in data:
            found = describe_data(one, text=text, label=label)
            described += [found] if isinstance(found, str) else found
        return described
    if isinstance(data, tuple) and len(data) == 2:
        return [_keep_pair(*data)]
    if hasattr(data, "columns"):
        return [_keep_frame(data, text, label)]
    raise DataError(
        f"{type(data).__name__} is not data: expected a name, a file, (X, y), (texts, labels) or a data frame with "
        "text= and label="
    )


def _with_columns(text: str, columns: Mapping[str, str]) -> str:
    """Return the expression of a dataset with the columns of texts and labels as parameters."""
    expression = read_dataset(text)
    return str(replace(expression, params={**columns, **expression.params}))


def _as_source(path: PathLike[str]) -> str:
    source = os.fspath(path)
    return source if "/" in source or "." in source else f"./{source}"


def _keep_pair(first: Any, second: Any) -> str:
    if _is_texts(first):
        return _keep_texts(list(first), _labels(second, len(first)))
    X = _as_array("X", first, NUMBERS, "numbers")
    if X.ndim != 2:
        raise DataError(f"X has shape {X.shape}: expected rows x features, or a sequence of texts")
    y = _as_array("y", second, NUMBERS + TEXTS, "a number or a text for each row, or rows of an indicator matrix")
    if y.ndim == 0 or y.shape[0] != X.shape[0]:
        rows = y.shape[0] if y.ndim else "no"
        raise DataError(f"X has {X.shape[0]} rows and y has {rows}: expected one label, or row of labels, for each")
    return _keep_arrays(X, y)


def _as_array(name: str, values: Any, kinds: str, expected: str) -> Any:
    """Return values as an array or sparse matrix; raise DataError for kinds of values that are not allowed."""
    if issparse(values):
        return values
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":  # pandas stores texts as objects; `tolist` finds the real type
            array = np.asarray(array.tolist())
    except ValueError:
        raise DataError(f"{name} has rows of several lengths: expected {expected}") from None
    if array.dtype.kind not in kinds:
        raise DataError(f"{name} holds values of type {array.dtype}: expected {expected}")
    return array


def _is_texts(value: Any) -> bool:
    if issparse(value) or isinstance(value, str):
        return False
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OUS":
        return False
    return len(value) > 0 and all(isinstance(item, str) for item in value)


def _keep_frame(frame: Any, text: str | None, label: str | None) -> str:
    known = ", ".join(map(str, frame.columns))
    for role, name in (("text", text), ("label", label)):
        if name is None:
            raise DataError(f"a data frame needs {role}=, the column with the {role}s: one of {known}")
        if name not in frame.columns:
            raise DataError(f"{role}={name!r}: the data frame has no such column: it has {known}")
    return _keep_texts(list(frame[text]), _labels(list(frame[label]), len(frame)))


def _labels(values: Any, rows: int) -> list[Any]:
    labels = list(values)
    if len(labels) != rows:
        raise DataError(f"{rows} texts and {len(labels)} labels: expected one for each")
    return [label.item() if isinstance(label, np.generic) else label for label in labels]


def _keep_texts(texts: Sequence[Any], labels: Sequence[Any]) -> str:
    lines = []
    for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
        if not isinstance(text, str):
            raise DataError(f"row {row}: the text is {text!r}: expected a text, an empty one where there is none")
        try:
            lines.append(json.dumps({"text": text, "label": label}))
        except TypeError:
            raise DataError(f"row {row}: the label is {label!r}: expected a text, a number or a list of them") from None
    content = "".join(f"{line}\n" for line in lines).encode()
    return _keep_file(content, "texts", ".jsonl", {"text": "text", "label": "label"})


def _keep_arrays(X: Any, y: Any) -> str:
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {}
    if issparse(X):
        matrix = csr_array(X)
        arrays |= {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data, "shape": matrix.shape}
    else:
        arrays["X"] = X
    if issparse(y):
        labels = csr_array(y)
        arrays |= {
            "y_indptr": labels.indptr,
            "y_indices": labels.indices,
            "y_data": labels.data,
            "y_shape": labels.shape,
        }
    else:
        arrays["y"] = y
    np.savez(buffer, **arrays)
    return _keep_file(buffer.getvalue(), "arrays", ".npz", {})


def _keep_file(content: bytes, kind: str, ending: str, params: dict[str, Any]) -> str:
    """Store content in the data home and return the expression that reads it.

    The file is named by a hash of its content, so equal content is stored once.
    """
    folder = data_home() / GIVEN
    name = f"{kind}-{hashlib.sha256(content).hexdigest()[:12]}"
    path = folder / f"{name}{ending}"
    if not os.path.exists(path):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_file(path, content)
        except OSError as error:
            raise not_writable(error) from error
    return str(Expression(str(path), name, params))


def describe_learners(learners: Any, catalog: Catalog) -> str | list[str]:
    """Return the texts by which an experiment refers to learners.

    Texts are returned unchanged. Estimators become expressions. The keys of a dictionary become labels.

    Parameters
    ----------
    learners : object
        A text, an estimator, a list of these, or a dictionary with labels as its keys.
    catalog : Catalog
        The registered learners, whose names replace those of their classes.
    """
    if isinstance(learners, str):
        return learners
    if isinstance(learners, Mapping):
        labelled = [(label, describe_learner(learner, catalog)) for label, learner in learners.items()]
        return [str(replace(expression, label=str(label))) for label, expression in labelled]
    several = learners if isinstance(learners, list | tuple) else [learners]
    described = []
    for learner in several:  # a text may also name a group, which is not an expression
        described.append(learner if isinstance(learner, str) else str(describe_learner(learner, catalog)))
    return described


def describe_learner(learner: Any, catalog: Catalog) -> Expression:
    """Return one learner, a text or an estimator, as an expression."""
    return parse(learner) if isinstance(learner, str) else describe_estimator(learner, catalog)


def describe_estimator(estimator: Any, catalog: Catalog) -> Expression:
    """Return an estimator as an expression with the parameters that differ from their defaults.

    The name is that of the registered learner with this class, or else `module:Class`.

    Parameters
    ----------
    estimator : object
        An object with `get_params` and `fit`, not a class.
    catalog : Catalog
        The registered learners.

    Raises
    ------
    SpecError
        If the object is not an estimator, a fresh process cannot import its class, or a parameter cannot be written as
        text.
    """
    if isinstance(estimator, type):
        raise SpecError(f"{estimator.__name__} is a class. Give an estimator, {estimator.__name__}().")
    if not (hasattr(estimator, "get_params") and hasattr(estimator, "fit")):
        raise SpecError(f"{estimator!r} is not a learner: expected a name, or an estimator with get_params and fit")
    kind = type(estimator)
    target = find_target(kind)
    homes = {target, f"{kind.__module__}:{kind.__qualname__}"}  # a plugin may use the public or the private module
    registered = [entry.spec for entry in catalog.learners if entry.spec.load in homes]
    name = registered[0].name if registered else target
    wraps = registered[0].wraps if registered else ""
    positional: tuple[str, ...] = ()
    params: dict[str, Any] = {}
    for parameter, value in _set_params(estimator).items():
        if parameter == wraps:
            inside = value if registered[0].wraps_several else [value]
            positional = tuple(str(describe_estimator(each, catalog)) for each in inside)
        else:
            params[parameter] = _passed_on(value, f"{kind.__name__}({parameter}=...)")
    return Expression(name, None, params, positional)


def _set_params(estimator: Any) -> dict[str, Any]:
    """Return the parameters that differ from their defaults; all of them if the defaults are unknown."""
    params = estimator.get_params(deep=False)
    try:
        defaults = type(estimator)().get_params(deep=False)
    except Exception:  # a parameter has no default, or the class rejects its own defaults
        return dict(params)
    changed = {}
    for name, value in params.items():
        default = defaults.get(name)
        if value is not default and repr(value) != repr(default):
            changed[name] = value
    return changed


def find_target(kind: type) -> str:
    """Return the import path of a class as "module:name", with the shortest module that exports the class.

    Raises
    ------
    SpecError
        If a fresh process cannot import the class, such as one that is defined in a notebook.
    """
    module, name = kind.__module__, kind.__qualname__
    if module == "__main__" or "<locals>" in name:
        raise SpecError(
            f"a fresh process cannot import {kind.__name__}, which is defined in {_place(module, name)}",
            next_step=f"Put it into a file, such as my_learners.py, and `from my_learners import {kind.__name__}`.",
        )
    public = module
    parts = module.split(".")
    # scikit-learn defines LogisticRegression in sklearn.linear_model._logistic; users import it from the package.
    for end in range(1, len(parts)):
        package = ".".join(parts[:end])
        if getattr(sys.modules.get(package), name, None) is kind:
            public = package
            break
    target = f"{public}:{name}"
    if not _is_found(kind, target):
        raise SpecError(f"a fresh process cannot import {name} from {public}: the module does not have it by that name")
    return target


def _is_found(kind: type, target: str) -> bool:
    try:
        return import_target(target) is kind
    except (ImportError, AttributeError):
        return False


def _place(module: str, name: str) -> str:
    return "the notebook or script itself" if module == "__main__" else f"a function ({name})"


def _passed_on(value: Any, where: str) -> Any:
    """Return the value of a parameter as an expression can hold it; raise SpecError if parsing it changes it."""
    plain = _plain(value, where)
    try:
        read_back = parse_value(write_value(plain))
    except SpecError:
        raise _refusal(where, repr(value)) from None
    if read_back != plain:
        raise _refusal(where, repr(value))
    return plain


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if hasattr(value, "get_params") and not isinstance(value, type):
        kind = type(value)
        params = {}
        for parameter, inner in _set_params(value).items():
            params[parameter] = _passed_on(inner, f"{kind.__name__}({parameter}=...)")
        return Expression(find_target(kind), None, params)  # a registered name would be read as a text
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return tuple(_plain(item, where) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item, where) for key, item in value.items()}
    raise _refusal(where, type(value).__name__)


def _refusal(where: str, what: str) -> SpecError:
    return SpecError(
        f"{where}: {what} cannot be passed on: numbers, texts, none, tuples and dictionaries of these, and estimators "
        "can",
        next_step="Set it in a class of your own, in a module that can be imported.",
    )
