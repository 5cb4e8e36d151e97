"""The conditions that times were measured under: a kind of machine and the threads that were allowed. Pure.

Times are comparable under one condition only. Machines are of one kind where their processor is of one model, whatever
they are called. Where the trials of a data set ran on several kinds, as on the workers of a cluster, its times are
those of the trials on one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.contract import MetricSpec
from harness.groups import Line, Prepared
from harness.machine import Machine
from harness.wording import counted

if TYPE_CHECKING:
    from harness.record import Record


@dataclass(frozen=True, order=True)
class Condition:
    """What decides times beside the learner."""

    kind: str
    """The model of the processor; where that is not known, the machine's id."""
    threads: int
    machines: tuple[str, ...] = ()
    """The ids of those that records name; no part of what tells one condition from another."""

    @property
    def key(self) -> tuple[str, int]:
        return self.kind, self.threads


def condition_of(record: Record, machines: Mapping[str, Machine]) -> tuple[str, int]:
    """What tells the condition of a trial from another."""
    machine = machines.get(record.machine)
    return (machine.processor if machine and machine.processor else record.machine), record.threads


def list_conditions(lines: Iterable[Line], machines: Mapping[str, Machine]) -> list[Condition]:
    """The conditions under which the finished trials ran."""
    found: dict[tuple[str, int], set[str]] = {}
    for line in lines:
        for record in line.finished:
            found.setdefault(condition_of(record, machines), set()).add(record.machine)
    return sorted(Condition(*key, tuple(sorted(ids))) for key, ids in found.items())


def describe_condition(condition: Condition, machines: Mapping[str, Machine]) -> str:
    """A condition in words: the machine where there is one, the processor and how many where there are several."""
    if len(condition.machines) == 1:
        (known_by,) = condition.machines
        where = str(machines.get(known_by, Machine(known_by)))
    else:
        where = f"{condition.kind}, {counted(len(condition.machines), 'kind')} of machine with it"
    return f"{where}, {counted(condition.threads, 'thread')}"


def tell_conditions(lines: Iterable[Line], machines: Mapping[str, Machine], *, shown: bool) -> str:
    """A warning of times that were measured under several conditions, by whether the table shows them."""
    conditions = list_conditions(lines, machines)
    where = "; ".join(describe_condition(one, machines) for one in conditions)
    if shown:
        return f"TIMES ARE NOT COMPARABLE: measured under {len(conditions)} conditions: {where}."
    return (
        f"Times are left out, being measured under {len(conditions)} conditions ({where}); "
        "--mixed-machines shows them all the same."
    )


# -- times of one condition ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparable:
    """Lines whose times, where they have any, may be compared."""

    lines: list[Line]
    metrics: tuple[MetricSpec, ...]
    """Of those asked for: without times where no times compare."""
    told: tuple[str, ...] = ()
    """What was left out, in words."""


def comparable(
    lines: Sequence[Line],
    metrics: Iterable[MetricSpec],
    machines: Mapping[str, Machine],
    *,
    mixed_machines: bool = False,
) -> Comparable:
    """The lines with the times of one condition for each data set; without any times where there is none that all have.

    With `mixed_machines` all times stay, and it is told that they do not compare.
    """
    lines, metrics = list(lines), tuple(metrics)
    timed = [metric.name for metric in metrics if metric.timed]
    if not timed or len(list_conditions(lines, machines)) <= 1:
        return Comparable(lines, metrics)
    if mixed_machines:
        return Comparable(lines, metrics, (tell_conditions(lines, machines, shown=True),))
    limited = _within_conditions(lines, timed, machines)
    if limited is not None:
        return Comparable(limited[0], metrics, tuple(limited[1]))
    without = [replace(line, records=tuple(_without_times(record, timed) for record in line.records)) for line in lines]
    kept = tuple(metric for metric in metrics if not metric.timed)
    return Comparable(without, kept, (tell_conditions(lines, machines, shown=False),))


def _within_conditions(
    lines: Sequence[Line], timed: Sequence[str], machines: Mapping[str, Machine]
) -> tuple[list[Line], list[str]] | None:
    """The lines with the times of one condition for each data set, and what was left out, in words.

    None where some data set has no condition under which all of its lines were measured: then nothing compares.
    """
    chosen: dict[Prepared, tuple[str, int]] = {}
    for prepared in dict.fromkeys(line.prepared for line in lines):
        rivals = [line for line in lines if line.prepared == prepared and line.finished]
        common = _common_condition(rivals, machines)
        if rivals and common is None:
            return None
        if common is not None:
            chosen[prepared] = common
    kept, told = [], []
    for line in lines:
        condition = chosen.get(line.prepared)
        kept.append(line if condition is None else _limited(line, condition, timed, machines))
    for prepared, condition in chosen.items():
        told.append(_tell_choice(prepared, condition, lines, machines))
    return kept, told


def _common_condition(rivals: Sequence[Line], machines: Mapping[str, Machine]) -> tuple[str, int] | None:
    """The condition that every line has trials under: the one with most trials, where there are several."""
    trials: Counter[tuple[str, int]] = Counter()
    measured: Counter[tuple[str, int]] = Counter()
    for line in rivals:
        conditions = [condition_of(record, machines) for record in line.finished]
        trials.update(conditions)
        measured.update(set(conditions))
    common = [condition for condition in trials if measured[condition] == len(rivals)]
    return max(common, key=lambda condition: (trials[condition], condition), default=None)


def _limited(line: Line, condition: tuple[str, int], timed: Sequence[str], machines: Mapping[str, Machine]) -> Line:
    """The line without the times of trials under other conditions."""
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


def _tell_choice(
    prepared: Prepared, condition: tuple[str, int], lines: Iterable[Line], machines: Mapping[str, Machine]
) -> str:
    """Which trials of a data set its times are of."""
    counts: Counter[tuple[str, int]] = Counter()
    for line in lines:
        if line.prepared == prepared:
            counts.update(condition_of(record, machines) for record in line.finished)
    told = f"Times on {prepared.dataset} are those of {counts[condition]} of {counted(counts.total(), 'trial')}"
    told = f"{told}, on {_words(condition)}"
    others = [_words(other) for other in sorted(counts) if other != condition]
    return f"{told}; the others ran on {'; '.join(others)}." if others else f"{told}."


def _words(condition: tuple[str, int]) -> str:
    kind, threads = condition
    return f"{kind} with {counted(threads, 'thread')}"
