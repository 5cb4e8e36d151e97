"""Footnotes of a table on tuning, times, machines, warnings and failures; one function for each note."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.host.contract import MetricSpec
from harness.report.conditions import describe_condition, list_conditions
from harness.report.lines import Line, Prepared, edge_choices
from harness.system.machine import Machine, has_waited
from harness.text import as_warning, counted

if TYPE_CHECKING:
    from harness.records.record import Record

MOST_MESSAGES = 8
LONGEST_MESSAGE = 300
MOST_CHOICES = 3
"""Maximum number of lines for which a note gives details."""
LEAST_UNSEEN = 0.005
"""Smallest share of test rows with a class without training rows that gets a note: half a point of R1."""


@dataclass(frozen=True)
class _Shown:
    """The lines and columns of a table: the input of each note."""

    lines: Sequence[Line]
    done: Sequence[Record]
    """The finished trials of all lines."""
    columns: Sequence[MetricSpec]
    machines: Mapping[str, Machine]

    @property
    def units(self) -> set[str]:
        return {metric.unit for metric in self.columns}

    @property
    def has_times(self) -> bool:
        return any(metric.timed for metric in self.columns)


def notes_on(lines: Sequence[Line], columns: Sequence[MetricSpec], machines: Mapping[str, Machine]) -> list[str]:
    """Return the footnotes that these lines and columns need.

    Parameters
    ----------
    lines : sequence of Line
        The lines of the table.
    columns : sequence of MetricSpec
        The metrics of the table. Most notes on times are left out if no column is a time.
    machines : mapping of str to Machine
        Machines by the id that records name.
    """
    done: list[Record] = []
    for line in lines:
        done += line.finished
    shown = _Shown(lines, done, columns, machines)
    notes = []
    for note in _NOTES:
        notes += note(shown)
    return notes


def failure_notes(lines: Sequence[Line]) -> list[str]:
    """Return each message of trials once, up to `MOST_MESSAGES`, and the number of further messages."""
    messages = set()
    for line in lines:
        for record in line.records:
            if record.message:
                messages.add(f"{record.label} on {record.dataset}: {_one_line(record.message)}")
    return _first_few(sorted(messages), "more message")


# -- scores ----------------------------------------------------------------------------------------------------------


def _absent_note(shown: _Shown) -> list[str]:
    measured: set[str] = set()
    for record in shown.done:
        measured.update(record.scores)
    absent = [metric.name for metric in shown.columns if metric.name not in measured]
    if not shown.done or not absent:
        return []
    return [f"No record has {', '.join(absent)}. `harness rescore` computes metrics that need only saved ranks."]


def _unseen_note(shown: _Shown) -> list[str]:
    """Note datasets on which R1 cannot reach 1, because test rows have classes without training rows."""
    if "share" not in shown.units:
        return []
    shares: dict[Prepared, list[float]] = {}
    for line in shown.lines:
        for record in line.finished:
            if record.n_test:
                shares.setdefault(line.prepared, []).append((record.unseen_test_rows or 0) / record.n_test)
    notes = []
    for prepared, found in shares.items():
        mean = sum(found) / len(found)
        if mean >= LEAST_UNSEEN:
            notes.append(
                f"{prepared.dataset} ({prepared.split}): {mean:.1%} of the test rows have a class without training "
                f"rows, which limits R1 to {1 - mean:.3f}."
            )
    return notes


def _tuning_note(shown: _Shown) -> list[str]:
    """Note the most frequent choice of tuning for each line; only a hint if there are many lines."""
    choices = []
    for line in shown.lines:
        chosen = Counter(_describe_choice(record) for record in line.finished if record.tuned)
        if chosen:
            ((choice, often),) = chosen.most_common(1)
            choices.append(f"{line.title} on {line.dataset} {choice} ({often} of {chosen.total()})")
    if not choices:
        return []
    if len(choices) > MOST_CHOICES:
        return ["Parameters were tuned on validation rows; `harness show RESULTS LEARNER` gives the chosen values."]
    return [f"Tuned on validation rows, most frequent choice: {'; '.join(choices)}."]


def _edges_note(shown: _Shown) -> list[str]:
    """Note tuned values at the edge of their grid: a wider grid may contain better values."""
    counts: Counter[str] = Counter()
    tuned = 0
    for record in shown.done:
        tuned += bool(record.tuned)
        counts.update(f"{record.label} on {record.dataset}: {choice}" for choice in edge_choices(record))
    at_edge = sum(bool(edge_choices(record)) for record in shown.done)
    if not at_edge:
        return []
    ((example, _),) = counts.most_common(1)
    return [
        f"Tuning chose the edge of a grid in {at_edge} of {counted(tuned, 'trial')}; a wider grid may be better. Most "
        f"frequent: {example}."
    ]


def _cut_short_note(shown: _Shown) -> list[str]:
    """Note the learners whose tuning reached its time limit: they tried fewer candidates than intended."""
    cut: dict[str, str] = {}
    for line in shown.lines:
        short = [record for record in line.finished if not all(one.is_tried for one in record.tuning)]
        if short:
            tried = min(sum(one.is_tried for one in record.tuning) for record in short)
            trials = f"{len(short)} of {counted(len(line.finished), 'trial')}"
            cut[f"{line.title} on {line.dataset}"] = f"in {trials}, after {tried} of {len(short[0].tuning)} candidates"
    notes = [f"{name}: tuning reached its time limit {how}." for name, how in cut.items()]
    if len(notes) <= MOST_CHOICES:
        return [f"{note} Raise `time` in [tune] for equal chances." for note in notes]
    found = f"tuning reached its time limit for {len(notes)} lines, and learners had unequal chances."
    return [as_warning(f"{found} Raise `time` in [tune]. First: {notes[0]}")]


def _untuned_note(shown: _Shown) -> list[str]:
    """Note the learners that were not tuned, if others were."""
    tuned = {line.title for line in shown.lines if any(record.tuning for record in line.finished)}
    others = dict.fromkeys(line.title for line in shown.lines if line.finished and line.title not in tuned)
    if not tuned or not others:
        return []
    return [f"Not tuned, while other learners were: {', '.join(others)}."]


def _describe_choice(record: Record) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(record.tuned.items()))


def _coefficients_note(shown: _Shown) -> list[str]:
    labels = {record.label for record in shown.done if record.index_source == "coef_"}
    if labels and "count" in shown.units:
        return [f"Index size is the number of non-zeros of coef_: {', '.join(sorted(labels))}."]
    return []


def _pickled_note(shown: _Shown) -> list[str]:
    labels = {record.label for record in shown.done if record.bytes_source == "pickle"}
    if labels and "bytes" in shown.units:
        return [f"Bytes are those of the serialised learner: {', '.join(sorted(labels))}."]
    return []


# -- times -----------------------------------------------------------------------------------------------------------


def _machine_note(shown: _Shown) -> list[str]:
    conditions = list_conditions(shown.lines, shown.machines)
    if len(conditions) != 1:
        return []
    return [f"Measured on {describe_condition(conditions[0], shown.machines)}."]


def _staging_note(shown: _Shown) -> list[str]:
    """Note the time that learners took to convert rows to their own format, which is not part of training."""
    if not shown.has_times:
        return []
    seconds: dict[str, list[float]] = {}
    for record in shown.done:
        if record.stage_seconds is not None:
            seconds.setdefault(f"{record.label} on {record.dataset}", []).append(record.stage_seconds)
    if not seconds:
        return []
    medians = {name: statistics.median(each) for name, each in sorted(seconds.items())}
    longest = max(medians, key=medians.__getitem__)
    learners = {name.rpartition(" on ")[0] for name in medians}
    at_most = "" if len(medians) == 1 else "at most "
    return [
        f"Training excludes the conversion of rows to the learner's own format ({', '.join(sorted(learners))}): "
        f"{at_most}{medians[longest]:.3g} s ({longest})."
    ]


def _jobs_note(shown: _Shown) -> list[str]:
    most = max((record.jobs for record in shown.done), default=1)
    if most == 1 or not shown.has_times:
        return []
    return [as_warning(f"times may be distorted: {most} trials ran at once (--jobs {most}).")]


def _load_note(shown: _Shown) -> list[str]:
    if not shown.has_times:
        return []
    waited = [record for record in shown.done if has_waited(record.fit_seconds, record.fit_cpu_seconds)]
    if not waited:
        return []
    found = f"{len(waited)} of {counted(len(shown.done), 'trial')} may be distorted by other load"
    reason = "(wall time exceeds CPU time by more than 20%)"
    again = "`harness run ... --rerun LEARNERS --wait-for-idle` measures again."
    return [as_warning(f"{found} {reason}. {again}")]


def _threads_note(shown: _Shown) -> list[str]:
    greedy = {record.label for record in shown.done if _exceeds_threads(record)}
    if not greedy:
        return []
    return [as_warning(f"used more CPU time than the allowed threads provide: {', '.join(sorted(greedy))}.")]


def _exceeds_threads(record: Record) -> bool:
    """Return whether a fit used more CPU time than its threads provide; False for fits too short to measure this."""
    wall, cpu = record.fit_seconds or 0.0, record.fit_cpu_seconds or 0.0
    return wall > 0.5 and cpu > 1.2 * wall * record.threads


def _processes_note(shown: _Shown) -> list[str]:
    # Two more are allowed: the process of the trial, and one that supervises others.
    many = {record.label for record in shown.done if (record.processes or 1) > 2 + record.threads}
    if not many:
        return []
    return [as_warning(f"started more processes than the allowed threads: {', '.join(sorted(many))}.")]


# -- messages --------------------------------------------------------------------------------------------------------


def _notices_note(shown: _Shown) -> list[str]:
    """Note each warning of a learner on a dataset once, with the number of trials."""
    counts: Counter[str] = Counter()
    for record in shown.done:
        counts.update(f"{record.label} on {record.dataset}: {_one_line(text)}" for text in record.warnings)
    notices = [f"{text} ({counted(count, 'trial')})" for text, count in sorted(counts.items())]
    return _first_few(notices, "more warning")


def _failures_note(shown: _Shown) -> list[str]:
    return failure_notes(shown.lines)


def _first_few(messages: list[str], more: str) -> list[str]:
    left = len(messages) - MOST_MESSAGES
    if left <= 0:
        return messages
    return [*messages[:MOST_MESSAGES], f"... and {counted(left, more)} in the records."]


def _one_line(message: str) -> str:
    """Return a message in one line without control characters: in LaTeX, a footnote is a comment of one line."""
    printable = "".join(letter if letter.isprintable() else " " for letter in message)
    text = " ".join(printable.split())
    if len(text) <= LONGEST_MESSAGE:
        return text
    return f"{text[:LONGEST_MESSAGE]} ..."


_NOTES: tuple[Callable[[_Shown], list[str]], ...] = (
    _absent_note,
    _unseen_note,
    _tuning_note,
    _edges_note,
    _cut_short_note,
    _untuned_note,
    _machine_note,
    _staging_note,
    _jobs_note,
    _load_note,
    _threads_note,
    _processes_note,
    _coefficients_note,
    _pickled_note,
    _notices_note,
    _failures_note,
)
"""All notes, in the order in which they appear below a table."""
