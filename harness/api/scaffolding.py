"""A new package for whatever a plugin brings, a learner or an experiment: ready to install, and passing its checks.

What is written stands in `templates`, a folder for each kind beside what all have in common. `_module_` in the
name of a file, and `$name` and the like in its text, are what differs from package to package.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from harness.catalog import Catalog
from harness.choices import choose
from harness.errors import HarnessError

ENDING = ".template"
COMMON = "common"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class PackageKind:
    """What packages of one kind have that others have not."""

    words: str
    file: str
    """Where its author begins."""
    things: str
    """The field of a catalog that lists such things."""
    try_it: str
    """A command that puts it to use."""


KINDS_OF_PACKAGES: Mapping[str, PackageKind] = {
    "learner": PackageKind("learner", "learner.py", "learners", "harness run --learners pa,$name --datasets digits"),
    "dataset": PackageKind("data set", "loading.py", "datasets", "harness run --learners pa --datasets $name"),
    "metric": PackageKind(
        "metric",
        "computing.py",
        "metrics",
        "harness run --learners pa --datasets digits --metrics $name",
    ),
    "representation": PackageKind(
        "representation",
        "transformer.py",
        "representations",
        "harness run --learners pa --datasets digits --representation $name",
    ),
    "experiment": PackageKind("experiment", "experiment.toml", "experiments", "harness run $name"),
}


def new_package(kind: str, name: str, folder: Path | None = None, catalog: Catalog | None = None) -> list[Path]:
    """Write a package of a kind under a name; gives the files, in a folder of that name unless told another.

    Nothing that is there is overwritten. A name that a plugin of the catalog gives already is refused.
    """
    chosen = choose(KINDS_OF_PACKAGES, kind, "new")
    _check_name(name, chosen, catalog or Catalog())
    place = folder or Path(name)
    if place.exists():
        raise HarnessError(f"{place} is there already: nothing is overwritten, choose another folder with --out")
    words = _words_for(name, chosen)
    templates = resources.files("harness.api") / "templates"
    files = {}
    for source in (COMMON, kind):
        for path, text in _texts_below(templates / source):
            files[place / path.replace("_module_", words["module"])] = Template(text).substitute(words)
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return list(files)


def _words_for(name: str, kind: PackageKind) -> dict[str, str]:
    """What stands for each word of a template."""
    return {
        "name": name,
        "kind": kind.words,
        "file": kind.file,
        "module": name.replace("-", "_"),
        "class_name": "".join(map(str.capitalize, name.split("-"))),
        "distribution": f"harness-{name}",
        "try_it": kind.try_it.replace("$name", name),
        "verify": f"harness check {name}",
    }


def _texts_below(folder: Traversable, before: str = "") -> Iterator[tuple[str, str]]:
    """The templates in a folder and below, each with its place there."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts_below(entry, f"{before}{entry.name}/")
        elif entry.name.endswith(ENDING):
            yield before + entry.name.removesuffix(ENDING), entry.read_text(encoding="utf-8")


def _check_name(name: str, kind: PackageKind, catalog: Catalog) -> None:
    """HarnessError for a name that cannot be typed, imported or told from another."""
    if not NAME.fullmatch(name):
        raise HarnessError(
            f"{name!r} is no name for a {kind.words}: expected small letters, digits and single hyphens, such as my-own"
        )
    module = name.replace("-", "_")
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or module.split("_")[0] == "harness":
        raise HarnessError(f"{name!r} cannot be a package: Python or harness has a module {module!r} already")
    taken = [entry.origin for entry in getattr(catalog, kind.things) if entry.spec.name == name]
    if taken:
        raise HarnessError(f"there is a {kind.words} {name!r} already, of {taken[0]}: choose another name")
