"""Two results folders side by side: what changed, whether a paired test can tell, and which settings differ. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.contract import MetricSpec
from harness.record import Record
from harness.stats import FEWEST_PAIRS, SIGNIFICANCE, Summary, count_wins, holm, mcnemar, sign_test, summarise
from harness.tables.format import format_value
from harness.tables.grid import Grid
from harness.tables.groups import Line, values_of
from harness.wording import counted

Hits = Callable[[Record], Sequence[bool]]
"""Whether the first-ranked class of each test row is a true one, in the order of the rows."""


@dataclass(frozen=True)
class Change:
    """One metric of one learner on one data set, before and after."""

    dataset: str
    learner: str
    metric: MetricSpec
    before: Summary
    after: Summary
    wins: tuple[int, int, int]
    """Paired trials in which the later is better, equal, worse."""
    p_value: float
    """Of the exact paired sign test, ties dropped, before any correction."""
    instances_p: float | None = None
    """Of McNemar's test on the test rows of the first shared trial, where it was asked for."""
    comparable: bool = True
    """False for times that were taken on two machines or with other threads."""

    @property
    def pairs(self) -> int:
        return sum(self.wins)


def pair_lines(
    before: Sequence[Line], after: Sequence[Line], names: tuple[str, str] | None = None
) -> tuple[list[tuple[Line, Line]], list[str]]:
    """Lines of one learner on one data set, as prepared, in both folders; and what stands in one of them only.

    With `names` the first learner of the first folder is compared with the second of the second.
    """
    first = {_place(line): line for line in before if names is None or line.learner == names[0]}
    second = {_place(line): line for line in after if names is None or line.learner == names[1]}
    if names is not None:
        first = {(*place[:3], ""): line for place, line in first.items()}
        second = {(*place[:3], ""): line for place, line in second.items()}
    both = [(first[place], second[place]) for place in first if place in second]
    alone = [f"only in the first: {_describe(line)}" for place, line in first.items() if place not in second]
    alone += [f"only in the second: {_describe(line)}" for place, line in second.items() if place not in first]
    return both, alone


def _place(line: Line) -> tuple[str, str, str, str]:
    record = line.records[0]
    return record.dataset, record.representation, record.split, line.learner


def _describe(line: Line) -> str:
    record = line.records[0]
    return f"{line.learner} on {record.dataset} ({record.representation}, {record.split})"


def tell_lines(lines: Sequence[Line]) -> list[str]:
    """What there is to compare, a text for each data set as prepared."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for line in lines:
        found.setdefault(_place(line)[:3], []).append(line.learner)
    return [f"{', '.join(learners)} on {data} ({how}, {split})" for (data, how, split), learners in found.items()]


def changes_of(
    pairs: Sequence[tuple[Line, Line]], metrics: Sequence[MetricSpec], hits: tuple[Hits, Hits] | None = None
) -> list[Change]:
    """Every metric of every pair that both have a value for. With `hits`, McNemar's test on the first-ranked class."""
    changes = []
    for first, second in pairs:
        by_rows = _instances_p(first, second, hits) if hits else None
        alike = len({(r.machine, r.threads) for line in (first, second) for r in line.records if r.status == "ok"}) == 1
        for metric in metrics:
            old, new = values_of(first, metric.name), values_of(second, metric.name)
            before, after = summarise(list(old.values())), summarise(list(new.values()))
            if before is None or after is None:
                continue
            sign = 1 if metric.direction == "higher" else -1
            shared = sorted(old.keys() & new.keys())
            a, b = [sign * new[t] for t in shared], [sign * old[t] for t in shared]
            name = first.learner if first.learner == second.learner else f"{first.learner} -> {second.learner}"
            instances = by_rows if (metric.unit, metric.depth) == ("share", 1) else None
            tested = (count_wins(a, b), sign_test(a, b), instances)
            changes.append(Change(first.dataset, name, metric, before, after, *tested, alike or not metric.timed))
    return changes


def _instances_p(first: Line, second: Line, hits: tuple[Hits, Hits]) -> float | None:
    """McNemar's test on the first trial that both have, if it has the same test rows."""
    old, new = ({r.seed: r for r in line.records if r.status == "ok"} for line in (first, second))
    for seed in sorted(old.keys() & new.keys()):
        if old[seed].fingerprint == new[seed].fingerprint:
            return mcnemar(hits[0](old[seed]), hits[1](new[seed]))
    return None


def changes_grid(changes: Sequence[Change], title: str, *, instances: bool = False) -> Grid:
    """The changes with a verdict each; p-values are Holm-corrected over all rows that can be tested."""
    testable = [i for i, change in enumerate(changes) if change.pairs >= FEWEST_PAIRS and change.comparable]
    corrected = dict(zip(testable, holm([changes[i].p_value for i in testable]), strict=True))
    rows, values = [], []
    for number, change in enumerate(changes):
        p, verdict = corrected.get(number), _verdict(change, corrected.get(number))
        metric, difference = change.metric, change.after.mean - change.before.mean
        sign = "-" if difference < 0 else "+"
        won, tied, lost = change.wins
        extra = (_p_text(change.instances_p),) if instances else ()
        rows.append(
            (
                *(change.dataset, change.learner, metric.title or metric.name),
                *(format_value(change.before, metric), format_value(change.after, metric)),
                sign + format_value(Summary(abs(difference), None, 1), metric),
                *(f"{won}/{tied}/{lost}", _p_text(p), *extra, verdict),
            )
        )
        values.append(
            {
                "dataset": change.dataset,
                "learner": change.learner,
                "metric": metric.name,
                "before": change.before.mean,
                "before_sd": change.before.sd,
                "before_n": change.before.n,
                "after": change.after.mean,
                "after_sd": change.after.sd,
                "after_n": change.after.n,
                "difference": difference,
                "won": won,
                "tied": tied,
                "lost": lost,
                "p": p,
                **({"mcnemar_p": change.instances_p} if instances else {}),
                "verdict": verdict,
            }
        )
    columns: tuple[str, ...] = ("data set", "learner", "metric", "first", "second", "change", "won/tied/lost", "p")
    columns += (("McNemar p",) if instances else ()) + ("verdict",)
    return Grid(title, columns, tuple(rows), tuple(values), _foot(instances))


def _foot(instances: bool) -> tuple[str, ...]:
    foot: tuple[str, ...] = (
        "Mean ± sample standard deviation; won/tied/lost: paired trials in which the second is better, equal, worse.",
        f"p: exact paired sign test, ties dropped, Holm-corrected over the rows; fewer than {FEWEST_PAIRS} pairs are "
        "too few to test.",
    )
    if instances:
        foot += ("McNemar p: exact, on hit or miss of each test row in the first shared trial; not corrected.",)
    return foot


def _verdict(change: Change, p: float | None) -> str:
    won, _, lost = change.wins
    if not change.comparable:
        return "other machine"
    if won == lost == 0 and change.pairs:
        return "same"
    if p is None:
        return "not tested"
    if p > SIGNIFICANCE:
        return "not told apart"
    return "better" if won > lost else "worse"


def _p_text(p: float | None) -> str:
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


# -- settings --------------------------------------------------------------------------------------------------------


def settings_grid(before: Sequence[Record], after: Sequence[Record], machines: Mapping[str, Any]) -> Grid:
    """What else differs between two sets of records: versions, machine, threads, data, parameters."""
    first, second = _settings(before, machines), _settings(after, machines)
    rows = []
    for name in dict.fromkeys((*first, *second)):
        old, new = first.get(name, "-"), second.get(name, "-")
        if old != new:
            rows.append((name, old, new))
    values = tuple({"setting": name, "first": old, "second": new} for name, old, new in rows)
    foot = () if rows else ("Versions, machine, threads, data and parameters are the same.",)
    return Grid("Settings that differ", ("setting", "first", "second"), tuple(rows), values, foot)


def _settings(records: Sequence[Record], machines: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for record in records:
        facts = machines.get(record.machine, {})
        cores = counted(facts.get("cores", "?"), "core")
        machine = f"{facts.get('processor', 'unknown processor')}, {cores} ({record.machine})"
        known = {"machine": machine, "threads": record.threads, "jobs": record.jobs, "commit": record.commit or "-"}
        known |= {f"version of {name}": version for name, version in record.versions.items()}
        known |= {f"data of {record.dataset}": record.fingerprint[:12]}
        origin = f"{record.learner_distribution} {record.learner_version}"
        params = {**record.params, **record.tuned}
        if params.get("random_state") == record.seed:
            del params["random_state"]
        told = ", ".join(f"{name}={value!r}" for name, value in sorted(params.items())) or "defaults"
        known |= {f"learner {record.label}": f"{record.learner} of {origin}"}
        known |= {f"parameters of {record.label} on {record.dataset}": told}
        for name, value in known.items():
            found.setdefault(name, set()).add(str(value))
    return {name: "; ".join(sorted(texts)) for name, texts in found.items()}
