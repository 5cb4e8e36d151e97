"""Options and parameter types that several commands share, and `harness completion`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from glob import escape, glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from harness.errors import HarnessError
from harness.experiment.options import DeclaredOption, declared_options
from harness.files.home import HOME_VARIABLE
from harness.host.catalog import Catalog, Entry
from harness.host.discovery import Session
from harness.report.tables.render import FORMATS
from harness.syntax.values import is_file

if TYPE_CHECKING:
    from pydantic import BaseModel

Command = Callable[..., Any]


class FilePath(click.Path):
    """A path that is not empty.

    `--out "$FOLDER"` with an empty variable would otherwise be the current folder.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value).strip():
            self.fail("the path is empty; write . for the current folder", param, ctx)
        if "\0" in str(value):
            self.fail("a path cannot have a null character", param, ctx)
        return super().convert(value, param, ctx)


def _use_data_home(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    """Set the data home in the environment, which child processes inherit, until the command ends."""
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
    help=f"Folder for datasets and environments.  [default: ${HOME_VARIABLE}, or the platform's cache folder]",
    expose_value=False,
    is_eager=True,
    callback=_use_data_home,
)


def plugin_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --data-home, --plugins-dir, --disable-plugin and --debug to a command.

    The command gets its plugins as the argument `session`.
    """

    @wraps(command)
    def with_session(*args: Any, folders: tuple[Path, ...], disabled: tuple[str, ...], **rest: Any) -> Any:
        return command(*args, session=Session(folders, disabled), **rest)

    for option in (_PLUGINS_DIR, _DISABLE_PLUGIN, _DEBUG, data_home_option):
        with_session = option(with_session)
    return with_session


_DEBUG = click.option("--debug", is_flag=True, help="Print the traceback of an error.")
_DISABLE_PLUGIN = click.option(
    "--disable-plugin",
    "disabled",
    multiple=True,
    metavar="NAME",
    help="Ignore this plugin or distribution. Repeatable.",
)
_PLUGINS_DIR = click.option(
    "--plugins-dir",
    "folders",
    multiple=True,
    metavar="DIR",
    type=FilePath(),
    help="Load the plugins (modules, packages) in this folder, too. Repeatable.",
)


class NameList(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases only
    """Names separated by commas. The shell completes each from the catalog, and datasets also from files."""

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
        if not items and not comma:  # leave folders to the shell
            return [CompletionItem(incomplete, type="file")]
        for found in sorted(glob(f"{escape(started)}*")):
            path = f"{found}/" if Path(found).is_dir() else found
            if is_file(path):
                items.append(CompletionItem(f"{before}{comma}{path}"))
        return items


def names_option(*declarations: str, kind: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return an option that takes names separated by commas; repeated options add up."""
    return click.option(*declarations, type=NameList(kind), multiple=True, callback=_together, **more)


def _together(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> str | None:
    return ",".join(values) or None


class OneName(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases only
    """One name of some kinds, which the shell completes from the catalog."""

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
    """Return the catalog for completion by the command's plugin options; empty if the options are invalid."""
    try:
        return Session(ctx.params.get("folders") or (), ctx.params.get("disabled") or ()).catalog
    except HarnessError:
        return Catalog()


def entries_of(catalog: Catalog, thing: str) -> tuple[Entry[Any], ...]:
    """Return the entries of one of `harness.host.catalog.THINGS`."""
    entries: tuple[Entry[Any], ...] = getattr(catalog, thing)
    return entries


def model_options(model: type[BaseModel], *only: str) -> Callable[[Command], Command]:
    """Give a command the options that a model declares, or `only` some of them.

    The command gets each value under the name of its field, or None if the flag is not given.
    """

    def decorate(command: Command) -> Command:
        for declared in reversed(declared_options(model).values()):
            if not only or declared.name in only:
                for old in declared.option.formerly:
                    command = _former_flag(old, declared.name)(command)
                command = _flag(declared)(command)
        return command

    return decorate


def _flag(declared: DeclaredOption) -> Callable[[Command], Command]:
    option = declared.option
    flags = [f"--{_dashed(name)}" for name in declared.names]
    shown = f"  [default: {declared.shown_default}]" if declared.shown_default else ""
    more: dict[str, Any] = {"help": f"{option.help}{shown}", "metavar": option.metavar or None}
    if option.names:
        return names_option(declared.name, *flags, kind=option.names, help=more["help"])
    if option.read_flags is not None:
        return click.option(declared.name, *flags, multiple=True, callback=_reader(option.read_flags), **more)
    if declared.type is bool:
        return _switch(declared)
    if option.bare:
        more |= {"is_flag": False, "flag_value": option.bare}
    kinds = {int: int, Path: FilePath()}
    kind = str if option.argument is not None else kinds.get(declared.type, str)  # the model parses texts such as 4GB
    return click.option(declared.name, *flags, type=kind, multiple=declared.many, **more)


def _switch(declared: DeclaredOption) -> Callable[[Command], Command]:
    name = _dashed(declared.name)
    flag = f"--{name}/--no-{name}" if declared.option.negatable else f"--{name}"
    shown = f"  [default: {name}]" if declared.default else ""
    return click.option(declared.name, flag, is_flag=True, default=None, help=f"{declared.option.help}{shown}")


def _reader(read: Callable[[Sequence[str]], Any]) -> Callable[..., Any]:
    def callback(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> Any:
        return read(texts) if texts else None

    return callback


def _former_flag(old: str, new: str) -> Callable[[Command], Command]:
    """Return a hidden flag whose use is an error that names the current flag."""

    def refuse(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise click.UsageError(f"--{_dashed(old)} is now --{_dashed(new)}.", ctx)

    flag = f"--{_dashed(old)}"
    return click.option(flag, is_flag=False, flag_value="", hidden=True, expose_value=False, callback=refuse)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


format_option = click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="terminal",
    show_default=True,
    help="Format of the output.",
)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell completion script; enable it with eval "$(harness completion bash)"."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "harness", "_HARNESS_COMPLETE").source())
