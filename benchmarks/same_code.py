"""Keep the committed results resumable: state, with evidence, which earlier code gives the results of present code.

    python benchmarks/same_code.py [FOLDER ...] [--most-seconds 60]
    python benchmarks/same_code.py --count

A record keeps the digest of the code that made it, since its times and scores were measured with this code. After a
change of the code, its trials would run again. A new digest in old records would hide that change. So records are never
changed. Instead, `same_code.json` beside them lists digests with the same results (`SameCode` in
`harness/records/store.py`). A statement is made for a learner with a representation, and only after one of its trials
ran again with present code and gave every score of the record to the last bit, times and memory apart.

The script runs the fastest trial of each such group. Groups whose data is not in the data home, whose learners need an
environment, or whose fastest trial took longer than --most-seconds are reported and keep their earlier statements. Run
the script again after each change of learners: it replaces what it can compare, and never changes a record. It ends
with an error if a table of a folder differs from before. --count only prints how many records a run would resume from.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.executors.base import Executor
from harness.executors.local import TRIALS, start_executor
from harness.experiment.load import load_experiment, read_options
from harness.experiment.plan import Plan, plan, read_experiment
from harness.experiment.resolve import NullProgress, Resolved, environment_of
from harness.host.discovery import Session, make_session
from harness.records.record import NOT_TRIED, Record
from harness.records.store import (
    EXPERIMENT,
    RECORDS,
    SameCode,
    open_store,
    read_records,
    read_same_code,
    write_same_code,
)
from harness.results.results import read_results
from harness.runner.execute import common_circumstances, decisive_names, has_same_plan, run_trials
from harness.runner.run import prepare_to_read, prepare_to_run, read_datasets
from harness.trials.score import Scorer
from harness.trials.trial import Trial

RESULTS = Path(__file__).resolve().parent.parent / "results"
MEASURED = ("train", "train_cpu", "predict", "rank", "rows_per_second", "peak", "index_bytes")
"""Scores that differ from run to run, or with how an index is packed."""

Group = tuple[str, str, str]
"""Learner, representation and recorded code."""


@dataclass(frozen=True)
class Planned:
    """The trials of a folder that can run here, with its records."""

    folder: Path
    resolved: Resolved
    plan: Plan
    records: Sequence[Record]

    def pairs(self) -> Iterator[tuple[Record, Trial]]:
        """Yield each finished record with the trial of present code that it represents."""
        trials: dict[str, list[Trial]] = {}
        for trial in self.plan.trials:
            trials.setdefault(decisive_names(trial), []).append(trial)
        for record in self.records:
            for trial in trials.get(decisive_names(record), ()):
                if record.status == "ok" and has_same_plan(record, trial):
                    yield record, trial


def plan_folder(folder: Path, session: Session, executor: Executor) -> Planned:
    """Plan the experiment of a folder, without learners that need an environment and without missing data."""
    raw = load_experiment(str(folder / EXPERIMENT), {}, session.catalog)
    resolved = read_experiment(raw, session)
    kept = [one for one in resolved.learners if not any(environment_of(chain) for chain in one.chains())]
    resolved = replace(resolved, learners=tuple(kept))
    prepare_to_read(executor, resolved, session)
    options = read_options({"skip_missing_data": True}, "same_code")
    resolved, headers, absent = read_datasets(resolved, options, executor, NullProgress())
    for name in absent:
        print(f"{folder.name}: no data for {name}")
    return Planned(folder, resolved, plan(resolved, headers), read_records(folder))


def fastest(pairs: Iterator[tuple[Record, Trial]]) -> dict[Group, tuple[Record, Trial]]:
    """Return the fastest record of each group whose code has changed, with its trial."""
    found: dict[Group, tuple[Record, Trial]] = {}
    for record, trial in pairs:
        group = record.learner, record.representation, record.code
        if record.code == trial.code:
            continue
        if group not in found or seconds_of(record) < seconds_of(found[group][0]):
            found[group] = record, trial
    return found


def seconds_of(record: Record) -> float:
    return record.total_seconds or float("inf")


def run_again(planned: Planned, record: Record, trial: Trial, executor: Executor) -> Record:
    """Return the record of a trial that is run with present code."""
    scorer = Scorer(planned.resolved.metrics, executor, None, None)
    circumstances = common_circumstances(planned.resolved.experiment, "")
    experiment = planned.resolved.experiment.model_copy(update={"timeout": None})
    with tempfile.TemporaryDirectory() as name, open_store(Path(name)) as store:
        run_trials([same_candidates(record, trial)], scorer, experiment, circumstances, executor, store, NullProgress())
        return store.records[trial.key]


def same_candidates(record: Record, trial: Trial) -> Trial:
    """Return a trial that tunes on the candidates of a record, without a time limit: a slow machine tries fewer."""
    if trial.tuning_plan is None:
        return trial
    tried = [candidate for candidate in record.tuning if candidate.trouble != NOT_TRIED]
    plan = replace(trial.tuning_plan, candidates=trial.tuning_plan.candidates[: len(tried)], seconds=None)
    return replace(trial, tuning_plan=plan)


def differences(before: Record, after: Record) -> list[str]:
    """Return the scores of a record that another one does not repeat to the last bit.

    A score that was missing is not a difference: the learner has gained the scores that the metric needs.
    """
    if after.status != "ok":
        return [f"{after.status}: {after.message}"]
    wrong = []
    for name, value in before.scores.items():
        if value is not None and name not in MEASURED and name in after.scores and after.scores[name] != value:
            wrong.append(f"{name} {value} -> {after.scores[name]}")
    return wrong


def compare_folder(
    planned: Planned, most_seconds: float, session: Session, executor: Executor
) -> dict[Group, SameCode]:
    """Run one trial of each group of a folder again; return a statement for each that gave the same scores."""
    found: dict[Group, SameCode] = {}
    chosen = fastest(planned.pairs())
    if chosen:
        prepare_to_run(executor, planned.resolved, session, NullProgress())
    for group, (record, trial) in chosen.items():
        name = f"{planned.folder.name}: {record.label} on {record.dataset}, code {record.code}"
        if seconds_of(record) > most_seconds:
            print(f"{name}: not compared, it took {seconds_of(record):.0f} s")
            continue
        again = run_again(planned, record, trial, executor)
        wrong = differences(record, again)
        if wrong:
            print(f"{name}: differs: {', '.join(wrong[:3])}")
            continue
        shared = sum(score in again.scores and score not in MEASURED for score in record.scores)
        day = datetime.now(UTC).date().isoformat()
        evidence = f"trial {record.key} on {record.dataset} of {planned.folder.name}: {shared} equal scores, {day}"
        found[group] = SameCode(*group, trial.code, evidence)
        print(f"{name}: the same")
    return found


def replace_statements(folder: Path, records: Sequence[Record], found: dict[Group, SameCode]) -> None:
    """Write the statements of a folder: new ones for its groups, earlier ones for groups that were not compared."""
    groups = {(record.learner, record.representation, record.code) for record in records}
    kept = {(one.learner, one.representation, one.recorded): one for one in read_same_code(folder)}
    kept |= {group: one for group, one in found.items() if group in groups}
    if kept:
        write_same_code(folder, [kept[group] for group in sorted(kept)])


@contextmanager
def unchanged_tables(folders: Sequence[Path], session: Session) -> Iterator[None]:
    """Exit with an error if the records or tables of a folder differ after the block."""
    before = [content_of(folder, session) for folder in folders]
    yield
    for folder, content in zip(folders, before, strict=True):
        if content_of(folder, session) != content:
            sys.exit(f"{folder}: its records or tables have changed")
    print(f"records and tables of {len(folders)} folders are unchanged")


def content_of(folder: Path, session: Session) -> tuple[bytes, str]:
    return (folder / RECORDS).read_bytes(), read_results([folder], session).table().render("json")


def count_resumable(planned: Planned) -> tuple[int, int]:
    """Return the number of records that a run would resume from, and of those that represent a planned trial."""
    same = {(one.learner, one.representation, one.recorded, one.present) for one in read_same_code(planned.folder)}
    resumable = total = 0
    for record, trial in planned.pairs():
        total += 1
        stated = (record.learner, record.representation, record.code, trial.code) in same
        resumable += record.code == trial.code or stated
    return resumable, total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="all committed results, unless given")
    parser.add_argument("--most-seconds", type=float, default=60.0, help="longest recorded trial to run again")
    parser.add_argument("--count", action="store_true", help="only count the records that a run would resume from")
    given = parser.parse_args()
    folders = given.folders or sorted(path.parent for path in RESULTS.glob(f"*/{RECORDS}"))
    session = make_session((), ())
    executor = start_executor(TRIALS, 1)
    try:
        planned = [plan_folder(folder, session, executor) for folder in folders]
        if not given.count:
            with unchanged_tables(folders, session):
                found: dict[Group, SameCode] = {}
                for one in planned:
                    found |= compare_folder(one, given.most_seconds, session, executor)
                    replace_statements(one.folder, one.records, found)  # an interrupted comparison keeps these
                for one in planned:
                    replace_statements(one.folder, one.records, found)
        counts = [count_resumable(one) for one in planned]
        for one, (resumable, total) in zip(planned, counts, strict=True):
            print(f"{one.folder.name}: resumes from {resumable} of {total} records ({len(one.records)} in all)")
        print(f"in all: {sum(number for number, _ in counts)} of {sum(total for _, total in counts)}")
    finally:
        executor.close()


if __name__ == "__main__":
    main()
