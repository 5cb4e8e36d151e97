"""The conditions under which times were measured: a processor model and a number of threads.

Times are comparable only if they were measured under the same condition. If the trials of a dataset ran under several
conditions, as on the workers of a cluster, a table shows the times of one condition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.host.contract import MetricSpec
from harness.report.lines import Line, Prepared
from harness.system.machine import Machine
from harness.text import as_warning, counted

if TYPE_CHECKING:
    from harness.records.record import Record


@dataclass(frozen=True, order=True)
class Condition:
    """A processor model and a number of threads, with the machines that have them."""

    kind: str
    """The processor model, or the id of a machine whose processor is unknown."""
    threads: int
    machines: tuple[str, ...] = ()
    """The ids of machines with this processor, as in records; not part of the key."""

    @property
    def key(self) -> tuple[str, int]:
        """Processor and threads: trials with the same key have comparable times."""
        return self.kind, self.threads


def condition_of(record: Record, machines: Mapping[str, Machine]) -> tuple[str, int]:
    """Return the `Condition.key` of a trial."""
    machine = machines.get(record.machine)
    return (machine.processor if machine and machine.processor else record.machine), record.threads


def list_conditions(lines: Iterable[Line], machines: Mapping[str, Machine]) -> list[Condition]:
    """Return the conditions of all finished trials, sorted."""
    found: dict[tuple[str, int], set[str]] = {}
    for line in lines:
        for record in line.finished:
            found.setdefault(condition_of(record, machines), set()).add(record.machine)
    return sorted(Condition(*key, tuple(sorted(ids))) for key, ids in found.items())


def describe_condition(condition: Condition, machines: Mapping[str, Machine]) -> str:
    """Return a condition as text: the machine, or the processor and the number of machines if there are several."""
    if len(condition.machines) == 1:
        (known_by,) = condition.machines
        where = str(machines.get(known_by, Machine(known_by)))
    else:
        where = f"{condition.kind}, {counted(len(condition.machines), 'kind')} of machine with it"
    return f"{where}, {counted(condition.threads, 'thread')}"


def describe_conditions(lines: Iterable[Line], machines: Mapping[str, Machine], *, shown: bool) -> str:
    """Return the footnote on times of several conditions: a warning if they are `shown`, else that they are hidden.

    Parameters
    ----------
    lines : iterable of Line
        The lines whose times are reported.
    machines : mapping of str to Machine
        The known machines by id.
    shown : bool
        Whether times of several conditions are shown side by side.
    """
    conditions = list_conditions(lines, machines)
    where = "; ".join(describe_condition(one, machines) for one in conditions)
    if shown:
        return as_warning(f"times are not comparable: measured under {len(conditions)} conditions: {where}.")
    return f"Times of {len(conditions)} conditions are hidden ({where}). --mixed-machines shows them."


# -- times of one condition ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparable:
    """Lines with comparable times."""

    lines: list[Line]
    metrics: tuple[MetricSpec, ...]
    """The requested metrics, without times if no times are comparable."""
    notes: tuple[str, ...] = ()
    """Footnotes on hidden times."""


def comparable(
    lines: Sequence[Line],
    metrics: Iterable[MetricSpec],
    machines: Mapping[str, Machine],
    *,
    mixed_machines: bool = False,
) -> Comparable:
    """Return the lines with the times of one condition for each dataset.

    Parameters
    ----------
    lines : sequence of Line
        The lines to compare.
    metrics : iterable of MetricSpec
        The requested metrics.
    machines : mapping of str to Machine
        Machines by the id that records name.
    mixed_machines : bool, default=False
        Whether to keep all times, with a footnote that they are not comparable.

    Returns
    -------
    Comparable
        Without any times if the lines of some dataset share no condition.
    """
    lines, metrics = list(lines), tuple(metrics)
    timed = [metric.name for metric in metrics if metric.timed]
    if not timed or len(list_conditions(lines, machines)) <= 1:
        return Comparable(lines, metrics)
    if mixed_machines:
        return Comparable(lines, metrics, (describe_conditions(lines, machines, shown=True),))
    limited = _within_conditions(lines, timed, machines)
    if limited is not None:
        return Comparable(limited[0], metrics, tuple(limited[1]))
    without = [replace(line, records=tuple(_without_times(record, timed) for record in line.records)) for line in lines]
    kept = tuple(metric for metric in metrics if not metric.timed)
    return Comparable(without, kept, (describe_conditions(lines, machines, shown=False),))


def _within_conditions(
    lines: Sequence[Line], timed: Sequence[str], machines: Mapping[str, Machine]
) -> tuple[list[Line], list[str]] | None:
    """Return the lines with the times of one condition for each dataset, and notes; None without a shared condition."""
    chosen: dict[Prepared, tuple[str, int]] = {}
    for prepared in dict.fromkeys(line.prepared for line in lines):
        competitors = [line for line in lines if line.prepared == prepared and line.finished]
        common = _common_condition(competitors, machines)
        if competitors and common is None:
            return None
        if common is not None:
            chosen[prepared] = common
    kept, notes = [], []
    for line in lines:
        condition = chosen.get(line.prepared)
        kept.append(line if condition is None else _limited(line, condition, timed, machines))
    for prepared, condition in chosen.items():
        notes.append(_describe_choice(prepared, condition, lines, machines))
    return kept, notes


def _common_condition(competitors: Sequence[Line], machines: Mapping[str, Machine]) -> tuple[str, int] | None:
    """Return the condition with the most trials among the conditions that every line has; None if there is none."""
    trials: Counter[tuple[str, int]] = Counter()
    measured: Counter[tuple[str, int]] = Counter()
    for line in competitors:
        conditions = [condition_of(record, machines) for record in line.finished]
        trials.update(conditions)
        measured.update(set(conditions))
    common = [condition for condition in trials if measured[condition] == len(competitors)]
    return max(common, key=lambda condition: (trials[condition], condition), default=None)


def _limited(line: Line, condition: tuple[str, int], timed: Sequence[str], machines: Mapping[str, Machine]) -> Line:
    """Return the line with the times of one condition only; trials of other conditions keep their other scores."""
    records = []
    for record in line.records:
        if condition_of(record, machines) == condition:
            records.append(record)
        else:
            records.append(_without_times(record, timed))
    return replace(line, records=tuple(records))


def _without_times(record: Record, timed: Sequence[str]) -> Record:
    nothing = dict.fromkeys(timed)
    curve = tuple(replace(point, scores={**point.scores, **nothing}) for point in record.curve)
    return replace(record, scores={**record.scores, **nothing}, curve=curve)


def _describe_choice(
    prepared: Prepared, condition: tuple[str, int], lines: Iterable[Line], machines: Mapping[str, Machine]
) -> str:
    """Return a note on the trials that the times of a dataset come from."""
    counts: Counter[tuple[str, int]] = Counter()
    for line in lines:
        if line.prepared == prepared:
            counts.update(condition_of(record, machines) for record in line.finished)
    trials = f"{counts[condition]} of {counted(counts.total(), 'trial')}"
    note = f"Times on {prepared.dataset} are those of {trials}, on {_describe_key(condition)}"
    others = [_describe_key(other) for other in sorted(counts) if other != condition]
    return f"{note}; the others ran on {'; '.join(others)}." if others else f"{note}."


def _describe_key(condition: tuple[str, int]) -> str:
    kind, threads = condition
    return f"{kind} with {counted(threads, 'thread')}"
