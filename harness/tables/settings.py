"""What else differs between lines that are compared: versions, machine, threads, data, parameters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from harness.groups import Line
from harness.machine import Machine
from harness.params import describe_params
from harness.tables.grid import Grid

if TYPE_CHECKING:
    from harness.record import Record


def settings_grid(pairs: Iterable[tuple[Line, Line]], machines: Mapping[str, Machine]) -> Grid:
    """The settings that are not the same on both sides of the pairs, over all of these."""
    first: list[Record] = []
    second: list[Record] = []
    for before, after in pairs:
        first += before.records
        second += after.records
    return _differences(_settings_of(first, machines), _settings_of(second, machines))


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> Grid:
    rows, values = [], []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, "-"), after.get(name, "-")
        if old != new:
            rows.append((name, old, new))
            values.append({"setting": name, "first": old, "second": new})
    foot = () if rows else ("Versions, machine, threads, data and parameters are the same.",)
    return Grid("Settings that differ", ("setting", "first", "second"), tuple(rows), tuple(values), foot)


def _settings_of(records: Iterable[Record], machines: Mapping[str, Machine]) -> dict[str, str]:
    """Every setting with all that it was among these records, in words."""
    found: dict[str, set[str]] = {}
    for record in records:
        for name, words in _settings_of_trial(record, machines).items():
            found.setdefault(name, set()).add(words)
    return {name: "; ".join(sorted(words)) for name, words in found.items()}


def _settings_of_trial(record: Record, machines: Mapping[str, Machine]) -> dict[str, str]:
    settings = {
        "machine": str(machines.get(record.machine, Machine(record.machine))),
        "threads": str(record.threads),
        "jobs": str(record.jobs),
        "commit": record.commit or "-",
    }
    for name, version in record.versions.items():
        settings[f"version of {name}"] = version
    settings[f"data of {record.dataset}"] = f"{record.fingerprint[:12]} {record.dataset_revision}".rstrip()
    origin = f"{record.learner_distribution} {record.learner_version}"
    settings[f"learner {record.label}"] = f"{record.learner} of {origin}"
    settings[f"parameters of {record.label} on {record.dataset}"] = _describe_own_params(record)
    return settings


def _describe_own_params(record: Record) -> str:
    """All parameters but a random_state that follows the seed."""
    params = {**record.params, **record.tuned}
    if params.get("random_state") == record.seed:
        del params["random_state"]
    return describe_params(params)
