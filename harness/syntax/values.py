"""Small syntaxes that are not expressions, and checks of the fields of specs.

- labels of learners and datasets in tables: `pa(C=0.1)`
- durations and sizes: `90s`, `10m`, `4GB`, `2GiB`
- representations: `words`, `chars(ngrams=2:5)`, `words+chars`, `truncated-svd(chars, d=100)`; the first argument is the
  representation whose output the outer one takes
- places where trials run, the values of `--on`: `local:4`, `tcp://HOST:PORT`, `scheduler-file:PATH`
- checks of the fields of the specs that plugins return

To add an executor, write a module with a function like `harness.cluster.open_cluster`, and add its form of
`--on` to `PLACES`. Trials without `--on` run with the local executor.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.errors import SpecError
from harness.syntax.expression import Params, parse, parse_value, split_list, write_value
from harness.text import in_a_line

SMALLEST_MEMORY = 16 * 10**6
"""The smallest memory limit in bytes. An interpreter with numpy needs more."""
MOST = 1e18
"""Upper limit for seconds and bytes."""
_DURATIONS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_SIZES = {
    "b": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}


# -- labels ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Label:
    """A name in tables. The points of a grid have the same family: that of pa(C=0.1) and pa(C=1) is pa."""

    text: str
    family: str

    def __str__(self) -> str:
        return self.text


def plain_label(text: str) -> Label:
    """Return a label outside of any grid."""
    return Label(text, text)


def grid_label(family: str, chosen: Params) -> Label:
    """Return the label for a point of a grid; without values, the label of the family.

    Parameters
    ----------
    family : str
        The name of the learner or dataset without the values of the grid.
    chosen : Params
        The values of this point of the grid, by parameter.

    Examples
    --------
    >>> grid_label("pa", {"C": 0.1})
    Label(text='pa(C=0.1)', family='pa')
    """
    return Label(written(family, chosen), family) if chosen else plain_label(family)


def written(name: str, params: Params, *first: str) -> str:
    """Return `name(first, parameter=value, ...)` for labels; values have no quotes.

    Parameters
    ----------
    name : str
        The name before the brackets.
    params : Params
        Parameters to write after `first`, in their order.
    *first : str
        Arguments to write without a name.

    Examples
    --------
    >>> written("truncated-svd", {"d": 100}, "chars")
    'truncated-svd(chars, d=100)'
    """
    arguments = [*first, *(f"{key}={value}" for key, value in params.items())]
    return f"{name}({', '.join(arguments)})"


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs more than once; None if there is none."""
    for name, times in Counter(names).items():
        if times > 1:
            return name
    return None


def is_file(source: str) -> bool:
    """Return whether a source is a file, a folder or an address: it has a slash, or a dot and no colon."""
    return "/" in source or ("." in source and ":" not in source)


# -- durations and sizes ---------------------------------------------------------------------------------------------


def parse_duration(value: object) -> float:
    """Return a duration in seconds.

    Parameters
    ----------
    value : object
        A number of seconds, or a text with a unit: ms, s, m or h.

    Raises
    ------
    ValueError
        If the value is not a positive duration.

    Examples
    --------
    >>> parse_duration("10m")
    600.0
    """
    return _with_unit(value, _DURATIONS, "s", "a time such as 90s, 10m or 2h")


def parse_size(value: object) -> int:
    """Return a size in bytes.

    Parameters
    ----------
    value : object
        A number of bytes, or a text with a unit: 512MB, 4GB, 2GiB.

    Raises
    ------
    ValueError
        If the value is not a positive size.

    Examples
    --------
    >>> parse_size("2GiB")
    2147483648
    """
    return int(_with_unit(value, _SIZES, "b", "a size such as 512MB, 4GB or 2GiB"))


def parse_memory(value: object) -> int:
    """Return a memory limit in bytes.

    Parameters
    ----------
    value : object
        A size as `parse_size` takes it.

    Raises
    ------
    ValueError
        If the value is not a size, or is below `SMALLEST_MEMORY`: its unit is most likely missing.
    """
    size = parse_size(value)
    if size < SMALLEST_MEMORY:
        raise ValueError(
            f"{value!r} is a limit of {size:,} bytes, under which no trial can start: expected at least "
            f"{SMALLEST_MEMORY // 10**6}MB, with its unit, such as 512MB or 4GB"
        )
    return size


def _with_unit(value: object, units: Mapping[str, float], bare: str, expected: str) -> float:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(value))
    if match is None:
        raise ValueError(f"{in_a_line(repr(value), 100)} is not {expected}")
    number, unit = float(match[1]), match[2].lower() or bare
    total = number * units.get(unit, 0)
    if not 0 < total < MOST:
        raise ValueError(f"{in_a_line(repr(value), 100)} is not {expected}")
    return total


# -- representations -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RepresentationRef:
    """One representation, or several side by side: `words+chars` has the columns of both."""

    beside: tuple[StepRef, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.beside))


@dataclass(frozen=True)
class StepRef:
    """The name of a representation, with its parameters and the representation whose output it takes.

    Parameters
    ----------
    name : str
        The registered name of the representation.
    params : Params, default={}
        Parameters that differ from the defaults.
    before : RepresentationRef, optional
        The representation whose output this one takes; None if it takes the texts.
    """

    name: str
    params: Params = field(default_factory=dict)
    before: RepresentationRef | None = None

    def __str__(self) -> str:
        arguments = [] if self.before is None else [str(self.before)]
        arguments += [f"{name}={_written(value)}" for name, value in self.params.items()]
        return f"{self.name}({', '.join(arguments)})" if arguments else self.name


def parse_representation(text: str) -> RepresentationRef:
    """Parse a representation.

    Parameters
    ----------
    text : str
        Names joined by `+`. Each may have parameters, and the representation whose output it takes as the first
        argument.

    Raises
    ------
    SpecError
        If the text is malformed.

    Examples
    --------
    >>> [step.name for step in parse_representation("words+truncated-svd(chars, d=100)").beside]
    ['words', 'truncated-svd']
    """
    if text.strip().startswith("+") or text.strip().endswith("+"):
        raise SpecError(f"cannot read the representation {text!r}: expected a name on both sides of '+'")
    return RepresentationRef(tuple(_parse_step(part) for part in split_list(text, "+")))


def _parse_step(text: str) -> StepRef:
    expression = parse(text)
    if len(expression.positional) > 1 or expression.label:
        raise SpecError(f"cannot read the representation {text!r}: expected name(parameter=value)")
    before = expression.positional[0] if expression.positional else None
    return StepRef(expression.name, expression.params, parse_representation(before) if before else None)


def _written(value: object) -> str:
    """Return a value as a text that `parse_value` reads, without quotes if possible: ngrams=2:5."""
    try:
        if isinstance(value, str) and parse_value(value) == value:
            return value
    except SpecError:
        pass
    return write_value(value)


# -- places of trials ------------------------------------------------------------------------------------------------


CLUSTER = "harness.cluster:open_cluster"


@dataclass(frozen=True)
class PlaceKind:
    """A form of the values of `--on`.

    Parameters
    ----------
    name : str
        The name of the form.
    shown : str
        The form as messages show it.
    pattern : str
        A regular expression for the whole text. Its groups `where` and `workers` become fields of `Place`.
    executor : str
        A context manager as "module:name", imported when it is needed. It gets the place, the requirements of the run
        (`harness.cluster.messages.Requirements`) and a function for warnings, and yields an executor.
    """

    name: str
    shown: str
    pattern: str
    executor: str


PLACES = (
    PlaceKind("local", "local:NUMBER", r"local:0*(?P<workers>[1-9][0-9]{0,2}|1000)", CLUSTER),
    PlaceKind("address", "tcp://HOST:PORT, tls://HOST:PORT", r"(tcp|tls|ucx|ws|wss)://[^\s/]+", CLUSTER),
    PlaceKind("scheduler-file", "scheduler-file:PATH", r"scheduler-file:(?P<where>.+)", CLUSTER),
)


@dataclass(frozen=True)
class Place:
    """A place where trials run.

    Parameters
    ----------
    kind : str
        The name of a form in `PLACES`.
    where : str
        The address or the path.
    workers : int, default=0
        The number of workers to start.
    """

    kind: str
    where: str
    workers: int = 0

    def __str__(self) -> str:
        return self.where


def parse_place(text: str) -> Place:
    """Parse a value of `--on`.

    Parameters
    ----------
    text : str
        One of the forms in `PLACES`.

    Raises
    ------
    SpecError
        If the text has none of these forms.

    Examples
    --------
    >>> parse_place("local:4")
    Place(kind='local', where='local:4', workers=4)
    """
    text = text.strip()
    for kind in PLACES:
        match = re.fullmatch(kind.pattern, text, re.DOTALL)
        if match is not None:
            found = match.groupdict()
            return Place(kind.name, found.get("where") or text, int(found.get("workers") or 0))
    *first, last = [kind.shown for kind in PLACES]
    raise SpecError(f"expected {', '.join(first)} or {last} (got {text!r})")


def executor_of(place: object) -> str:
    """Return the executor for a place as "module:name". For a client of Dask, it is the executor of clusters."""
    for kind in PLACES:
        if isinstance(place, Place) and place.kind == kind.name:
            return kind.executor
    return CLUSTER


# -- fields of specs -------------------------------------------------------------------------------------------------


_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.-]*")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[\w,.-]+\])?(?:\s*[<>=!~;@ ].*)?")
_FILE = re.compile(r"[A-Za-z_][\w.]*:[\w.-]+(?:/[\w.-]+)*")


class Fields:
    """Checks the fields of a spec that a plugin returned.

    Each method checks one or more fields. It raises SpecError with the spec, the field, its value and the expected
    value.

    Parameters
    ----------
    spec : object
        A spec as a plugin returned it, of any kind and with any values.
    """

    def __init__(self, spec: Any) -> None:
        self._spec = spec
        self._kind = type(spec).__name__

    def name(self) -> None:
        """Check `name`, which users type and which becomes part of file names."""
        name = self._spec.name
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise SpecError(f"{self._kind}: the name {name!r} must be lower case letters, digits, '-', '_', '.'")

    def texts(self, *names: str) -> None:
        """Check that fields are texts."""
        for name in names:
            self._expect(name, isinstance(self._value(name), str), "a text")

    def target(self, name: str, *, optional: bool = False) -> None:
        """Check a field with the import path of an object."""
        value = self._value(name)
        fits = isinstance(value, str) and _TARGET.fullmatch(value) is not None
        self._expect(name, fits or (optional and value is None), "'module:name'")

    def file(self, name: str, *, optional: bool = False) -> None:
        """Check a field with the path of a file in a package."""
        value = self._value(name)
        fits = isinstance(value, str) and _FILE.fullmatch(value) is not None
        self._expect(name, fits or (optional and value == ""), "'package:folder/file'")

    def one_of(self, name: str, choices: Collection[str]) -> None:
        """Check that a field is one of the choices."""
        self._expect(name, self._value(name) in choices, f"one of {', '.join(choices)}")

    def subset(self, name: str, choices: Collection[str]) -> None:
        """Check that a field is a set of some of the choices."""
        value = self._value(name)
        fits = isinstance(value, set | frozenset) and value <= set(choices)
        self._expect(name, fits, f"a set of {', '.join(choices)}")

    def integers(self, *names: str) -> None:
        """Check that fields are integers and not bool."""
        for name in names:
            value = self._value(name)
            self._expect(name, isinstance(value, int) and not isinstance(value, bool), "a whole number")

    def flags(self, *names: str) -> None:
        """Check that fields are True or False."""
        for name in names:
            self._expect(name, isinstance(self._value(name), bool), "True or False")

    def sequences(self, *names: str) -> None:
        """Check that fields are tuples or lists."""
        for name in names:
            self._expect(name, isinstance(self._value(name), tuple | list), "a tuple")

    def requirements(self, name: str) -> None:
        """Check a tuple of requirements for pip. Each must begin with the name of a package, not with an option."""
        value = self._value(name)
        fits = isinstance(value, tuple) and all(isinstance(one, str) and _PACKAGE.fullmatch(one) for one in value)
        self._expect(name, fits, "a tuple of packages such as 'numpy<2'")

    def mapping(self, name: str, *, optional: bool = False) -> None:
        """Check that a field is a mapping, or None if `optional`."""
        value = self._value(name)
        self._expect(name, isinstance(value, Mapping) or (optional and value is None), "a mapping")

    def grid(self, name: str, known: Mapping[str, Any] | None) -> None:
        """Check a mapping from parameters to non-empty lists of values; `known` as for `params`."""
        self.params(name, known)
        for values in self._value(name).values():
            self._expect(name, isinstance(values, list) and bool(values), "a list of values for each parameter")

    def params(self, name: str, known: Mapping[str, object] | None) -> None:
        """Check a mapping from parameters to values. Each parameter must be in `known`, unless that is None."""
        self.mapping(name)
        for parameter in self._value(name):
            self._expect(name, isinstance(parameter, str), "a mapping from names of parameters")
            if known is not None:
                self._expect(name, parameter in known, f"values for {', '.join(known)}")

    def counts(self, name: str, known: Collection[str]) -> None:
        """Check a mapping whose keys must be in `known`; its values are not checked."""
        value = self._value(name)
        fits = isinstance(value, Mapping) and set(value) <= set(known)
        self._expect(name, fits, f"numbers for {', '.join(known)}")

    def _value(self, name: str) -> Any:
        return getattr(self._spec, name)

    def _expect(self, name: str, fits: bool, expected: str) -> None:
        if not fits:
            raise SpecError(f"{self._kind}: {self._spec.name}.{name} is {self._value(name)!r}, expected {expected}")
