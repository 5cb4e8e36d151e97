"""Options and parameter types that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from glob import escape, glob
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from harness.errors import HarnessError
from harness.experiment.dataset_ref import is_file
from harness.home import HOME_VARIABLE
from harness.host import Catalog, discover

Command = TypeVar("Command", bound=Callable[..., Any])


def _use_data_home(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    """Name the data home in the environment, where every process that is started finds it; until the command ends."""
    if value is None:
        return
    before = os.environ.get(HOME_VARIABLE)
    os.environ[HOME_VARIABLE] = str(value.expanduser().absolute())

    def restore() -> None:
        if before is None:
            os.environ.pop(HOME_VARIABLE, None)
        else:
            os.environ[HOME_VARIABLE] = before

    ctx.call_on_close(restore)


data_home_option = click.option(
    "--data-home",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help=f"Where data is kept.  [default: {HOME_VARIABLE}, or the platform's cache folder]",
    expose_value=False,
    is_eager=True,
    callback=_use_data_home,
)


def plugin_options(command: Command) -> Command:
    """--data-home, --plugins-dir, --disable-plugin and --debug."""
    for option in (
        data_home_option,
        click.option("--debug", is_flag=True, help="Show the traceback of an error."),
        click.option(
            "--disable-plugin", "disabled", multiple=True, metavar="NAME", help="Leave out a plugin or distribution."
        ),
        click.option(
            "--plugins-dir",
            "folders",
            multiple=True,
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Also load the plugins (modules, packages) in this folder.",
        ),
    ):
        command = option(command)
    return command


class NameList(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases only
    """Names separated by commas, each completed from the catalog; data sets also from the files that are there."""

    name = "name,..."

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, started = incomplete.rpartition(",")
        items = [
            CompletionItem(f"{before}{comma}{entry.spec.name}", help=entry.spec.summary)
            for entry in entries_of(catalog_of(ctx), self.kind)
            if entry.spec.name.startswith(started)
        ]
        if self.kind != "datasets":
            return items
        if not items and not comma:  # the shell knows best how to go on into folders
            return [CompletionItem(incomplete, type="file")]
        paths = [path + "/" * Path(path).is_dir() for path in sorted(glob(f"{escape(started)}*"))]
        return items + [CompletionItem(f"{before}{comma}{path}") for path in paths if is_file(path)]


class OneName(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases only
    """One name of any of some kinds, completed from the catalog."""

    name = "name"

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        catalog = catalog_of(ctx)
        found = [entry.spec for kind in self.kinds for entry in entries_of(catalog, kind)]
        items = [CompletionItem(spec.name, help=spec.summary) for spec in found if spec.name.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file"), *items] if "experiments" in self.kinds else items


def catalog_of(ctx: click.Context) -> Catalog:
    """The catalog that the command's own plugin options describe; an empty one where they do not, to complete from."""
    try:
        return discover(ctx.params.get("folders") or (), ctx.params.get("disabled") or ())
    except HarnessError:
        return Catalog()


def entries_of(catalog: Catalog, kind: str) -> tuple[Any, ...]:
    """The entries of one kind: learners, datasets, metrics or experiments."""
    entries: tuple[Any, ...] = getattr(catalog, kind)
    return entries
