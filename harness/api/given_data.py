"""Data as Python has it, in the words of an experiment: a file in the data home, under a name made of its content.

So a run from a notebook can be resumed, written down and reproduced like any other. Arrays, texts and data frames are
read by the data sets that open such files.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.errors import DataError
from harness.experiment.dataset_ref import read_dataset
from harness.expression import Expression, split_list
from harness.home import data_home, not_writable

GIVEN = "given"
"""The folder of the data home with what came from Python."""
NUMBERS, TEXTS = "biuf", "U"
"""What numpy calls the kinds of values that arrays may hold."""


def describe_data(data: Any, *, text: str | None = None, label: str | None = None) -> str | list[str]:
    """Data as an experiment names it; what is not a text is kept as a file in the data home."""
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
        f"{type(data).__name__} is no data: expected a name, a file, (X, y), (texts, labels) or a data frame with "
        "text= and label="
    )


def _with_columns(text: str, columns: Mapping[str, str]) -> str:
    """A data set as it is written, told which columns of its file hold the texts and the labels."""
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
    """An array or a sparse matrix of these kinds of values; DataError where it holds others."""
    if issparse(values):
        return values
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":  # as pandas keeps texts; numbers among them stay what they are
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
    """Keep content under a name made of it, and give the expression that reads it; the same content is kept once."""
    folder = data_home() / GIVEN
    name = f"{kind}-{hashlib.sha256(content).hexdigest()[:12]}"
    path = folder / f"{name}{ending}"
    if not os.path.exists(path):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as beside:
                beside.write(content)
            os.replace(beside.name, path)
        except OSError as error:
            raise not_writable(error) from error
    return str(Expression(str(path), name, params))
