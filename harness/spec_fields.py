"""What may stand in the fields of a spec. A spec checks itself when it is made, so that its author sees it at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from harness.errors import SpecError

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.-]*")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[\w,.-]+\])?(?:\s*[<>=!~;@ ].*)?")
_FILE = re.compile(r"[A-Za-z_][\w.]*:[\w.-]+(?:/[\w.-]+)*")


class Fields:
    """The fields of one spec, to be checked one by one; SpecError names spec, field, value and what belongs there."""

    def __init__(self, spec: Any) -> None:
        self._spec = spec
        self._kind = type(spec).__name__

    def name(self) -> None:
        """`name`, which people type and which goes into file names."""
        name = self._spec.name
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise SpecError(f"{self._kind}: the name {name!r} must be lower case letters, digits, '-', '_', '.'")

    def texts(self, *names: str) -> None:
        for name in names:
            self._expect(name, isinstance(self._value(name), str), "a text")

    def target(self, name: str, *, optional: bool = False) -> None:
        """A thing to import, as text."""
        value = self._value(name)
        fits = isinstance(value, str) and _TARGET.fullmatch(value) is not None
        self._expect(name, fits or (optional and value is None), "'module:name'")

    def file(self, name: str, *, optional: bool = False) -> None:
        """A file of a package, as text."""
        value = self._value(name)
        fits = isinstance(value, str) and _FILE.fullmatch(value) is not None
        self._expect(name, fits or (optional and value == ""), "'package:folder/file'")

    def one_of(self, name: str, choices: Collection[str]) -> None:
        self._expect(name, self._value(name) in choices, f"one of {', '.join(choices)}")

    def subset(self, name: str, choices: Collection[str]) -> None:
        value = self._value(name)
        fits = isinstance(value, set | frozenset) and value <= set(choices)
        self._expect(name, fits, f"a set of {', '.join(choices)}")

    def whole_numbers(self, *names: str) -> None:
        for name in names:
            value = self._value(name)
            self._expect(name, isinstance(value, int) and not isinstance(value, bool), "a whole number")

    def flags(self, *names: str) -> None:
        for name in names:
            self._expect(name, isinstance(self._value(name), bool), "True or False")

    def sequences(self, *names: str) -> None:
        for name in names:
            self._expect(name, isinstance(self._value(name), tuple | list), "a tuple")

    def requirements(self, name: str) -> None:
        """Packages as pip takes them, each beginning with its name: options of pip's would be no package."""
        value = self._value(name)
        fits = isinstance(value, tuple) and all(isinstance(one, str) and _PACKAGE.fullmatch(one) for one in value)
        self._expect(name, fits, "a tuple of packages such as 'numpy<2'")

    def mapping(self, name: str, *, optional: bool = False) -> None:
        value = self._value(name)
        self._expect(name, isinstance(value, Mapping) or (optional and value is None), "a mapping")

    def params(self, name: str, known: Mapping[str, object] | None) -> None:
        """Values by the names of parameters; of the known ones, where the spec tells them."""
        self.mapping(name)
        for parameter in self._value(name):
            self._expect(name, isinstance(parameter, str), "a mapping from names of parameters")
            if known is not None:
                self._expect(name, parameter in known, f"values for {', '.join(known)}")

    def counts(self, name: str, known: Collection[str]) -> None:
        """A mapping from some known words to numbers."""
        value = self._value(name)
        fits = isinstance(value, Mapping) and set(value) <= set(known)
        self._expect(name, fits, f"numbers for {', '.join(known)}")

    def _value(self, name: str) -> Any:
        return getattr(self._spec, name)

    def _expect(self, name: str, fits: bool, expected: str) -> None:
        if not fits:
            raise SpecError(f"{self._kind}: {self._spec.name}.{name} is {self._value(name)!r}, expected {expected}")
