"""Options and parameter types that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from glob import escape, glob
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from harness.api.session import Session
from harness.catalog import Catalog, Entry
from harness.errors import HarnessError
from harness.experiment.dataset_ref import is_file
from harness.experiment.units import parse_duration
from harness.home import HOME_VARIABLE


class FilePath(click.Path):
    """A path that is not empty: `--out "$FOLDER"` with nothing in FOLDER would be the folder that one is in."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value).strip():
            self.fail("expected a path, and it is empty; write . for the folder that you are in", param, ctx)
        if "\0" in str(value):
            self.fail("a path has no null character in it", param, ctx)
        return super().convert(value, param, ctx)


def _use_data_home(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    """Name the data home in the environment, where every process that is started finds it; until the command ends."""
    if value is None:
        return
    before = os.environ.get(HOME_VARIABLE)
    os.environ[HOME_VARIABLE] = os.path.abspath(os.path.expanduser(value))

    def restore() -> None:
        if before is None:
            os.environ.pop(HOME_VARIABLE, None)
        else:
            os.environ[HOME_VARIABLE] = before

    ctx.call_on_close(restore)


data_home_option = click.option(
    "--data-home",
    metavar="DIR",
    type=FilePath(),
    help=f"Where data is kept.  [default: {HOME_VARIABLE}, or the platform's cache folder]",
    expose_value=False,
    is_eager=True,
    callback=_use_data_home,
)


def plugin_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--data-home, --plugins-dir, --disable-plugin and --debug; the command gets its plugins as a `session`."""

    @wraps(command)
    def with_session(*args: Any, folders: tuple[Path, ...], disabled: tuple[str, ...], **rest: Any) -> Any:
        return command(*args, session=Session(folders, disabled), **rest)

    for option in (_PLUGINS_DIR, _DISABLE_PLUGIN, _DEBUG, data_home_option):
        with_session = option(with_session)
    return with_session


_DEBUG = click.option("--debug", is_flag=True, help="Show the traceback of an error.")
_DISABLE_PLUGIN = click.option(
    "--disable-plugin", "disabled", multiple=True, metavar="NAME", help="Leave out a plugin or distribution."
)
_PLUGINS_DIR = click.option(
    "--plugins-dir",
    "folders",
    multiple=True,
    metavar="DIR",
    type=FilePath(),
    help="Also load the plugins (modules, packages) in this folder.",
)


class NameList(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases only
    """Names separated by commas, each completed from the catalog; data sets also from the files that are there."""

    name = "name,..."

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, started = incomplete.rpartition(",")
        items = []
        for entry in entries_of(catalog_of(ctx), self.kind):
            if entry.spec.name.startswith(started):
                items.append(CompletionItem(f"{before}{comma}{entry.spec.name}", help=entry.spec.summary))
        if self.kind != "datasets":
            return items
        if not items and not comma:  # the shell knows best how to go on into folders
            return [CompletionItem(incomplete, type="file")]
        for found in sorted(glob(f"{escape(started)}*")):
            path = f"{found}/" if Path(found).is_dir() else found
            if is_file(path):
                items.append(CompletionItem(f"{before}{comma}{path}"))
        return items


def names_option(*declarations: str, kind: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that takes names separated by commas, and may stand several times: what is given adds up."""
    return click.option(*declarations, type=NameList(kind), multiple=True, callback=_together, **more)


def _together(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> str | None:
    return ",".join(values) or None


class OneName(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases only
    """One name of any of some kinds, completed from the catalog."""

    name = "name"

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        catalog = catalog_of(ctx)
        items = []
        if "experiments" in self.kinds:  # an experiment may also be a file
            items.append(CompletionItem(incomplete, type="file"))
        for kind in self.kinds:
            for entry in entries_of(catalog, kind):
                if entry.spec.name.startswith(incomplete):
                    items.append(CompletionItem(entry.spec.name, help=entry.spec.summary))
        return items


def catalog_of(ctx: click.Context) -> Catalog:
    """The catalog that the command's own plugin options describe; an empty one where they do not, to complete from."""
    try:
        return Session(ctx.params.get("folders") or (), ctx.params.get("disabled") or ()).catalog
    except HarnessError:
        return Catalog()


def entries_of(catalog: Catalog, thing: str) -> tuple[Entry[Any], ...]:
    """The entries of one of `harness.catalog.THINGS`."""
    entries: tuple[Entry[Any], ...] = getattr(catalog, thing)
    return entries


def read_duration(text: str, flag: str) -> float:
    """Seconds, from a time such as 90s or 10m."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=flag) from None
