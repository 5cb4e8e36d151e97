"""Records -> Table: rows are learners, flat first, grouped by data set; columns are metrics. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.record import Record
from harness.stats import (
    TESTS,
    USUAL_RATIO,
    Summary,
    binomial_half_width,
    indistinguishable_from_best,
    summarise,
    t_half_width,
)
from harness.tables.groups import Line, lines_of, rivals_of, test_share, values_of
from harness.wording import counted

By = Literal["dataset", "learner"]


Spread = Literal["sd", "t", "binomial"]
_SPREADS = {
    "sd": "Mean ± sample standard deviation over trials",
    "t": "Mean ± half of Student's 95% interval over trials",
    "binomial": "Mean ± half of the binomial 95% interval, 1.96 sqrt(e (1 - e) / n) with n test rows, for shares; "
    "± sample standard deviation over trials for the rest",
}


@dataclass(frozen=True)
class Cell:
    """One metric of one learner on one data set; without a summary, `failed` or nothing at all."""

    summary: Summary | None
    failed: str = ""
    best: bool = False
    spread: float | None = None
    """What stands behind the ±: the standard deviation, or half of an interval."""


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


def make_table(
    records: Iterable[Record],
    metrics: Sequence[MetricSpec],
    *,
    by: By = "dataset",
    mixed_machines: bool = False,
    machines: Mapping[str, Any] | None = None,
    test: str = "sign",
    spread: Spread = "sd",
    notes: Sequence[str] = (),
) -> Table:
    """The comparison table of some records with these columns; `test` is one of `harness.stats.TESTS`.

    `notes` come last in its foot: what a reader must know and no record can tell.
    """
    kept = list(records)
    if not kept:
        raise HarnessError("there are no records to make a table of")
    lines = lines_of(kept)
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
    best, marks = _best(lines, columns, test)
    groups = _groups(lines, columns, best, by, spread)
    foot += [f"{_SPREADS[spread]}{_marks(test, marks)}.", *_foot(kept, columns, machines or {}), *notes]
    return Table(columns, "learner" if by == "dataset" else "data set", groups, tuple(foot))


# -- cells -----------------------------------------------------------------------------------------------------------


@dataclass
class _Marks:
    """What marks rest on: over how many paired trials there were tests, and how many it takes where there were none."""

    pairs: set[int] = field(default_factory=set)
    needed: set[int] = field(default_factory=set)


def _best(lines: Sequence[Line], columns: Sequence[MetricSpec], test: str) -> tuple[set[tuple[int, str]], _Marks]:
    """Which (line, metric) to mark, and what the marks rest on."""
    marked: set[tuple[int, str]] = set()
    marks = _Marks()
    for rivals in rivals_of(lines).values():
        ratio = test_share(rivals.values()) or USUAL_RATIO
        for metric in columns if len(rivals) > 1 else ():
            samples = {str(i): values for i, line in rivals.items() if (values := values_of(line, metric.name))}
            if len(samples) < 2:
                continue
            winners, enough = indistinguishable_from_best(
                samples, higher=metric.direction == "higher", test=test, ratio=ratio
            )
            least, needed = min(map(len, samples.values())), TESTS[test].fewest(len(samples) - 1)
            all_equal = len(winners) == len(samples) and least < needed  # then nothing is claimed
            if enough and not all_equal:
                marks.pairs.add(least)
            elif not all_equal:
                marks.needed.add(needed)
            marked |= {(int(i), metric.name) for i in winners}
    if marked and not marks.pairs and not marks.needed:
        marks.needed.add(TESTS[test].fewest(1))
    return marked, marks


def _row(
    title: str, line: Line, number: int, columns: Sequence[MetricSpec], best: set[tuple[int, str]], spread: Spread
) -> Row:
    failures = Counter(r.status.upper() for r in line.records if r.status != "ok")
    total = len(line.records)
    failed = ", ".join(f"{status} {count}/{total}" for status, count in failures.items())
    done = total - failures.total()
    cells = []
    for metric in columns:
        summary = summarise(list(values_of(line, metric.name).values()))
        width = _width(summary, spread, metric, line)
        cells.append(Cell(summary, failed if not done else "", (number, metric.name) in best, width))
    trials = str(total) if not failures else f"{done}/{total}, {failed}" if done else f"0/{total}"
    return Row(title, line.kind, trials, tuple(cells))


def _width(summary: Summary | None, spread: Spread, metric: MetricSpec, line: Line) -> float | None:
    """What stands behind the ± of a cell."""
    if summary is None or spread == "sd" or (spread == "binomial" and metric.unit != "share"):
        return summary.sd if summary else None
    if spread == "t":
        return t_half_width(summary)
    n_test = next((r.n_test for r in line.records if r.status == "ok" and r.n_test), None)
    return binomial_half_width(summary.mean, n_test) if n_test and 0 <= summary.mean <= 1 else None


def _groups(
    lines: Sequence[Line], columns: Sequence[MetricSpec], best: set[tuple[int, str]], by: By, spread: Spread
) -> tuple[Group, ...]:
    found: dict[tuple[str, str], list[Row]] = {}
    prepared = Counter(dataset for dataset, _ in {(line.dataset, line.detail) for line in lines})
    for number, line in enumerate(lines):
        if by == "dataset":
            heading, detail, title = line.dataset, line.detail, line.learner
        else:  # a data set prepared in several ways says which
            heading, detail = line.learner, line.kind
            title = f"{line.dataset} [{line.detail}]" if prepared[line.dataset] > 1 else line.dataset
        found.setdefault((heading, detail), []).append(_row(title, line, number, columns, best, spread))
    return tuple(Group(heading, detail, tuple(rows)) for (heading, detail), rows in found.items())


# -- foot ------------------------------------------------------------------------------------------------------------


def _condition(machine: str, threads: int, machines: Mapping[str, Any]) -> str:
    facts = machines.get(machine, {})
    name = f"{facts.get('processor', 'unknown processor')}, {counted(facts.get('cores', '?'), 'core')}"
    return f"{name} ({machine}), {counted(threads, 'thread')}"


def _marks(test: str, marks: _Marks) -> str:
    """What a mark means, by whether marks rest on a test: none of them, all, or some."""
    if not marks.pairs and not marks.needed:
        return ""
    few = f"fewer than {max(marks.needed)} paired trials" if marks.needed else ""
    if not marks.pairs:
        return f"; marked: the best mean ({few} are too few to test)"
    fewest, most = min(marks.pairs), max(marks.pairs)
    trials = f"{fewest} paired trials" if fewest == most else f"{fewest} to {most} paired trials"
    some = f"; with {few}, the best mean alone" if few else ""
    return f"; marked: the best, and all that {TESTS[test].words} cannot tell from it over {trials}{some}"


def _foot(records: Sequence[Record], columns: Sequence[MetricSpec], machines: Mapping[str, Any]) -> list[str]:
    """What a reader must know to trust the numbers."""
    done = [r for r in records if r.status == "ok"]
    foot: list[str] = []
    absent = [m.name for m in columns if done and not any(m.name in r.scores for r in done)]
    if absent:
        foot.append(f"In none of the records: {', '.join(absent)}; `harness rescore` computes it where ranks suffice.")
    foot += _chosen(done)
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
    more = [f"... and {counted(len(notes) - 8, 'more message')} in the records."] if len(notes) > 8 else []
    return foot + notes[:8] + more


def _chosen(records: Sequence[Record]) -> list[str]:
    """What tuning chose most often, for each learner and data set where there was any."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for r in records:
        if r.tuned:
            words = ", ".join(f"{name}={value}" for name, value in sorted(r.tuned.items()))
            found.setdefault((r.label, r.dataset), Counter())[words] += 1
    lines = []
    for (label, dataset), counts in found.items():
        words, often = counts.most_common(1)[0]
        trials = f"{often} of {counted(counts.total(), 'trial')}"
        lines.append(f"{label} on {dataset}: chosen on validation rows, most often {words} ({trials}).")
    return lines


def _one_line(message: str) -> str:
    """An error's text may hold anything; a foot is lines of print, in LaTeX comments."""
    text = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    return text if len(text) <= 300 else f"{text[:300]} ..."


def _over_threads(record: Record) -> bool:
    """More processor time than the allowed threads could have spent; a short fit is too coarse to judge."""
    wall, cpu = record.fit_seconds or 0.0, record.fit_cpu_seconds or 0.0
    return wall > 0.5 and cpu > 1.2 * wall * record.threads
