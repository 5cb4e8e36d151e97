"""What stands below a table: all that a reader must know to trust its numbers, a small function for each note."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.contract import MetricSpec
from harness.groups import Line, Prepared, notices_of
from harness.machine import Machine
from harness.quiet import has_waited
from harness.tables.conditions import describe_condition, list_conditions
from harness.wording import counted

if TYPE_CHECKING:
    from harness.record import Record

MOST_MESSAGES = 8
LONGEST_MESSAGE = 300
WORTH_TELLING = 0.005
"""The share of test rows of unknown classes from which on it is told: it is half a point of R1."""


# -- notes, in their order -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Seen:
    """What notes are made from."""

    lines: Sequence[Line]
    done: Sequence[Record]
    columns: Sequence[MetricSpec]
    machines: Mapping[str, Machine]

    @property
    def units(self) -> set[str]:
        """In which the columns are."""
        return {metric.unit for metric in self.columns}


def notes_on(lines: Sequence[Line], columns: Sequence[MetricSpec], machines: Mapping[str, Machine]) -> list[str]:
    """The notes that these lines and columns call for."""
    done: list[Record] = []
    for line in lines:
        done += line.finished
    seen = _Seen(lines, done, columns, machines)
    notes = []
    for tell in _NOTES:
        notes += tell(seen)
    return notes


def _tell_absent(seen: _Seen) -> list[str]:
    measured: set[str] = set()
    for record in seen.done:
        measured.update(record.scores)
    absent = [metric.name for metric in seen.columns if metric.name not in measured]
    if not seen.done or not absent:
        return []
    return [f"In none of the records: {', '.join(absent)}; `harness rescore` computes it where ranks suffice."]


def _tell_unseen(seen: _Seen) -> list[str]:
    """Where many test rows have a class that was not in the training part: scores cannot come near to 1 there."""
    if "share" not in seen.units:
        return []
    shares: dict[Prepared, list[float]] = {}
    for line in seen.lines:
        for record in line.finished:
            if record.n_test:
                shares.setdefault(line.prepared, []).append((record.unseen_test_rows or 0) / record.n_test)
    notes = []
    for prepared, found in shares.items():
        mean = sum(found) / len(found)
        if mean >= WORTH_TELLING:
            notes.append(
                f"{prepared.dataset} ({prepared.split}): {mean:.1%} of the test rows have no class that was in "
                f"the training part; who knows those classes alone has R1 of {1 - mean:.3f} at most."
            )
    return notes


def _tell_chosen(seen: _Seen) -> list[str]:
    """What tuning chose most often, for each learner and data set where there was any."""
    notes = []
    for line in seen.lines:
        chosen = Counter(_describe_choice(record) for record in line.finished if record.tuned)
        if chosen:
            ((words, often),) = chosen.most_common(1)
            trials = f"{often} of {counted(chosen.total(), 'trial')}"
            notes.append(f"{line.title} on {line.dataset}: chosen on validation rows, most often {words} ({trials}).")
    return notes


def _describe_choice(record: Record) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(record.tuned.items()))


def _tell_machine(seen: _Seen) -> list[str]:
    conditions = list_conditions(seen.lines, seen.machines)
    if len(conditions) != 1:
        return []
    return [f"Measured on {describe_condition(conditions[0], seen.machines)}."]


def _tell_staging(seen: _Seen) -> list[str]:
    """What a tool needs before it can learn is not in the time that it learns, and not nothing."""
    if not any(metric.timed for metric in seen.columns):
        return []
    seconds: dict[str, list[float]] = {}
    for record in seen.done:
        if record.stage_seconds is not None:
            seconds.setdefault(f"{record.label} on {record.dataset}", []).append(record.stage_seconds)
    told = [f"{name} {statistics.median(each):.3g} s" for name, each in sorted(seconds.items())]
    return [f"Before training, rows were brought into a form of the learner's own: {', '.join(told)}."] if told else []


def _tell_shared_machine(seen: _Seen) -> list[str]:
    most = max((record.jobs for record in seen.done), default=1)
    if most == 1 or not any(metric.timed for metric in seen.columns):
        return []
    return [f"WARNING: up to {most} timed trials shared the machine (--jobs {most}): times are not clean."]


def _tell_busy(seen: _Seen) -> list[str]:
    """Times by the clock of a machine that was busy with something else say little of a learner."""
    if not any(metric.timed for metric in seen.columns):
        return []
    busy = [record for record in seen.done if has_waited(record.fit_seconds, record.fit_cpu_seconds)]
    if not busy:
        return []
    worst = max(busy, key=_slowdown)
    load = "" if worst.load is None else f", load {worst.load:.1f}"
    share = f"{len(busy)} of {counted(len(seen.done), 'trial')}"
    return [
        f"WARNING: a busy machine, or learners that wait: in {share} training "
        f"took clearly longer than it worked (at worst {worst.fit_seconds:.2f} s by the clock, "
        f"{worst.fit_cpu_seconds:.2f} s of processor time{load}); --wait-for-quiet and --rerun measure anew."
    ]


def _slowdown(record: Record) -> float:
    return (record.fit_seconds or 0.0) / max(record.fit_cpu_seconds or 0.0, 1e-9)


def _tell_greedy(seen: _Seen) -> list[str]:
    greedy = {record.label for record in seen.done if _over_threads(record)}
    if not greedy:
        return []
    return [f"WARNING: used more processors than allowed: {', '.join(sorted(greedy))}."]


def _over_threads(record: Record) -> bool:
    """More processor time than the allowed threads could have spent; a short fit is too coarse to judge."""
    wall, cpu = record.fit_seconds or 0.0, record.fit_cpu_seconds or 0.0
    return wall > 0.5 and cpu > 1.2 * wall * record.threads


def _tell_many_processes(seen: _Seen) -> list[str]:
    """Processes are threads by another name; the trial's own, and one that only looks after others, are none."""
    many = {record.label for record in seen.done if (record.processes or 1) > 2 + record.threads}
    if not many:
        return []
    return [f"WARNING: started more processes than the allowed threads: {', '.join(sorted(many))}."]


def _tell_notices(seen: _Seen) -> list[str]:
    """What should be known of results, each once for a learner and a data set, with how often."""
    often: Counter[str] = Counter()
    for record in seen.done:
        often.update(f"{record.label} on {record.dataset}: {_one_line(notice)}" for notice in notices_of(record))
    told = [f"{text} ({counted(count, 'trial')})" for text, count in sorted(often.items())]
    return _first_few(told, "more warning")


def _tell_coefficients(seen: _Seen) -> list[str]:
    labels = {record.label for record in seen.done if record.index_source == "coef_"}
    if labels and "count" in seen.units:
        return [f"Index size is the non-zeros of coef_: {', '.join(sorted(labels))}."]
    return []


def _tell_pickled(seen: _Seen) -> list[str]:
    labels = {record.label for record in seen.done if record.bytes_source == "pickle"}
    if labels and "bytes" in seen.units:
        return [f"Bytes are those of the serialised learner: {', '.join(sorted(labels))}."]
    return []


def _tell_messages(seen: _Seen) -> list[str]:
    return tell_failures(seen.lines)


def tell_failures(lines: Sequence[Line]) -> list[str]:
    """What trials said that failed, each message once, and not without end."""
    told = set()
    for line in lines:
        for record in line.records:
            if record.message:
                told.add(f"{record.label} on {record.dataset}: {_one_line(record.message)}")
    return _first_few(sorted(told), "more message")


def _first_few(told: list[str], more: str) -> list[str]:
    left = len(told) - MOST_MESSAGES
    if left <= 0:
        return told
    return [*told[:MOST_MESSAGES], f"... and {counted(left, more)} in the records."]


def _one_line(message: str) -> str:
    """An error's text may hold anything; a foot is lines of print, in LaTeX comments."""
    printable = "".join(letter if letter.isprintable() else " " for letter in message)
    text = " ".join(printable.split())
    if len(text) <= LONGEST_MESSAGE:
        return text
    return f"{text[:LONGEST_MESSAGE]} ..."


_NOTES: tuple[Callable[[_Seen], list[str]], ...] = (
    _tell_absent,
    _tell_unseen,
    _tell_chosen,
    _tell_machine,
    _tell_staging,
    _tell_shared_machine,
    _tell_busy,
    _tell_greedy,
    _tell_many_processes,
    _tell_coefficients,
    _tell_pickled,
    _tell_notices,
    _tell_messages,
)
