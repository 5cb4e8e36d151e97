"""All that is known of one learner's trials on one data set, in lines: what `harness show` prints. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from harness.contract import MetricSpec
from harness.groups import Line, notices_of
from harness.machine import Machine
from harness.params import describe_params
from harness.stats import Summary
from harness.tables.numbers import format_value
from harness.wording import counted, printable

if TYPE_CHECKING:
    from harness.record import Record

INDENT = "    "


def describe_line(line: Line, metrics: Sequence[MetricSpec], machines: Mapping[str, Machine]) -> str:
    """What the trials of a line had in common, then each of them, those that failed first."""
    failed = [record for record in line.records if record.status != "ok"]
    parts = [_describe_common(line, machines, len(failed))]
    seen: dict[str, int] = {}
    for record in failed:
        parts.append(_describe_failure(record, seen))
    for record in line.finished:
        parts.append(_describe_success(record, metrics))
    return "\n\n".join(parts) + "\n"


def _describe_common(line: Line, machines: Mapping[str, Machine], n_failed: int) -> str:
    first = line.records[0]
    outcome = f"{counted(len(line.records), 'trial')}, {n_failed} of them failed"
    facts = {
        "learner": f"{first.learner} ({line.kind}) of {first.learner_distribution} {first.learner_version}",
        "code": first.code,
        "parameters": describe_params(line.params),
        "trials": outcome if n_failed else counted(len(line.records), "trial"),
    }
    lines = [f"{line.title} on {line.dataset}  ({line.detail})", ""]
    for name, told in (facts | _conditions_of(line.records, machines)).items():
        if told:
            lines += textwrap.wrap(f"{name:<12}{told}", 118, subsequent_indent=" " * 12)
    return "\n".join(lines)


def _conditions_of(records: Sequence[Record], machines: Mapping[str, Machine]) -> dict[str, str]:
    """Versions, commits and machines, each with all that it was."""
    found: dict[str, dict[str, None]] = {"versions": {}, "commit": {}, "machine": {}}
    for record in records:
        versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
        found["versions"][versions] = None
        found["commit"][record.commit or ""] = None
        machine = machines.get(record.machine, Machine(record.machine))
        found["machine"][f"{machine}, {counted(record.threads, 'thread')}"] = None
    return {name: "; ".join(filter(None, told)) for name, told in found.items()}


def _describe_failure(record: Record, seen: dict[str, int]) -> str:
    """How a trial failed, with its traceback and what it printed; a traceback that was shown already is referred to."""
    lines = [f"seed {record.seed}: {record.status.upper()}: {printable(record.message)}"]
    if record.traceback in seen:
        lines.append(f"{INDENT}the traceback is that of seed {seen[record.traceback]}")
    elif record.traceback:
        seen[record.traceback] = record.seed
        lines.append(_indented(record.traceback))
    if record.output.strip():
        lines += [f"{INDENT}it printed:", _indented(record.output)]
    return "\n".join([*lines, *_describe_tuning(record)])


def _describe_success(record: Record, metrics: Sequence[MetricSpec]) -> str:
    values = []
    for metric in metrics:
        value = record.scores.get(metric.name)
        if value is not None:
            values.append(f"{metric.title or metric.name} {format_value(Summary(value, None, 1), metric)}")
    lines = [f"seed {record.seed}: {', '.join(values) or 'ok'}"]
    if record.message:
        lines.append(f"{INDENT}{printable(record.message)}")
    lines += [f"{INDENT}{printable(notice)}" for notice in notices_of(record)]
    return "\n".join([*lines, *_describe_tuning(record)])


def _describe_tuning(record: Record) -> list[str]:
    """Every candidate that tuning tried with its score, and what it chose."""
    lines = []
    for candidate in record.tuning:
        result = f"{candidate.score:.4f}" if candidate.score is not None else printable(candidate.trouble)
        lines.append(f"{INDENT}tuning tried {describe_params(candidate.params)}: {result}")
    if record.tuned:
        lines.append(f"{INDENT}tuning chose {describe_params(record.tuned)}")
    return lines


def _indented(text: str) -> str:
    return textwrap.indent(printable(text).rstrip(), f"{INDENT}| ", lambda _: True)
