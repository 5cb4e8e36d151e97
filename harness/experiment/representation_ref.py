"""Representations as the user names them: `words`, `chars(ngrams=2:5)`, `words+chars`, `truncated-svd(chars, d=100)`.

What stands first in the brackets comes before: its output is what the outer one is fitted on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.errors import SpecError
from harness.expression import parse, parse_value, split_list, write_value
from harness.params import Params


@dataclass(frozen=True)
class StepRef:
    """One representation by its name, with its parameters and what comes before it, if anything does."""

    name: str
    params: Params = field(default_factory=dict)
    before: RepresentationRef | None = None

    def __str__(self) -> str:
        arguments = [] if self.before is None else [str(self.before)]
        arguments += [f"{name}={_written(value)}" for name, value in self.params.items()]
        return f"{self.name}({', '.join(arguments)})" if arguments else self.name


@dataclass(frozen=True)
class RepresentationRef:
    """One representation, or several side by side: `words+chars` has the columns of both."""

    beside: tuple[StepRef, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.beside))


def parse_representation(text: str) -> RepresentationRef:
    """The representation that a text names."""
    if text.strip().startswith("+") or text.strip().endswith("+"):
        raise SpecError(f"cannot read the representation {text!r}: expected a name on both sides of '+'")
    return RepresentationRef(tuple(_parse_step(part) for part in split_list(text, "+")))


def _written(value: object) -> str:
    """A value as it is read again, without quotes where it needs none: ngrams=2:5."""
    try:
        if isinstance(value, str) and parse_value(value) == value:
            return value
    except SpecError:
        pass
    return write_value(value)


def _parse_step(text: str) -> StepRef:
    expression = parse(text)
    if len(expression.positional) > 1 or expression.label:
        raise SpecError(f"cannot read the representation {text!r}: expected name(parameter=value)")
    before = expression.positional[0] if expression.positional else None
    return StepRef(expression.name, expression.params, parse_representation(before) if before else None)
