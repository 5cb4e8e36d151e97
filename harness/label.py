"""What a learner or a data set goes by in tables, and what it is called apart from the values of a grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from harness.params import Params


@dataclass(frozen=True)
class Label:
    """A name in tables. Those of one grid share their family: pa(C=0.1) and pa(C=1) are of the family pa."""

    text: str
    family: str

    def __str__(self) -> str:
        return self.text


def plain_label(text: str) -> Label:
    """The label of what is in no grid."""
    return Label(text, text)


def grid_label(family: str, chosen: Params) -> Label:
    """The label of one point of a grid, by the values that were chosen there; where none were, that of the whole."""
    return Label(written(family, chosen), family) if chosen else plain_label(family)


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that stands there twice."""
    for name, times in Counter(names).items():
        if times > 1:
            return name
    return None


def written(name: str, params: Params, *first: str) -> str:
    """`name(first, parameter=value, ...)`."""
    arguments = [*first, *(f"{key}={value}" for key, value in params.items())]
    return f"{name}({', '.join(arguments)})"
