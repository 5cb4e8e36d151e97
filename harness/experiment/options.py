"""Options of a run, each declared once.

A field of `Experiment` or `RunOptions` that carries an `Option` is a flag of `harness run` and an argument of
`harness.run`, under the field's own name. Fields of `Experiment` are also keys of an experiment file. To add an
option, add a field with an `Option` in `harness.experiment.schema`, and read the field where it is needed.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

from harness.errors import SpecError
from harness.syntax.expression import parse_value, split_list

if TYPE_CHECKING:
    from pydantic import BaseModel

Function = TypeVar("Function", bound=Callable[..., Any])
OPTIONS_ENTRY = "    **options\n"
"""The line of a docstring that `document_options` replaces."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """Declares a field as a flag and a Python argument; name, type and default come from the field."""

    help: str
    """Help text: a sentence that starts with a verb."""
    metavar: str = ""
    names: str = ""
    """The kind of names that the shell completes for a list of names: learners, datasets, metrics, ..."""
    aliases: tuple[str, ...] = ()
    """Other names of the flag and the argument."""
    formerly: tuple[str, ...] = ()
    """Names in earlier releases. Using one is an error, and its message has the present name."""
    default: str = ""
    """The default as help texts show it; if empty, the field's own default."""
    bare: str = ""
    """The value of a flag without a value."""
    negatable: bool = False
    """True for a switch that also has the flag `--no-NAME`."""
    read_flags: Callable[[Sequence[str]], Any] | None = None
    """Converts the texts of a repeated flag to the value of the field."""
    argument: Any = None
    """Type of the Python argument; if None, derived from the field's type."""
    argument_help: str = ""
    """Help text of the Python argument, if `help` describes the syntax of the flag."""


@dataclass(frozen=True)
class DeclaredOption:
    """A field with its option."""

    name: str
    option: Option
    type: Any
    """The field's type without `Annotated` and `| None`: bool, int, Path, or another."""
    many: bool
    """True for a list."""
    default: Any

    @property
    def names(self) -> tuple[str, ...]:
        """All names that are allowed, the field's name first."""
        return (self.name, *self.option.aliases)

    @property
    def shown_default(self) -> str:
        """The default as help texts show it; empty for a switch, or without a default."""
        if self.option.default:
            return self.option.default
        is_shown = self.type is not bool and self.default not in (None, (), {})
        return str(self.default) if is_shown else ""


def declared_options(*models: type[BaseModel]) -> dict[str, DeclaredOption]:
    """Return the options of some models by name, in the order of their fields."""
    found = {}
    for model in models:
        for name, field in model.model_fields.items():
            for extra in field.metadata:
                if isinstance(extra, Option):
                    kind, many = _plain_type(field.annotation)
                    found[name] = DeclaredOption(
                        name, extra, kind, many, None if field.is_required() else field.get_default()
                    )
    return found


def _plain_type(annotation: Any) -> tuple[Any, bool]:
    """Return the type behind annotations, unions with None and tuples, and whether there was a tuple."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _plain_type(arguments[0])
    if origin in (Union, UnionType):
        return _plain_type(next(kind for kind in arguments if kind is not NoneType))
    if origin is tuple:
        return _plain_type(arguments[0])[0], True
    return origin or annotation, False


def given_options(given: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Return the given values that are options of a model, keyed by field name instead of alias.

    None counts as not given, and so does an empty tuple, the value of a repeatable flag that was not used.

    Parameters
    ----------
    given : mapping of str to object
        Values by the name of a field or by an alias.
    model : type of BaseModel
        The model that declares the options.
    """
    found = {}
    for declared in declared_options(model).values():
        for name in declared.names:
            value = given.get(name)
            if value is not None and value != ():
                found[declared.name] = value
    return found


# -- Python arguments ------------------------------------------------------------------------------------------------


def check_arguments(function: str, given: Iterable[str], *models: type[BaseModel]) -> None:
    """Raise TypeError for an argument that is not an option. If it has been renamed, the message has the present name.

    Parameters
    ----------
    function : str
        Name of the function in the message.
    given : iterable of str
        Names of the arguments.
    *models : type of BaseModel
        The models that declare the options of the function.
    """
    declared = declared_options(*models)
    known = {name for option in declared.values() for name in option.names}
    renamed = former_names(*models)
    for name in given:
        if name in renamed:
            raise TypeError(f"{function}() has no argument {name!r} any more: use {renamed[name]!r}")
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def former_names(*models: type[BaseModel]) -> dict[str, str]:
    """Return the present names of options, keyed by their names in earlier releases."""
    return {old: name for name, one in declared_options(*models).items() for old in one.option.formerly}


def document_options(*models: type[BaseModel], without: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Return a decorator that adds the options of some models to the signature and docstring of a function.

    The function takes `**options`, and its docstring has the line `**options` among its parameters. Options in
    `without` are not added.

    Parameters
    ----------
    *models : type of BaseModel
        The models that declare the options.
    without : sequence of str, default=()
        Names of options to leave out.
    """

    def decorate(function: Function) -> Function:
        options = [one for one in declared_options(*models).values() if one.name not in without]
        own = inspect.signature(function)
        kept = [parameter for parameter in own.parameters.values() if parameter.kind != parameter.VAR_KEYWORD]
        signature = own.replace(parameters=[*kept, *map(_parameter, options)])
        function.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect, help and IPython
        if function.__doc__:
            function.__doc__ = function.__doc__.replace(OPTIONS_ENTRY, "".join(_documented(options)))
        return function

    return decorate


def _parameter(declared: DeclaredOption) -> inspect.Parameter:
    default = declared.default if declared.type is bool else None
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(declared.name, kind, default=default, annotation=_argument_type(declared))


def _argument_type(declared: DeclaredOption) -> Any:
    if declared.option.argument is not None:
        return declared.option.argument | None
    if declared.type is bool:
        return bool
    plain = str | PathLike[str] if declared.type is Path else declared.type if declared.type is int else str
    return plain | Iterable[plain] | None if declared.many else plain | None  # type: ignore[valid-type]


def _documented(options: Iterable[DeclaredOption]) -> Iterator[str]:
    for declared in options:
        shown = declared.default if declared.type is bool else declared.shown_default
        default = f", default {shown}" if shown != "" else ", optional"
        text = " ".join((declared.option.argument_help or declared.option.help).split())
        body = textwrap.fill(text, 112, initial_indent=" " * 8, subsequent_indent=" " * 8)
        yield f"    {declared.name} : {_type_text(_argument_type(declared))}{default}\n{body}\n"


def _type_text(kind: Any) -> str:
    text = kind.__name__ if isinstance(kind, type) else str(kind)
    for long in ("collections.abc.", "typing.", "os.", " | None"):
        text = text.replace(long, "")
    return text


# -- flags of several parts ------------------------------------------------------------------------------------------


def read_settings(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return parameters by learner or dataset from texts such as `pa.C=0.1`.

    Parameters
    ----------
    texts : sequence of str
        The values of `--set`.

    Raises
    ------
    SpecError
        If a text has another form.

    Examples
    --------
    >>> read_settings(["pa.C=0.1", "pa@digits.C=1"])
    {'pa': {'C': 0.1}, 'pa@digits': {'C': 1}}
    """
    settings: dict[str, dict[str, Any]] = {}
    for text in texts:
        target, parameter, value = parse_setting(text)
        settings.setdefault(target, {})[parameter] = value
    return settings


TUNE_KEYS = ("time", "metric", "split", "once")
"""Keys of the `tune` table that take a single value; `--tune KEY=VALUE` sets them."""


def read_tuning(texts: Sequence[str]) -> dict[str, Any]:
    """Return the `tune` table from texts: `auto`, `pa.C=[0.1,1]`, `representation=[words,chars]`, `time=5m`.

    Parameters
    ----------
    texts : sequence of str
        The values of `--tune`.

    Raises
    ------
    SpecError
        If a text has another form.

    Examples
    --------
    >>> read_tuning(["pa.C=[0.1,1]", "time=5m"])
    {'pa': {'C': [0.1, 1]}, 'time': '5m'}
    """
    tune: dict[str, Any] = {}
    for text in texts:
        name, equals, tried = text.partition("=")
        if text.strip() == "auto":
            tune["auto"] = True
            continue
        if equals and name.strip() == "representation":
            tune["representation"] = split_list(tried.strip().removeprefix("[").removesuffix("]"))
            continue
        if equals and name.strip() in TUNE_KEYS:
            tune[name.strip()] = tried.strip()
            continue
        target, parameter, values = parse_setting(text, "--tune")
        tune.setdefault(target, {})[parameter] = values if isinstance(values, list) else [values]
    return tune


def parse_setting(text: str, flag: str = "--set") -> tuple[str, str, Any]:
    """Return target, parameter and value of a text such as `pa.C=0.1` or `pa@digits.C=0.1`.

    Parameters
    ----------
    text : str
        The value of the flag.
    flag : str, default="--set"
        The flag in error messages.

    Raises
    ------
    SpecError
        If the text has another form. The message names the flag.

    Examples
    --------
    >>> parse_setting("pa@digits.C=0.1")
    ('pa@digits', 'C', 0.1)
    """
    name, equals, value = text.partition("=")
    target, dot, parameter = name.strip().rpartition(".")
    if not (equals and dot and target and parameter):
        raise SpecError(f"{flag} {text}: expected NAME.PARAM=VALUE, such as pa.C=0.1")
    return target, parameter, parse_value(value.strip())
