"""Records -> Table: rows are learners, flat first, grouped by data set; columns are metrics. Pure."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.contract import KINDS, MetricSpec
from harness.errors import HarnessError
from harness.record import Record
from harness.stats import FEWEST_PAIRS, Summary, indistinguishable_from_best, summarise

By = Literal["dataset", "learner"]


_BY_TEST = (
    "; marked: the best, and all that a paired sign test (exact, ties dropped, Holm-corrected, 5%) cannot tell from it"
)
_BY_MEAN = f"; marked: the best mean (fewer than {FEWEST_PAIRS} paired trials are too few to test)"
_MARKED: dict[frozenset[bool], str] = {
    frozenset(): "",
    frozenset({True}): _BY_TEST,
    frozenset({False}): _BY_MEAN,
    frozenset({True, False}): f"{_BY_TEST}; with fewer than {FEWEST_PAIRS} paired trials, the best mean alone",
}
"""What a mark means, by whether marks rest on a test: none of them, all, or some."""


@dataclass(frozen=True)
class Cell:
    """One metric of one learner on one data set; without a summary, `failed` or nothing at all."""

    summary: Summary | None
    failed: str = ""
    best: bool = False


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    title: str
    kind: str
    trials: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Lines that belong together, best marked among them."""

    title: str
    detail: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """All that a renderer needs."""

    columns: tuple[MetricSpec, ...]
    row_heading: str
    groups: tuple[Group, ...]
    foot: tuple[str, ...]


@dataclass(frozen=True)
class _Line:
    learner: str
    kind: str
    dataset: str
    detail: str
    records: tuple[Record, ...]


def make_table(
    records: Iterable[Record],
    metrics: Sequence[MetricSpec],
    *,
    by: By = "dataset",
    mixed_machines: bool = False,
    machines: Mapping[str, Any] | None = None,
) -> Table:
    """The comparison table of some records with these columns."""
    kept = list(records)
    if not kept:
        raise HarnessError("there are no records to make a table of")
    lines = _lines(kept)
    foot: list[str] = []
    columns = tuple(metrics)
    conditions = sorted({(r.machine, r.threads) for r in kept if r.status == "ok"})
    if len(conditions) > 1 and any(m.timed for m in columns):
        where = "; ".join(_condition(machine, threads, machines or {}) for machine, threads in conditions)
        if mixed_machines:
            foot.append(f"TIMES ARE NOT COMPARABLE: measured under {len(conditions)} conditions: {where}.")
        else:
            columns = tuple(m for m in columns if not m.timed)
            foot.append(
                f"Times are left out, being measured under {len(conditions)} conditions ({where}); "
                "--mixed-machines shows them all the same."
            )
    best, tested = _best(lines, columns)
    groups = _groups(lines, columns, best, by)
    foot += _foot(kept, columns, machines or {}, tested)
    return Table(columns, "learner" if by == "dataset" else "data set", groups, tuple(foot))


# -- lines -----------------------------------------------------------------------------------------------------------


def _lines(records: Sequence[Record]) -> list[_Line]:
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
            lines.append(_Line(title, group[0].learner_kind, key[0], details[key], tuple(last.values())))
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
    return {"label": record.label, "learner": record.learner, "params": told or "defaults", "origin": origin}


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
            f"{r.n_train:,} training and {r.n_test:,} test rows, {r.n_features:,} features, {r.n_classes:,} classes"
        )
    if first.dataset_params:
        parts.append(", ".join(f"{name}={value}" for name, value in first.dataset_params.items()))
    return "; ".join(parts)


# -- cells -----------------------------------------------------------------------------------------------------------


def _values(line: _Line, metric: str) -> dict[int, float]:
    scores = ((r.seed, r.scores.get(metric)) for r in line.records if r.status == "ok")
    return {seed: value for seed, value in scores if value is not None and math.isfinite(value)}


def _best(lines: Sequence[_Line], columns: Sequence[MetricSpec]) -> tuple[set[tuple[int, str]], frozenset[bool]]:
    """Which (line, metric) to mark, and whether the marks rest on a test."""
    marked: set[tuple[int, str]] = set()
    tested: set[bool] = set()
    for dataset in {(line.dataset, line.detail) for line in lines}:
        rivals = {str(i): line for i, line in enumerate(lines) if (line.dataset, line.detail) == dataset}
        if len(rivals) < 2:
            continue
        for metric in columns:
            samples = {i: values for i, line in rivals.items() if (values := _values(line, metric.name))}
            if len(samples) < 2:
                continue
            winners, enough = indistinguishable_from_best(samples, higher=metric.direction == "higher")
            if len(winners) < len(samples):  # where all are marked, nothing is claimed
                tested.add(enough)
            marked |= {(int(i), metric.name) for i in winners}
    return marked, frozenset(tested or ({False} if marked else ()))


def _row(title: str, line: _Line, number: int, columns: Sequence[MetricSpec], best: set[tuple[int, str]]) -> Row:
    failures = Counter(r.status.upper() for r in line.records if r.status != "ok")
    total = len(line.records)
    failed = ", ".join(f"{status} {count}/{total}" for status, count in failures.items())
    done = total - failures.total()
    cells = []
    for metric in columns:
        summary = summarise(list(_values(line, metric.name).values()))
        cells.append(Cell(summary, failed if not done else "", (number, metric.name) in best))
    trials = str(total) if not failures else f"{done}/{total}, {failed}" if done else f"0/{total}"
    return Row(title, line.kind, trials, tuple(cells))


def _groups(
    lines: Sequence[_Line], columns: Sequence[MetricSpec], best: set[tuple[int, str]], by: By
) -> tuple[Group, ...]:
    found: dict[tuple[str, str], list[Row]] = {}
    prepared = Counter(dataset for dataset, _ in {(line.dataset, line.detail) for line in lines})
    for number, line in enumerate(lines):
        if by == "dataset":
            heading, detail, title = line.dataset, line.detail, line.learner
        else:  # a data set prepared in several ways says which
            heading, detail = line.learner, line.kind
            title = f"{line.dataset} [{line.detail}]" if prepared[line.dataset] > 1 else line.dataset
        found.setdefault((heading, detail), []).append(_row(title, line, number, columns, best))
    return tuple(Group(heading, detail, tuple(rows)) for (heading, detail), rows in found.items())


# -- foot ------------------------------------------------------------------------------------------------------------


def _condition(machine: str, threads: int, machines: Mapping[str, Any]) -> str:
    facts = machines.get(machine, {})
    name = f"{facts.get('processor', 'unknown processor')}, {facts.get('cores', '?')} cores"
    return f"{name} ({machine}), {threads} thread{'s' * (threads > 1)}"


def _foot(
    records: Sequence[Record], columns: Sequence[MetricSpec], machines: Mapping[str, Any], tested: frozenset[bool]
) -> list[str]:
    """What a reader must know to trust the numbers."""
    done = [r for r in records if r.status == "ok"]
    foot = [f"Mean ± sample standard deviation over trials{_MARKED[tested]}."]
    conditions = sorted({(r.machine, r.threads) for r in done})
    if len(conditions) == 1:
        foot.append(f"Measured on {_condition(*conditions[0], machines)}.")
    if any(m.timed for m in columns) and any(r.jobs > 1 for r in done):
        most = max(r.jobs for r in done)
        foot.append(f"WARNING: up to {most} timed trials shared the machine (--jobs {most}): times are not clean.")
    greedy = sorted({r.label for r in done if _over_threads(r)})
    if greedy:
        foot.append(f"WARNING: used more processors than allowed: {', '.join(greedy)}.")
    by_coefficients = sorted({r.label for r in done if r.index_source == "coef_"})
    if by_coefficients and any(m.unit == "count" for m in columns):
        foot.append(f"Index size is the non-zeros of coef_: {', '.join(by_coefficients)}.")
    pickled = sorted({r.label for r in done if r.index_source == "pickle"})
    if pickled and any(m.unit == "bytes" for m in columns):
        foot.append(f"Bytes are those of the serialised learner: {', '.join(pickled)}.")
    notes = sorted({f"{r.label} on {r.dataset}: {_one_line(r.message)}" for r in records if r.message})
    foot += notes[:8] + ([f"... and {len(notes) - 8} more messages in the records."] if len(notes) > 8 else [])
    return foot


def _one_line(message: str) -> str:
    """An error's text may hold anything; a foot is lines of print, in LaTeX comments."""
    text = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    return text if len(text) <= 300 else f"{text[:300]} ..."


def _over_threads(record: Record) -> bool:
    """More processor time than the allowed threads could have spent; a short fit is too coarse to judge."""
    wall, cpu = record.fit_seconds or 0.0, record.fit_cpu_seconds or 0.0
    return wall > 0.5 and cpu > 1.2 * wall * record.threads
