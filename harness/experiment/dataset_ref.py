"""Data sets as the user names them: registered ones, files and folders, one made from another, grids of parameters.

`icd10cm`, `titles.csv`, `titles.csv(text=title)`, `subsample(icd10cm, classes=[100, 1000])`. What a name stands for is
looked up later; here it is decided what each data set goes by in tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from harness.errors import SpecError
from harness.expression import parse

INNER = "dataset"
"""The parameter that a first argument without a name stands for: the data set inside, as it is written."""
PACKINGS = (".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True)
class DatasetChoice:
    """A data set to run on; representation and split None mean the data set's and the experiment's own."""

    name: str
    """What it goes by in tables."""
    params: Mapping[str, Any] = field(default_factory=dict)
    representation: str | None = None
    split: str | None = None
    of: str | None = None
    """The registered name or the file, where it goes by another name."""

    @property
    def wanted(self) -> str:
        """The registered name, or the file."""
        return self.of or self.name


def is_file(name: str) -> bool:
    """Whether a name is that of a file or folder: it has a slash, or an ending and no distribution before a colon."""
    return "/" in name or ("." in name and ":" not in name)


def stem_of(path: str) -> str:
    """What a file goes by: its name without its ending and without what a packing adds."""
    name = PurePath(path).name or str(Path(path).resolve().name)
    return PurePath(name.removesuffix(ending) if (ending := PurePath(name).suffix) in PACKINGS else name).stem or name


def spread(text: str) -> dict[str, Any]:
    """A data set written as an expression becomes the table it is short for."""
    try:
        expression = parse(text, inner=INNER)
    except SpecError:
        if is_file(text) and Path(text).exists():  # a name that no expression can have, such as "my titles (1).csv"
            return {"path": text}
        raise
    table: dict[str, Any] = {"path" if is_file(expression.name) else "name": expression.name}
    table |= {"params": expression.params}
    return table | ({"label": expression.label} if expression.label else {})


def choice_of(text: str) -> DatasetChoice:
    """The data set that an expression names, as a choice of its own."""
    table = spread(text)
    name, path, params = table.get("name"), table.get("path"), table.get("params", {})
    return DatasetChoice(name_of(name, path, params, table.get("label")), params, of=name or path)


def name_of(name: str | None, path: str | None, params: Mapping[str, Any], label: str | None = None) -> str:
    """What a data set goes by: its label, its file's stem, how it is made from another, or its registered name."""
    path, inside = path or params.get("path"), params.get(INNER)
    if label is not None:
        return label
    if isinstance(inside, str) and name is not None:
        return _written(name, {key: value for key, value in params.items() if key != INNER}, choice_of(inside).name)
    return stem_of(path) if isinstance(path, str) else str(name)


def variants(choice: DatasetChoice) -> Iterator[DatasetChoice]:
    """One choice for every combination of the parameters that were given as lists; its name says which."""
    grid = {name: value for name, value in choice.params.items() if isinstance(value, list)}
    for name, values in grid.items():
        if not values:
            raise SpecError(f"data set {choice.name!r}: the list of values for {name!r} is empty")
    for combination in itertools.product(*grid.values()):
        chosen = dict(zip(grid, combination, strict=True))
        params = {**choice.params, **chosen}
        inside = params.get(INNER)
        if not grid:
            name = choice.name
        elif isinstance(inside, str) and choice.name == name_of(choice.of, None, choice.params):
            name = name_of(choice.of, None, params)
        else:
            name = _written(choice.name, chosen)
        of = choice.wanted if name != choice.name else choice.of
        yield DatasetChoice(name, params, choice.representation, choice.split, of)


def _written(name: str, params: Mapping[str, Any], *first: str) -> str:
    return f"{name}({', '.join([*first, *(f'{key}={value}' for key, value in params.items())])})"
