"""Data sets as the user names them: registered ones, files, folders, addresses, one made from another, grids.

`icd10cm`, `titles.csv`, `titles.csv(text=title)`, `hf:NAME`, `subsample(icd10cm, classes=[100, 1000])`. What a source
stands for is looked up later; here it is decided what each data set goes by in tables.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from harness.errors import SpecError
from harness.expression import Expression, parse
from harness.label import Label, grid_label, plain_label, written
from harness.params import Params
from harness.split import Split

PACKINGS = (".gz", ".bz2", ".xz", ".zst")


MOST_POINTS = 10_000
"""Of a grid: more than anybody has the time to run."""


@dataclass(frozen=True)
class DatasetRef:
    """A data set to run on; without representations or split, the data set's and the experiment's own."""

    source: str
    """The registered name, or the file."""
    label: Label
    """What it goes by in tables."""
    params: Params = field(default_factory=dict)
    wrapped: str | None = None
    """The data set that it is made from, as it is written, where it stands without the name of a parameter."""
    representations: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    """Representations that tuning chooses from."""
    split: Split | None = None


def is_file(source: str) -> bool:
    """Whether a source is a file or folder, or an address that looks like one: it has a slash, or an ending and nothing
    before a colon."""
    return "/" in source or ("." in source and ":" not in source)


def stem_of(path: str) -> str:
    """What a file goes by: its name without its ending and without what a packing adds."""
    name = PurePath(path).name or str(Path(path).resolve().name)
    ending = PurePath(name).suffix
    if ending in PACKINGS:
        name = name.removesuffix(ending)
    return PurePath(name).stem or name


def read_dataset(text: str) -> Expression:
    """A data set as it is written, or a file's name that no expression can have, such as "my titles (1).csv"."""
    try:
        expression = parse(text)
    except SpecError:
        if is_file(text) and os.path.exists(text):
            return Expression(text)
        raise
    if len(expression.positional) > 1:
        raise SpecError(f"cannot read {expression.positional[1]!r} in {text!r}: expected parameter=value")
    return expression


def parse_dataset(text: str) -> DatasetRef:
    """The data set that an expression names."""
    expression = read_dataset(text)
    wrapped = expression.positional[0] if expression.positional else None
    name = expression.label or name_of(expression.name, expression.params, wrapped)
    return DatasetRef(expression.name, plain_label(name), expression.params, wrapped)


def name_of(source: str, params: Params, wrapped: str | None) -> str:
    """What a data set goes by unless it is given a label: how it is made from another, its file's stem, its source."""
    if wrapped is not None:
        return written(source, params, str(parse_dataset(wrapped).label))
    path = source if is_file(source) else params.get("path")
    return stem_of(path) if isinstance(path, str) else source


def spread_grid(ref: DatasetRef) -> Iterator[DatasetRef]:
    """One data set for every combination of the parameters that were given as lists; its label says which."""
    grid = {name: value for name, value in ref.params.items() if isinstance(value, list)}
    for name, values in grid.items():
        if not values:
            raise SpecError(f"data set '{ref.label}': the list of values for {name!r} is empty")
    if not grid:
        yield ref
        return
    points = math.prod(map(len, grid.values()))
    if points > MOST_POINTS:
        raise SpecError(
            f"data set '{ref.label}': a grid of {points:,} data sets, more than {MOST_POINTS:,}: list fewer"
        )
    named_by_itself = ref.label.text == name_of(ref.source, ref.params, ref.wrapped)
    for combination in itertools.product(*grid.values()):
        chosen = dict(zip(grid, combination, strict=True))
        params = {**ref.params, **chosen}
        label = grid_label(ref.label.family, chosen)
        if ref.wrapped is not None and named_by_itself:  # it is named by all its parameters, so that no two look alike
            label = Label(name_of(ref.source, params, ref.wrapped), ref.label.family)
        yield replace(ref, label=label, params=params)
