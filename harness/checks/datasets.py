"""What the host expects of a data set: that it loads, is sound, and says what may be done with it."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from harness.checks.check import NotApplicable, require
from harness.contract import Dataset, DatasetSpec
from harness.data.arrays import call_stamp
from harness.data.checking import checked
from harness.sdk.texts import Texts
from harness.signature import REQUIRED, import_target, read_parameters
from harness.trials.parts import checksum
from harness.wording import counted


def _load(spec: DatasetSpec) -> Dataset:
    params = spec.parameters or {}
    if spec.wraps or (spec.opens and "path" not in params):
        raise NotApplicable("is told what to read: `harness check FILE` checks it on a file")
    data = import_target(spec.load)(**params)
    require(isinstance(data, Dataset), f"the loader gave {type(data).__name__}, expected harness.Dataset")
    return data  # type: ignore[no-any-return]  # required above


def check_loads_and_is_sound(spec: DatasetSpec) -> None:
    checked(spec.name, _load(spec))


def check_loads_the_same_twice(spec: DatasetSpec) -> None:
    first, second = _load(spec), _load(spec)
    require(_content_of(first) == _content_of(second), "two loads differ: seed every random choice")


def _content_of(data: Dataset) -> list[object]:
    content: list[object] = [data.class_names, checksum(data.y), Texts.of(data.texts or ())]
    if data.X is not None:
        content.append(checksum(data.X))
    return content


def check_stamp_is_stable(spec: DatasetSpec) -> None:
    if not spec.stamp:
        raise NotApplicable("has no stamp")
    params = {**(read_parameters(spec.load) or {}), **(spec.parameters or {})}
    if REQUIRED in params.values():
        raise NotApplicable("is told what to read: `harness check FILE` checks it on a file")
    first, second = call_stamp(spec.stamp, params), call_stamp(spec.stamp, params)
    require(isinstance(first, str) and first == second, f"stamp gave {first!r}, then {second!r}")


def check_names_its_classes_apart(spec: DatasetSpec) -> None:
    names = _load(spec).class_names
    require(len(set(names)) == len(names), "two classes have one name")


def check_has_rows_of_every_class(spec: DatasetSpec) -> None:
    data = _load(spec)
    counts = np.bincount(data.y.indices if issparse(data.y) else data.y, minlength=len(data.class_names))
    empty = counted(int((counts == 0).sum()), "class has", "classes have")
    require(bool((counts > 0).all()), f"{empty} no row: leave out what has none")


def check_states_licence_and_citation(spec: DatasetSpec) -> None:
    require(bool(spec.licence), "no licence line: say under what terms the data may be used")
    require(bool(spec.citation), "no citation: say whom to cite")
