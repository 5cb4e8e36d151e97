"""`harness data`: what lies in the data home, getting it there, checking it, clearing it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from harness.cli.description import show_bytes, show_header, show_profile, show_spec
from harness.cli.lists import show_rows
from harness.cli.options import FilePath, OneName, data_home_option, plugin_options
from harness.contract import DatasetSpec
from harness.data.arrays import Header, open_dataset
from harness.data.downloading import Patience, Watcher
from harness.data.folders import remove, size_of
from harness.data.importing import Intake, fetch_dataset, gather, take_in
from harness.data.inventory import belongings, bytes_of, default_form, names_at_hand, state_of
from harness.data.inventory import verify as findings_of
from harness.data.profile import profile_of
from harness.errors import HarnessError
from harness.executors import loading_executor
from harness.experiment.dataset_ref import parse_dataset
from harness.experiment.resolve import resolve_dataset
from harness.home import data_home, raw_folder
from harness.runner import prepare_dataset
from harness.wording import counted

if TYPE_CHECKING:
    from harness.api import Session

SOMETHING_WRONG = 1
NAME = OneName("datasets")


@click.group()
@data_home_option
def data() -> None:
    """Get data sets, look at them, check them and clear them away."""


# -- looking ---------------------------------------------------------------------------------------------------------


@data.command("list")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@plugin_options
def list_data(as_json: bool, session: Session, debug: bool) -> None:
    """List the data sets, and how far each is from being run on."""
    specs = [entry.spec for entry in session.catalog.datasets]
    rows = []
    for spec in sorted(specs, key=attrgetter("name")):
        n_bytes = bytes_of(spec.name)
        rows.append(
            {
                "name": spec.name,
                "state": state_of(spec),
                "bytes": n_bytes if as_json else show_bytes(n_bytes),
                "licence": spec.licence,
                "summary": spec.summary,
            }
        )
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    show_rows(rows, {"licence": 24, "summary": 30}, ["licence"], "`harness data info NAME` tells it.")
    click.echo(f"\nThe data home is {data_home()}.", err=True)


@data.command()
@click.argument("name", type=NAME)
@click.option("--parse", "read", is_flag=True, help="Read the data set if it has not been, and tell what is in it.")
@plugin_options
def info(name: str, read: bool, session: Session, debug: bool) -> None:
    """Tell all about a data set, or a file of your own: licence, citation, files, facts, what was found in it."""
    catalog = session.catalog
    is_registered = name in [entry.spec.name for entry in catalog.datasets]
    if is_registered and not read:
        entry = catalog.dataset(name)
        show_spec(entry)
        _show_content(default_form(entry), entry.spec.facts)
        return
    dataset = resolve_dataset(parse_dataset(name), catalog)
    with loading_executor(session.folders) as executor:
        header = prepare_dataset(dataset, executor)
    show_spec(dataset.entry)  # what is in the data home by now counts
    _show_content(header, dataset.entry.spec.facts if is_registered else {})


def _show_content(header: Header | None, facts: Mapping[str, int]) -> None:
    """What was found in a data set, and what it is like."""
    show_header(header, facts)
    if header is not None:
        show_profile(profile_of(open_dataset(Path(header.folder))))


# -- getting ---------------------------------------------------------------------------------------------------------


@data.command()
@click.argument("name", type=NAME)
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(0.1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Give up on a server that is silent for so long.",
)
@click.option("--attempts", type=click.IntRange(1), default=4, show_default=True, help="Ask each server so often.")
@click.option("--accept-differences", is_flag=True, help="Keep data that is not as described, and mark it.")
@plugin_options
def fetch(
    name: str,
    seconds: float,
    attempts: int,
    accept_differences: bool,
    session: Session,
    debug: bool,
) -> None:
    """Download a data set into the data home. The same command again goes on where it broke off."""
    entry = session.catalog.dataset(name)
    raw = raw_folder(entry.spec.name)
    if raw.exists():
        again = f"`harness data clear {entry.spec.name} --raw` makes room to get them again"
        click.echo(f"the raw files of {entry.spec.name} are there already, in {raw}; {again}")
        return
    patience = Patience(connect_seconds=min(seconds, 15.0), silence_seconds=seconds, attempts=attempts)
    with loading_executor(session.folders) as executor, _watching() as watcher:
        intake = fetch_dataset(
            entry, executor, patience=patience, watcher=watcher, accept_differences=accept_differences
        )
    _show_intake(intake, entry.spec)


@data.command("import")
@click.argument("name", type=NAME)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FilePath())
@click.option("--accept-differences", is_flag=True, help="Keep data that is not as described, and mark it.")
@plugin_options
def import_files(
    name: str,
    files: tuple[Path, ...],
    accept_differences: bool,
    session: Session,
    debug: bool,
) -> None:
    """Take files (or a folder of them) that you have into the data home, once what is inside has been checked."""
    entry = session.catalog.dataset(name)
    with loading_executor(session.folders) as executor:
        intake = take_in(entry, gather(files), executor, accept_differences=accept_differences)
    _show_intake(intake, entry.spec)


def _show_intake(intake: Intake, spec: DatasetSpec) -> None:
    published = {file.name: file.sha256 for file in spec.files if file.sha256}
    for file in intake.manifest.files:
        if published.get(file.file, file.sha256) != file.sha256:
            click.echo(f"{file.file} is not the published file, byte for byte; what is inside was checked", err=True)
    for difference in intake.manifest.differences:
        click.echo(f"accepted although it is not as described: {difference}", err=True)
    files = counted(len(intake.manifest.files), "file")
    n_bytes = sum(file.bytes for file in intake.manifest.files)
    click.echo(f"{spec.name}: {files}, {show_bytes(n_bytes)}; {intake.header.found}")


@contextmanager
def _watching() -> Iterator[Watcher]:
    """A bar at a terminal, a line for each file elsewhere; troubles are told as they happen."""
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(24), DownloadColumn(), TransferSpeedColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:

        def on_bytes(name: str, received: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name)
                console.print(f"downloading {name}")
            bar.update(tasks[name], completed=received, total=total)

        yield Watcher(on_bytes, console.print)


# -- checking and clearing -------------------------------------------------------------------------------------------


@data.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", type=NAME)
@plugin_options
def verify(names: tuple[str, ...], session: Session, debug: bool) -> int:
    """Hash raw files and parsed arrays again, of all data sets or of some; exit code 1 when something has changed."""
    catalog = session.catalog
    chosen = [catalog.dataset(name) for name in names] or list(catalog.datasets)
    code = 0
    for entry in chosen:
        findings = list(findings_of(entry))
        troubles = [finding for finding in findings if finding.trouble]
        for finding in troubles:
            click.echo(f"{entry.spec.name}: {finding.path} {finding.trouble}")
        if troubles:
            code = SOMETHING_WRONG
        elif findings:
            click.echo(f"{entry.spec.name}: sound ({len(findings):,} checked)")
        elif names:
            click.echo(f"{entry.spec.name}: nothing of it is in the data home")
    return code


@data.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", type=NAME)
@click.option("--parsed", "only_parsed", is_flag=True, help="Only what was made from the raw files.")
@click.option("--raw", "only_raw", is_flag=True, help="Only raw files and unfinished downloads.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@plugin_options
def clear(
    names: tuple[str, ...],
    only_parsed: bool,
    only_raw: bool,
    yes: bool,
    session: Session,
    debug: bool,
) -> None:
    """Remove data sets, all or some, from the data home; never anything outside of it."""
    catalog = session.catalog
    at_hand = names_at_hand(entry.spec.name for entry in catalog.datasets)
    for name in set(names) - set(at_hand):
        catalog.dataset(name)  # a name that nobody knows is an error, one that has nothing there is not
    both = only_parsed == only_raw
    paths = belongings(names or at_hand, raw=only_raw or both, parsed=only_parsed or both)
    if not paths:
        click.echo(f"nothing to remove in {data_home()}")
        return
    for path in paths:
        click.echo(f"{show_bytes(size_of(path)):>10}  {path}")
    if not yes and not click.confirm(f"Remove these {len(paths)}?"):
        raise HarnessError("nothing was removed")
    for path in paths:
        remove(path)
    click.echo(f"removed {len(paths)}")
