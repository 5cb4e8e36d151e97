"""`harness compare`: what changed between two results folders, with paired tests and the settings that differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import NameList, plugin_options
from harness.cli.rescore import preparer
from harness.cli.table import choose_columns
from harness.errors import HarnessError
from harness.expression import split_list
from harness.host import Catalog, discover
from harness.tables.formats import FORMATS

if TYPE_CHECKING:
    from harness.record import Record
    from harness.tables.changes import Hits


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--metrics", type=NameList("metrics"), help="What to compare.  [default: the columns of a table]")
@click.option("--learners", metavar="LABEL,LABEL", help="This learner of the first with that one of the second.")
@click.option("--instances", is_flag=True, help="Also McNemar's test on the test rows, from the saved ranks.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="terminal", show_default=True)
@plugin_options
def compare(
    first: Path,
    second: Path,
    metrics: str | None,
    learners: str | None,
    instances: bool,
    form: str,
    folders: tuple[Path, ...],
    disabled: tuple[str, ...],
    debug: bool,
) -> None:
    """Compare two results folders: the first is before, the second after.

    One folder may stand twice, to compare two of its learners: --learners pa,ooz.
    """
    from harness.groups import group_records
    from harness.store import read_machines, read_records
    from harness.tables.changes import changes_grid, find_changes, pair_lines
    from harness.tables.settings import settings_grid

    catalog = discover(folders, disabled)
    before, after = read_records(first), read_records(second)
    columns = choose_columns(catalog, split_list(metrics) if metrics else None, [*before, *after])
    asked = _two(learners)
    pairs = pair_lines(group_records(before), group_records(after), asked)
    if not pairs.both:
        raise HarnessError(_nothing_shared(first, second, asked))
    hits = (_hits_in(first, catalog, folders), _hits_in(second, catalog, folders)) if instances else None
    changes = find_changes(pairs.both, columns, hits)
    click.echo(changes_grid(changes, f"{first} -> {second}", instances=instances).render(form), nl=False)
    if FORMATS[form].for_programs:
        return
    click.echo()
    machines = read_machines(first) | read_machines(second)
    click.echo(settings_grid(pairs.both, machines).render(form), nl=False)
    for line in pairs.tell_alone():
        click.echo(line)


def _nothing_shared(first: Path, second: Path, pair: tuple[str, str] | None) -> str:
    """What each folder has, where there is nothing to compare, and what to do."""
    from harness.groups import group_records
    from harness.store import read_records
    from harness.tables.changes import tell_lines

    who = f"{pair[0]!r} of the first and {pair[1]!r} of the second have" if pair else "no learner of both folders has"
    lines = [f"nothing to compare: {who}{' not' if pair else ''} run on the same data, prepared alike"]
    for folder in dict.fromkeys((first, second)):
        lines += [f"  {folder}: {told}" for told in tell_lines(group_records(read_records(folder)))]
    way = "name labels that stand there" if pair else "--learners FIRST,SECOND compares two learners of different names"
    return "\n".join([*lines, f"{way}; data set, representation and split must be the same"])


def _two(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = split_list(text)
    if len(names) != 2:
        raise HarnessError(f"--learners {text}: expected two labels, one for each folder, such as pa,ooz")
    return names[0], names[1]


def _hits_in(folder: Path, catalog: Catalog, folders: tuple[Path, ...]) -> Hits:
    """Hit or miss of each test row of a record, from the ranks saved in a folder."""
    from harness.rescore import dataset_opener, first_hits, ranks_of, rebuild_outcome

    open_for = dataset_opener(catalog, preparer(folders))

    def hits(record: Record) -> Sequence[bool]:
        return first_hits(rebuild_outcome(record, open_for(record), *ranks_of(folder, record)))

    return hits
