"""Commands about what the data home keeps: datasets (`harness data`) and Python environments (`harness env`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TransferSpeedColumn
from rich.progress import Progress as ProgressBar

from harness.cli.options import FilePath, OneName, data_home_option, plugin_options
from harness.cli.output import print_note, print_warning, reader_width, show_rows
from harness.data.arrays import Header, open_dataset
from harness.data.fetch import Intake, Patience, Watcher, fetch_dataset, gather, take_in
from harness.data.inventory import (
    FEW,
    ClassSize,
    DataProfile,
    Repeats,
    available_names,
    belongings,
    bytes_of,
    default_form,
    profile_of,
    state_of,
)
from harness.data.inventory import verify as findings_of
from harness.environments import (
    Environment,
    EnvironmentManifest,
    ReadyEnvironment,
    check_kept,
    describe_state,
    environment_for,
    list_environments,
    remove_environment,
)
from harness.errors import HarnessError, SpecError
from harness.executors.local import loading_executor
from harness.experiment.load import ALL
from harness.experiment.references import parse_dataset
from harness.experiment.resolve import Progress, find_or_build_environment, prepare_dataset, resolve_dataset
from harness.files.atomic import size_of
from harness.files.home import data_home, environments_root, raw_folder, read_raw_manifest, remove
from harness.host.catalog import Catalog, Entry
from harness.host.contract import DatasetSpec
from harness.host.discovery import Session
from harness.report.tables.layout import wrap_lines
from harness.runner.progress import choose_progress
from harness.text import counted, in_a_line

if TYPE_CHECKING:
    from harness.host.discovery import Session


KEY_WIDTH = 16
COUNTS = ("rows", "features", "classes", "nonzeros", "taxonomy_depth")
"""Numbers that `harness data info` shows from the header, in this order."""


def show_spec(entry: Entry[DatasetSpec]) -> None:
    """Print the description of a dataset and its raw files in the data home."""
    spec = entry.spec
    raw_files = raw_folder(spec.name)
    manifest = read_raw_manifest(raw_files)
    _print_fact("name", spec.name)
    _print_fact("summary", spec.summary)
    _print_fact("from", f"{entry.origin.plugin} of {entry.origin}")
    _print_fact("state", f"{state_of(spec)}, {show_bytes(bytes_of(spec.name))} in the data home")
    _print_fact("licence", spec.licence)
    _print_fact("citation", spec.citation)
    _print_fact("source", spec.obtain)
    for file in spec.files:
        _print_fact("file", f"{file.name} (SHA-256 {file.sha256 or 'not known'})")
        for url in file.urls:
            _print_fact("", f"at {url}")
    if manifest is not None:
        _print_fact("raw files", str(raw_files))
        for raw in manifest.files[:20]:
            _print_fact("", f"{raw.file}, {raw.bytes:,} bytes, {raw.sha256}, {raw.origin}, {raw.when}")
        if len(manifest.files) > 20:
            _print_fact("", f"and {len(manifest.files) - 20:,} more")
        for difference in manifest.differences:
            _print_fact("accepted", difference)


def show_header(header: Header | None, facts: Mapping[str, int]) -> None:
    """Print the measured size of a dataset beside the described one."""
    if header is None:
        _print_fact("described as", ", ".join(f"{fact:,} {name}" for name, fact in facts.items()))
        _print_fact("parsed", "no; use --parse")
        return
    _print_fact("parsed", header.folder)
    _print_fact("fingerprint", header.fingerprint)
    _print_fact("revision", header.revision)
    _print_fact("found", header.found)
    for name in COUNTS:
        value = getattr(header, name)
        if value is None and name not in facts:
            continue  # texts have no features
        shown = "none" if value is None else f"{value:,}"
        if name in facts:
            shown += f" (described as {facts[name]:,})"
        _print_fact(name.replace("_", " "), shown)
    _print_fact("multi-label", "yes" if header.multilabel else "no")
    for name, (train, test) in header.splits.items():
        _print_fact("split", f"{name}: {train:,} + {test:,}")


def show_profile(profile: DataProfile) -> None:
    """Print class sizes, repeated texts, lengths and the taxonomy of a dataset."""
    _print_fact("classes of 1", f"{profile.singletons:,} (a single row cannot be in both training and test set)")
    _print_fact(f"of 2 to {FEW - 1}", f"{profile.near_empty:,} classes")
    for which in ("smallest", "largest"):
        size: ClassSize = getattr(profile, which)
        _print_fact(which, f"{in_a_line(size.name, 60)}, {counted(size.rows, 'row')}")
    if profile.unlabelled:
        _print_fact("unlabelled", counted(profile.unlabelled, "row"))
    _print_fact("empty or blank", counted(profile.empty, "row"))
    if profile.repeats is not None:
        _show_repeats(profile.repeats, profile.rows)
    quantiles = [f"{share:.0%} {length:,.0f}" for share, length in profile.lengths]
    _print_fact("length", f"{profile.length_unit} a row, quantiles: {', '.join(quantiles)}")
    if profile.taxonomy_nodes is not None:
        several = (
            f", {counted(profile.several_parents, 'node')} with several parents" if profile.several_parents else ""
        )
        _print_fact("taxonomy", f"{profile.taxonomy_nodes:,} nodes, depth {profile.taxonomy_depth}{several}")


def _show_repeats(repeats: Repeats, rows: int) -> None:
    _print_fact(
        "repeated texts",
        f"{counted(repeats.rows, 'row')} ({repeats.rows / rows:.1%}) repeat the text of an earlier row",
    )
    _print_fact("conflicting", f"{counted(repeats.conflicting, 'row')} have the text of another row and other labels")
    _print_fact("highest R1", f"{repeats.highest_r1:.4f} possible, since equal texts get equal predictions")


def _print_fact(key: str, value: str) -> None:
    if not value:
        return
    lines = wrap_lines([value], reader_width() - KEY_WIDTH)
    for word, line in zip_longest([key], lines, fillvalue=""):
        click.echo(f"{word:<{KEY_WIDTH - 1}} {line}")


def show_bytes(n_bytes: int) -> str:
    """Return a number of bytes with its unit: 14.5 MB."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    size = float(n_bytes)
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{size:,.1f} {unit}"
    return f"{size / 1000:,.1f} TB"


SOMETHING_WRONG = 1
NAME = OneName("datasets")


@click.group()
@data_home_option
def data() -> None:
    """Fetch, describe, check and remove datasets."""


# -- listing ---------------------------------------------------------------------------------------------------------


@data.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plugin_options
def list_data(as_json: bool, session: Session, debug: bool) -> None:
    """List datasets: ready, to be fetched, or to be imported."""
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
    show_rows(rows, {"licence": 24, "summary": 30}, ["licence"], "Use `harness data info NAME` to see it.")
    click.echo(f"\nData home: {data_home()}", err=True)


@data.command()
@click.argument("name", type=NAME)
@click.option("--parse", "read", is_flag=True, help="Parse the dataset first, if needed, and describe its content.")
@plugin_options
def info(name: str, read: bool, session: Session, debug: bool) -> None:
    """Describe a dataset or a file: licence, citation, files, size, classes."""
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
    show_spec(dataset.entry)  # after parsing, which may add files
    _show_content(header, dataset.entry.spec.facts if is_registered else {})


def _show_content(header: Header | None, facts: Mapping[str, int]) -> None:
    """Print the size and the profile of a parsed dataset."""
    show_header(header, facts)
    if header is not None:
        show_profile(profile_of(open_dataset(Path(header.folder))))


# -- fetching --------------------------------------------------------------------------------------------------------


@data.command()
@click.argument("name", type=NAME)
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(0.1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Give up on a server that sends nothing for this long.",
)
@click.option(
    "--attempts", type=click.IntRange(1), default=4, show_default=True, help="Number of attempts with each server."
)
@click.option("--accept-differences", is_flag=True, help="Accept data that differs from its description, and mark it.")
@plugin_options
def fetch(
    name: str,
    seconds: float,
    attempts: int,
    accept_differences: bool,
    session: Session,
    debug: bool,
) -> None:
    """Download a dataset into the data home. Repeat the command to resume."""
    entry = session.catalog.dataset(name)
    raw = raw_folder(entry.spec.name)
    if raw.exists():
        again = f"To fetch again: `harness data clear {entry.spec.name} --raw`"
        click.echo(f"{entry.spec.name} is already in {raw}. {again}")
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
@click.option("--accept-differences", is_flag=True, help="Accept data that differs from its description, and mark it.")
@plugin_options
def import_files(
    name: str,
    files: tuple[Path, ...],
    accept_differences: bool,
    session: Session,
    debug: bool,
) -> None:
    """Copy files of a dataset, or a folder of them, into the data home after checking their content."""
    entry = session.catalog.dataset(name)
    with loading_executor(session.folders) as executor:
        intake = take_in(entry, gather(files), executor, accept_differences=accept_differences)
    _show_intake(intake, entry.spec)


def _show_intake(intake: Intake, spec: DatasetSpec) -> None:
    published = {file.name: file.sha256 for file in spec.files if file.sha256}
    for file in intake.manifest.files:
        if published.get(file.file, file.sha256) != file.sha256:
            print_note(f"{file.file} differs from the published file, but its content passed the checks.")
    for difference in intake.manifest.differences:
        print_warning(f"accepted a difference from the description: {difference}")
    files = counted(len(intake.manifest.files), "file")
    n_bytes = sum(file.bytes for file in intake.manifest.files)
    click.echo(f"{spec.name}: {files}, {show_bytes(n_bytes)}; {intake.header.found}")


@contextmanager
def _watching() -> Iterator[Watcher]:
    """Show a progress bar at a terminal, and a line for each file elsewhere."""
    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(24), DownloadColumn(), TransferSpeedColumn())
    tasks: dict[str, TaskID] = {}
    with ProgressBar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:

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
    """Check the checksums of datasets in the data home, by default of all. Exit with 1 if a file has changed."""
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
            click.echo(f"{entry.spec.name}: ok ({counted(len(findings), 'file')})")
        elif names:
            click.echo(f"{entry.spec.name}: not in the data home")
    return code


@data.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", type=NAME)
@click.option("--parsed", "only_parsed", is_flag=True, help="Remove only parsed data.")
@click.option("--raw", "only_raw", is_flag=True, help="Remove only raw files and unfinished downloads.")
@click.option("--yes", is_flag=True, help="Remove without asking.")
@plugin_options
def clear(
    names: tuple[str, ...],
    only_parsed: bool,
    only_raw: bool,
    yes: bool,
    session: Session,
    debug: bool,
) -> None:
    """Remove datasets from the data home, by default all. Files outside are never removed."""
    catalog = session.catalog
    available = available_names(entry.spec.name for entry in catalog.datasets)
    for name in set(names) - set(available):
        catalog.dataset(name)  # an unknown name is an error; a dataset without files is not
    both = only_parsed == only_raw
    paths = belongings(names or available, raw=only_raw or both, parsed=only_parsed or both)
    if not paths:
        click.echo(f"nothing to remove in {data_home()}")
        return
    for path in paths:
        click.echo(f"{show_bytes(size_of(path)):>10}  {path}")
    if not yes and not click.confirm(f"Remove these {len(paths)}?"):
        raise HarnessError("nothing removed")
    for path in paths:
        remove(path)
    click.echo(f"removed {counted(len(paths), 'path')}")


@dataclass(frozen=True)
class EnvironmentLine:
    """An environment, its state, and the learners that run in it."""

    name: str
    state: str
    requirements: tuple[str, ...]
    learners: tuple[str, ...]
    n_bytes: int = 0


def describe_environments(session: Session) -> list[EnvironmentLine]:
    """Return the environments that learners need, then the unused ones."""
    users: dict[tuple[str, ...], list[str]] = {}
    for entry in session.catalog.learners:
        environment = environment_for(entry.spec.environment)
        if environment is not None:
            users.setdefault(environment.requirements, []).append(entry.spec.name)
    kept = {one.name: one for one in list_environments()}
    lines = []
    for requirements, names in sorted(users.items()):
        environment = environment_for(requirements)
        assert environment is not None
        found = kept.pop(environment.name, None)
        n_bytes = found.n_bytes if found else 0
        line = EnvironmentLine(
            environment.name, describe_state(environment), requirements, tuple(sorted(names)), n_bytes
        )
        lines.append(line)
    for name, other in kept.items():
        lines.append(
            EnvironmentLine(name, _describe_unused(other.manifest), other.manifest.requirements, (), other.n_bytes)
        )
    return lines


def _describe_unused(manifest: EnvironmentManifest) -> str:
    """Return why no learner uses an environment; another installation may share the data home."""
    if manifest.prefix not in ("", sys.prefix):
        return f"belongs to {manifest.prefix}"
    return "unused"


def build_environments(names: Sequence[str], session: Session, progress: Progress) -> dict[str, ReadyEnvironment]:
    """Build missing environments of learners.

    Parameters
    ----------
    names : names of learners; `all` means all learners that have an environment.
    session : Session
        Installed plugins.
    progress : Progress
        Receives a line for each environment.

    Returns
    -------
    dict
        The environment of each learner.

    Raises
    ------
    HarnessError
        If an environment cannot be built, after the others were built; names each of them.
    """
    wanted = {name: _environment_of(name, session.catalog) for name in spell_out_all(names, session.catalog)}
    ready: dict[str, ReadyEnvironment] = {}
    failed: dict[str, HarnessError] = {}
    for name, environment in wanted.items():
        if environment.name in failed:  # failed for another learner
            continue
        try:
            ready[name] = find_or_build_environment(environment, [name], build=True, say=progress.say)
        except HarnessError as error:
            failed[environment.name] = error
            progress.say(error.complaint)
    if failed:
        raise _all_of(list(failed.values()), built=len({one.name for one in ready.values()}))
    return ready


def _environment_of(name: str, catalog: Catalog) -> Environment:
    environment = environment_for(catalog.learner(name).spec.environment)
    if environment is None:
        raise SpecError("needs no environment", culprit=f"learner {name!r}")
    return environment


def _all_of(errors: Sequence[HarnessError], *, built: int) -> HarnessError:
    """Return one error for several."""
    if len(errors) == 1 and not built:
        return errors[0]
    lines = "\n".join(str(error) for error in errors)
    return HarnessError(f"{counted(len(errors), 'environment')} could not be built; {built} are ready\n{lines}")


def spell_out_all(names: Sequence[str], catalog: Catalog) -> list[str]:
    """Return the names, with `all` replaced by all learners that have an environment.

    Parameters
    ----------
    names : sequence of str
        Names of learners, or `all`.
    catalog : Catalog
        The registered learners.
    """
    if ALL not in names:
        return list(names)
    in_need = [entry.spec.name for entry in catalog.learners if entry.spec.environment]
    return list(dict.fromkeys([*(name for name in names if name != ALL), *sorted(in_need)]))


def remove_environments(names: Sequence[str], session: Session) -> list[str]:
    """Remove environments, by their names or by names of learners, and return the names of the environments.

    Parameters
    ----------
    names : sequence of str
        Names of environments or of learners.
    session : Session
        The plugins that register the learners.

    Raises
    ------
    HarnessError
        If a name is unknown. No environment is removed then.
    """
    doomed = list(dict.fromkeys(_name_of(name, session.catalog) for name in names))
    for name in doomed:
        check_kept(name)  # all names are checked before the first removal
    for name in doomed:
        remove_environment(name)
    return doomed


def _name_of(text: str, catalog: Catalog) -> str:
    """Return the name of the learner's environment; the text itself if no learner has this name."""
    for entry in catalog.learners:
        environment = environment_for(entry.spec.environment)
        if entry.spec.name == text and environment is not None:
            return environment.name
    return text


NAMES = click.argument("names", nargs=-1, required=True, type=OneName("learners"))
FOLDED = {"state": 12, "packages": 24, "learners": 20}


@click.group()
@data_home_option
def env() -> None:
    """List, build and remove the Python environments of learners that need one."""


@env.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plugin_options
def list_env(as_json: bool, session: Session, debug: bool) -> None:
    """List environments, their state and the learners that use them."""
    lines = describe_environments(session)
    if as_json:
        click.echo(json.dumps([asdict(line) for line in lines], indent=2))
        return
    if not lines:
        click.echo("No learner needs an environment, and none is kept.")
        return
    rows = []
    for line in lines:
        row = {
            "environment": line.name,
            "state": line.state,
            "packages": ", ".join(line.requirements),
            "learners": ", ".join(line.learners),
            "bytes": show_bytes(line.n_bytes) if line.n_bytes else "",
        }
        rows.append(row)
    show_rows(rows, FOLDED, ("packages", "bytes"), "Use --json for all.")
    click.echo(f"\nFolder: {environments_root()}", err=True)


@env.command()
@NAMES
@plugin_options
def build(names: tuple[str, ...], session: Session, debug: bool) -> None:
    """Build the missing environments of learners; `all` means all learners."""
    built = build_environments(names, session, choose_progress(True, session))
    for name, ready in built.items():
        click.echo(f"{name}: {ready.name} ({counted(len(ready.packages), 'package')})")


@env.command("remove")
@NAMES
@plugin_options
def remove_env(names: tuple[str, ...], session: Session, debug: bool) -> None:
    """Remove environments, by their names or by the names of learners."""
    for name in remove_environments(names, session):
        click.echo(f"removed {name}")
