"""What a page tells of one line beside its numbers: set-up, circumstances, warnings, tuning, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.groups import Line, notices_of
from harness.machine import Machine
from harness.page.content import PageFailure, PageTuning
from harness.page.rounding import rounded_or_none
from harness.params import describe_params
from harness.wording import counted

if TYPE_CHECKING:
    from harness.record import Candidate, Record

LONGEST_TEXT = 4000
"""Of a traceback or of what a trial printed the end is shown, so much of it; the records have the whole."""


def facts_of(line: Line, machines: Mapping[str, Machine]) -> dict[str, str]:
    """What it was set up with and ran on, in words; where trials differ, all that there was."""
    set_up = line.set_up
    facts = {
        "learner": {set_up.learner: None},
        "parameters": {set_up.told_params: None},
        "tuning": {set_up.tuned: None},
        "from": {set_up.origin: None},
        "threads": {},
        "machine": {},
        "versions": {},
    }
    for record in line.records:
        facts["threads"][str(record.threads)] = None
        facts["machine"][str(machines.get(record.machine, Machine(record.machine)))] = None
        facts["versions"][_describe_versions(record)] = None
    return {name: "; ".join(words) for name, words in facts.items()}


def _describe_versions(record: Record) -> str:
    return ", ".join(map(" ".join, record.versions.items()))


def notices_on(line: Line) -> tuple[str, ...]:
    """Warnings and the like, each once, with the trials that had it."""
    often: Counter[str] = Counter()
    for record in line.finished:
        often.update(notices_of(record))
    told = []
    for notice, count in often.items():
        told.append(f"{notice} ({count} of {counted(len(line.finished), 'trial')})")
    return tuple(told)


def failures_of(line: Line) -> tuple[PageFailure, ...]:
    """How trials failed, those that failed in the same way together."""
    seeds: dict[tuple[str, str, str, str], list[int]] = {}
    for record in line.records:
        if record.status != "ok":
            way = record.status, record.message, _end_of(record.traceback), _end_of(record.output)
            seeds.setdefault(way, []).append(record.seed)
    failures = []
    for ended, of_way in seeds.items():
        failures.append(PageFailure(tuple(of_way), *ended))
    return tuple(failures)


def _end_of(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"...{text[-LONGEST_TEXT:]}"


def tunings_of(line: Line) -> tuple[PageTuning, ...]:
    """What was tried and chosen in each trial that tuned."""
    found = []
    for record in line.finished:
        if record.tuning:
            tried = tuple(map(_tell_candidate, record.tuning))
            found.append(PageTuning(record.seed, describe_params(record.tuned), tried))
    return tuple(found)


def _tell_candidate(candidate: Candidate) -> tuple[str, float | None, str]:
    return describe_params(candidate.params), rounded_or_none(candidate.score), candidate.trouble
