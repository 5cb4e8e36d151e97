"""One record of a trial, from how its job ended: exactly one, whatever came back."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from harness.executors.base import JobEnd
from harness.params import Params
from harness.record import Circumstances, Measured, Record, TrialNames, checksum_of, field_names, make_record
from harness.record_lines import measured_from_plain
from harness.trials.trial import Trial

CLOCK_SLACK, START_SLACK = 0.05, 5.0
"""Seconds by which two clocks may differ, and that a process may take to start, send its ranks and end."""


@dataclass(frozen=True)
class Start:
    """When a trial began, and how busy the machine was then."""

    time: str
    load: float


def circumstances_of(trial: Trial, end: JobEnd, common: Circumstances, start: Start) -> Circumstances:
    """Under what conditions one trial ran: here, or where it says that it did."""
    timed = replace(common, total_seconds=end.seconds, processes=end.processes)
    site = end.site
    if site is None:
        return replace(timed, versions={**common.versions, **trial.packages}, started=start.time, load=start.load)
    return replace(
        timed,
        versions=dict(site.versions),
        machine=site.machine.id,
        jobs=site.at_once,
        started=site.started or start.time,
        load=site.load,
    )


def record_end(trial: Trial, end: JobEnd, circumstances: Circumstances) -> Record:
    """Exactly one record for a trial, however it ended."""
    measured = _checked_clock(_measured(end), end.seconds)
    if measured.status != "ok":
        measured = replace(measured, output=end.output)
    record = make_record(plain_names(trial), measured, circumstances)
    if measured.status != "ok" or end.blob is None:
        return record
    return replace(record, ranks_crc32=checksum_of(end.blob))


def _checked_clock(measured: Measured, total_seconds: float) -> Measured:
    """What was measured, unless the trial's own clock did not go as the supervisor's did: then none of it counts."""
    if measured.status != "ok":
        return measured
    own, parts = measured.clock_seconds or 0.0, clocked_seconds(measured)
    if parts <= own + CLOCK_SLACK and own <= total_seconds + CLOCK_SLACK and total_seconds <= 1.25 * own + START_SLACK:
        return measured
    return Measured(
        status="error",
        message=(
            f"its clock cannot be trusted: the parts of the trial took {parts:.3g} s and all of it {own:.3g} s by the "
            f"clock of its process, {total_seconds:.3g} s by that of its supervisor"
        ),
    )


def clocked_seconds(measured: Measured) -> float:
    """What the clocks of a trial's parts say, all together."""
    parts = (
        measured.load_seconds,
        measured.tune_seconds,
        measured.import_seconds,
        measured.warmup_seconds,
        measured.stage_seconds,
        measured.fit_seconds,
        measured.predict_seconds,
        measured.rank_seconds,
    )
    return sum(part for part in parts if part is not None)


def _measured(end: JobEnd) -> Measured:
    if end.status != "ok":
        return Measured(status=end.status, message=end.message)
    try:
        return measured_from_plain(end.answer)
    except ValueError as error:  # whatever ran in that process may have written on its line
        return Measured(status="crash", message=f"what the trial answered cannot be used: {error}")


def as_planned(record: Record, trial: Trial) -> Record:
    """A record made before, by the names that its trial goes by now: labels and numbers are no part of the key."""
    return replace(record, **vars(plain_names(trial)))


def plain_names(trial: Trial) -> TrialNames:
    """A trial's names as a record keeps them: what comes back from a JSON line must equal what went in."""
    names = {name: getattr(trial, name) for name in field_names(TrialNames)}
    names["params"] = _as_json_has_it(trial.params)
    names["dataset_params"] = _as_json_has_it(trial.dataset_params)
    return TrialNames(**names)


def _as_json_has_it(params: Params) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(dict(params), default=repr))
    return plain
