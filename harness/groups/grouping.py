"""Records -> lines: one for each learner, as set up, on each data set, as prepared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from harness.contract import KINDS
from harness.groups.line import Line, Prepared
from harness.groups.set_ups import SetUp, set_up_of, title_set_ups
from harness.wording import counted

if TYPE_CHECKING:
    from harness.record import Record


def group_records(records: Iterable[Record]) -> list[Line]:
    """The lines of some records, in the order of these, data set by data set."""
    by_data: dict[Prepared, list[Record]] = {}
    for record in records:
        by_data.setdefault(_prepared_of(record), []).append(record)
    details = _describe_data(by_data)
    trials: dict[tuple[Prepared, SetUp], list[Record]] = {}
    for prepared, members in by_data.items():
        fixed = _fixed_states(members)
        for record in members:
            set_up = set_up_of(record, _own_params(record, fixed))
            trials.setdefault((prepared, set_up), []).append(record)
    titles = _title_all(trials)
    names = _title_all(dict.fromkeys((prepared, _unseen(set_up)) for prepared, set_up in trials))
    lines = []
    for (prepared, set_up), members in trials.items():
        name = names[_unseen(set_up)]
        lines.append(Line(titles[set_up], name, details[prepared], set_up, prepared, _one_a_seed(members)))
    return lines


def has_several_representations(lines: Iterable[Line]) -> bool:
    """Whether on some data set learners were given several representations."""
    seen: dict[Prepared, set[str]] = {}
    for line in lines:
        seen.setdefault(line.prepared, set()).add(line.representation)
    return any(len(of_one) > 1 for of_one in seen.values())


def _unseen(set_up: SetUp) -> SetUp:
    """The set-up less what the learner sees of the data."""
    return replace(set_up, representation="")


def flat_first(lines: Iterable[Line]) -> list[Line]:
    """Lines in the order of tables: flat learners before trees, and otherwise as they were."""
    return sorted(lines, key=_place_of_kind)


def _place_of_kind(line: Line) -> int:
    return KINDS.index(line.kind) if line.kind in KINDS else len(KINDS)  # a record by hand may say anything


def _one_a_seed(records: Iterable[Record]) -> tuple[Record, ...]:
    """The records in the order of their seeds; of a trial that was run twice, the last one counts."""
    by_seed = {record.seed: record for record in sorted(records, key=attrgetter("seed"))}
    return tuple(by_seed.values())


# -- learners, as set up ---------------------------------------------------------------------------------------------


def _fixed_states(records: Sequence[Record]) -> set[tuple[str, str]]:
    """Labels with a random_state that the user fixed, for it differs from a seed; elsewhere it follows the seed."""
    fixed = set()
    for record in records:
        state = record.params.get("random_state", record.seed)
        if state != record.seed:
            fixed.add((record.label, repr(state)))
    return fixed


def _own_params(record: Record, fixed: set[tuple[str, str]]) -> dict[str, Any]:
    params = dict(record.params)
    if (record.label, repr(params.get("random_state"))) not in fixed:
        params.pop("random_state", None)
    return params


def _title_all(found: Iterable[tuple[Prepared, SetUp]]) -> dict[SetUp, str]:
    """Titles over all data sets, so that a learner has the same one on each.

    A label with one set-up on every data set needs no more words, even where parameters were set for each data set.
    """
    titles: dict[SetUp, str] = {}
    seen: set[tuple[Prepared, str]] = set()
    ambiguous: set[str] = set()
    for prepared, set_up in found:
        titles[set_up] = set_up.label
        if (prepared, set_up.label) in seen:
            ambiguous.add(set_up.label)
        seen.add((prepared, set_up.label))
    return titles | title_set_ups(set_up for set_up in titles if set_up.label in ambiguous)


# -- data sets, as prepared ------------------------------------------------------------------------------------------


def _prepared_of(record: Record) -> Prepared:
    return Prepared(record.dataset, record.fingerprint, record.split)


def _describe_data(by_data: Mapping[Prepared, Sequence[Record]]) -> dict[Prepared, str]:
    """A description of each data set as prepared; where it tells two contents not apart, their fingerprints do."""
    details = {prepared: _describe_one(prepared, members) for prepared, members in by_data.items()}
    counts = Counter((prepared.dataset, detail) for prepared, detail in details.items())
    for prepared, detail in details.items():
        if counts[prepared.dataset, detail] > 1:
            details[prepared] = f"{detail}; data {prepared.fingerprint[:8]}"
    return details


def _describe_one(prepared: Prepared, records: Sequence[Record]) -> str:
    seen = list(dict.fromkeys(record.representation for record in records))
    parts = [f"{seen[0]}, {prepared.split}" if len(seen) == 1 else str(prepared.split)]
    sized = next((record for record in records if record.status == "ok"), None)
    if sized is not None:
        sizes = [f"{sized.n_train or 0:,} training and {counted(sized.n_test or 0, 'test row')}"]
        if len(seen) == 1:  # else each has its own
            sizes.append(counted(sized.n_features or 0, "feature"))
        sizes.append(counted(sized.n_classes or 0, "class"))
        parts.append(", ".join(sizes))
    params = records[0].dataset_params
    if params:
        parts.append(", ".join(f"{name}={value}" for name, value in params.items()))
    return "; ".join(parts)
