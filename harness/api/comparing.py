"""Two results side by side: what changed, whether a paired test can tell, and which settings differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.api.columns import choose_columns
from harness.api.preparing import preparer
from harness.errors import HarnessError
from harness.record import Record
from harness.rescore import dataset_opener, first_hits, ranks_of, rebuild_outcome
from harness.tables.changes import Hits, changes_grid, find_changes, pair_lines, tell_lines
from harness.tables.grid import Grid
from harness.tables.settings import settings_grid

if TYPE_CHECKING:
    from harness.api.results import Results


@dataclass(frozen=True)
class Comparison:
    """What changed from one set of results to another."""

    changes: Grid
    settings: Grid
    """What else differs: versions, machine, threads, data, parameters."""
    alone: tuple[str, ...]
    """What stands in one of them only, a line each."""

    def __str__(self) -> str:
        return "\n".join([str(self.changes), str(self.settings), *self.alone])

    def _repr_html_(self) -> str:
        return f"{self.changes._repr_html_()}{self.settings._repr_html_()}"


def compare_results(
    first: Results,
    second: Results,
    metrics: Sequence[str] | None,
    learners: tuple[str, str] | None,
    instances: bool,
) -> Comparison:
    """Compare the first, which is before, with the second, which is after; `instances` also by test row (McNemar)."""
    columns = choose_columns(first.session.catalog, metrics, [*first.records, *second.records])
    pairs = pair_lines(first.lines(), second.lines(), learners)
    if not pairs.both:
        raise HarnessError(_nothing_shared(first, second, learners))
    hits = (_hits_in(first), _hits_in(second)) if instances else None
    title = f"{_named(first)} -> {_named(second)}"
    changes = changes_grid(find_changes(pairs.both, columns, hits), title, instances=instances)
    settings = settings_grid(pairs.both, {**first.machines, **second.machines})
    return Comparison(changes, settings, tuple(pairs.tell_alone()))


def _named(results: Results) -> str:
    return ", ".join(map(str, results.folders))


def _nothing_shared(first: Results, second: Results, learners: tuple[str, str] | None) -> str:
    """What each folder has, where there is nothing to compare, and what to do."""
    if learners:
        who = f"{learners[0]!r} of the first and {learners[1]!r} of the second have not"
        way = "name labels that stand there"
    else:
        who = "no learner of both folders has"
        way = "--learners FIRST,SECOND compares two learners of different names"
    told = [f"nothing to compare: {who} run on the same data, prepared alike"]
    for name, results in {_named(first): first, _named(second): second}.items():
        told += [f"  {name}: {line}" for line in tell_lines(results.lines())]
    return "\n".join([*told, f"{way}; data set, representation and split must be the same"])


def _hits_in(results: Results) -> Hits:
    """Hit or miss of each test row of a record, from its saved ranks."""
    open_for = dataset_opener(results.session.catalog, preparer(results.session))

    def hits(record: Record) -> Sequence[bool]:
        ranking = ranks_of(results.folder_of[record.key], record)
        return first_hits(rebuild_outcome(record, open_for(record), ranking))

    return hits
