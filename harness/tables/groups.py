"""Records -> lines: one for each learner, as set up, on each data set, as prepared. Tables start from these."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.contract import KINDS
from harness.record import Record
from harness.wording import counted


@dataclass(frozen=True)
class Line:
    """The trials of one learner on one data set."""

    learner: str
    kind: str
    dataset: str
    detail: str
    records: tuple[Record, ...]


def lines_of(records: Sequence[Record]) -> list[Line]:
    """One line for each learner, as set up, on each data set, as prepared."""
    sets: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        prepared = (record.dataset, record.fingerprint, record.representation, record.split)
        sets.setdefault(prepared, []).append(record)
    details = _details(sets)
    lines = []
    for key, members in sets.items():
        by_setup: dict[str, list[Record]] = {}
        seeded = _seeded(members)
        for record in members:
            by_setup.setdefault(json.dumps(_setup(record, seeded)), []).append(record)
        titles = _titles([_setup(group[0], seeded) for group in by_setup.values()])
        for title, group in zip(titles, by_setup.values(), strict=True):
            last = {record.seed: record for record in sorted(group, key=lambda r: r.seed)}  # of a trial run twice
            lines.append(Line(title, group[0].learner_kind, key[0], details[key], tuple(last.values())))
    return sorted(lines, key=lambda line: KINDS.index(line.kind))  # stable: else in the order of the records


def _seeded(records: Sequence[Record]) -> set[str]:
    """The set-ups, by label and random_state, in which the user fixed random_state: elsewhere it follows the seed."""
    states = ((r.label, r.params.get("random_state", r.seed), r.seed) for r in records)
    return {json.dumps([label, state]) for label, state, seed in states if state != seed}


def _setup(record: Record, seeded: set[str]) -> dict[str, str]:
    """What makes a line of the table, by the words that tell it from another one of the same label."""
    params = dict(record.params)
    if json.dumps([record.label, params.get("random_state")]) not in seeded:
        params.pop("random_state", None)
    told = ", ".join(f"{name}={value!r}" for name, value in sorted(params.items()))
    origin = f"{record.learner_distribution} {record.learner_version}"
    names = sorted({name for candidate in record.tuning for name in candidate.params})
    tuned = f"tuned {', '.join(names)}, {counted(len(record.tuning), 'candidate')}" if names else "not tuned"
    setup = {"label": record.label, "learner": record.learner, "params": told or "defaults", "origin": origin}
    return setup | {"tuned": tuned}


def _titles(setups: Sequence[dict[str, str]]) -> list[str]:
    """The labels; where one label stands for several set-ups, with what tells them apart."""
    seen: dict[tuple[str, str], set[str]] = {}
    for setup in setups:
        for key, words in setup.items():
            seen.setdefault((setup["label"], key), set()).add(words)
    titles = []
    for setup in setups:
        apart = [words for key, words in setup.items() if len(seen[setup["label"], key]) > 1]
        titles.append(f"{setup['label']} [{'; '.join(apart)}]" if apart else setup["label"])
    return titles


def _details(sets: Mapping[tuple[str, ...], Sequence[Record]]) -> dict[tuple[str, ...], str]:
    """A description of each data set as prepared; where it tells two contents not apart, their fingerprints do."""
    details = {key: _detail(members) for key, members in sets.items()}
    counts = Counter((key[0], detail) for key, detail in details.items())
    return {
        key: detail if counts[key[0], detail] == 1 else f"{detail}; data {key[1][:8]}"
        for key, detail in details.items()
    }


def _detail(records: Sequence[Record]) -> str:
    first = records[0]
    parts = [f"{first.representation}, {first.split}"]
    done = [r for r in records if r.status == "ok"]
    if done:
        r = done[0]
        parts.append(
            f"{r.n_train:,} training and {counted(r.n_test or 0, 'test row')}, "
            f"{counted(r.n_features or 0, 'feature')}, {counted(r.n_classes or 0, 'class')}"
        )
    if first.dataset_params:
        parts.append(", ".join(f"{name}={value}" for name, value in first.dataset_params.items()))
    return "; ".join(parts)


def values_of(line: Line, metric: str) -> dict[int, float]:
    """A metric's value in each finished trial, by the trial's seed: trials with one seed are paired."""
    scores = ((r.seed, r.scores.get(metric)) for r in line.records if r.status == "ok")
    return {seed: value for seed, value in scores if value is not None and math.isfinite(value)}


def rivals_of(lines: Sequence[Line]) -> dict[tuple[str, str], dict[int, Line]]:
    """The lines that may be compared, by data set as prepared; within it by their place among all lines."""
    found: dict[tuple[str, str], dict[int, Line]] = {}
    for number, line in enumerate(lines):
        found.setdefault((line.dataset, line.detail), {})[number] = line
    return found


def test_share(lines: Iterable[Line]) -> float | None:
    """Test rows by training rows, as the first finished trial has them."""
    done = (r for line in lines for r in line.records if r.status == "ok" and r.n_train and r.n_test)
    return next((r.n_test / r.n_train for r in done if r.n_test and r.n_train), None)
