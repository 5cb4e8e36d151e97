"""`harness rescore`: metrics thought of later, from the saved ranks of a results folder, without training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import NameList, plugin_options
from harness.errors import StoreError
from harness.expression import split_list
from harness.host import discover
from harness.metric import find_metric
from harness.wording import counted

if TYPE_CHECKING:
    from harness.data.arrays import Header
    from harness.experiment.resolve import ResolvedDataset


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--metrics", required=True, type=NameList("metrics"), help="What to compute: r3,macro_f1,'mrr(depth=10)'."
)
@click.option("--again", is_flag=True, help="Also where a record has the value already.")
@plugin_options
def rescore(
    results: Path, metrics: str, again: bool, folders: tuple[Path, ...], disabled: tuple[str, ...], debug: bool
) -> None:
    """Compute metrics from saved ranks and keep them in the records.

    The true classes are drawn again from the data set and the split; data that has changed since is refused.
    """
    from harness.rescore import dataset_opener, tell_curves
    from harness.rescore import rescore as compute
    from harness.store import RECORDS, open_store

    catalog = discover(folders, disabled)
    chosen = [find_metric(name, catalog) for name in split_list(metrics)]
    if not (results / RECORDS).exists():  # else opening would make one
        raise StoreError(f"{results} is not a results folder: it has no {RECORDS}")
    with open_store(results) as store:
        outcome = compute(store, chosen, dataset_opener(catalog, preparer(folders)), again=again)
        curves = tell_curves(store.records.values(), [entry.spec.name for entry in chosen])
    names = ", ".join(entry.spec.name for entry in chosen)
    click.echo(f"{names}: computed for {counted(outcome.changed, 'trial')}, {outcome.kept} had it already")
    if outcome.failed:
        click.echo(f"{counted(outcome.failed, 'failed trial has', 'failed trials have')} no ranks: left alone")
    for line in filter(None, (*outcome.trouble, curves)):
        click.echo(f"warning: {line}", err=True)


def preparer(folders: Sequence[Path]) -> Callable[[ResolvedDataset], Header]:
    """Parses a data set that the data home lacks, in a process of its own."""

    def prepare(dataset: ResolvedDataset) -> Header:
        from harness.executors.local import LocalExecutor
        from harness.runner import Listener, prepare_dataset

        with LocalExecutor(
            path=[str(folder.resolve()) for folder in folders], common=["harness.data.arrays"]
        ) as executor:
            return prepare_dataset(dataset, executor, Listener())

    return prepare
