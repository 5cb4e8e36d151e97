"""The main path of a run: resolve, prepare data, plan, open the store, run trials, report.

`run_experiment` reads top to bottom; the functions below it follow in the order in which it calls them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from harness.data.arrays import Header, open_dataset, read_header
from harness.data.split import part_data
from harness.errors import DataError, SpecError
from harness.executors.base import Executor, Job, Workplace
from harness.executors.local import paths_of
from harness.experiment.load import RawExperiment
from harness.experiment.plan import Plan, key_of, plan, read_experiment
from harness.experiment.resolve import Progress, Resolved, find_environments, prepare_dataset
from harness.experiment.save import experiment_file, write_experiment
from harness.experiment.schema import Experiment, RunOptions
from harness.files.home import make_room
from harness.host.contract import Dataset
from harness.host.discovery import Session
from harness.records.record import Record
from harness.records.store import EXPERIMENT, RECORDS, Store, open_store
from harness.report.verdicts import PlannedComparison, describe_expected_power
from harness.results.results import Results, read_results
from harness.runner.cluster import trial_executor, workplace_of
from harness.runner.execute import (
    adopt_same_code,
    as_planned,
    common_circumstances,
    complete_metrics,
    pending,
    report_done,
    run_trials,
    take_over,
)
from harness.runner.limits import Limits, record_skipped
from harness.runner.progress import write_status
from harness.runner.tune_once import FOLDER, plan_chosen, plan_tuning, tunes_once
from harness.syntax.split import Split
from harness.system.machine import Machine, describe_machine
from harness.text import as_note, as_warning, counted
from harness.trials.data import REPRESENT_TARGET, is_large
from harness.trials.score import Scorer
from harness.trials.trial import RepresentJob, Trial, check_set_ups

COMPILING = "compiling kernels; this happens once, later runs find them ready"
MANY = 2
"""The value of `at_once` for a cluster, which decides the real number. More than 1 means that no trial waits."""


@dataclass(frozen=True)
class Ran:
    """The results of a run, and the errors of datasets that were skipped."""

    results: Results
    absent: Mapping[str, DataError] = field(default_factory=dict)
    """Errors by name of the datasets that are not available."""


class RunInterrupted(KeyboardInterrupt):
    """A run was interrupted by Ctrl-C. Finished trials are stored, and the same call resumes the run."""

    def __init__(self, folder: Path, kept: int, total: int) -> None:
        super().__init__(folder, kept, total)
        self.folder, self.kept, self.total = folder, kept, total

    def __str__(self) -> str:
        done = counted(self.total, "trial is", "trials are")
        return f"interrupted: {self.kept} of {done} kept in {self.folder}; the same command goes on from there"


def run_experiment(
    raw: RawExperiment, options: RunOptions, session: Session, executor: Executor, progress: Progress
) -> Ran:
    """Run the trials of an experiment that have no record yet, and store each record as soon as its trial ends.

    Parameters
    ----------
    raw : RawExperiment
        The experiment, as `load_experiment` returns it.
    options : RunOptions
        Options of this run that do not belong to the experiment, such as the results folder.
    session : Session
        The plugins.
    executor : Executor
        Reads data, and runs the trials unless a cluster does.
    progress : Progress
        Shows progress and warnings.

    Returns
    -------
    Ran
        The results of all trials of the experiment, also of earlier runs.

    Raises
    ------
    HarnessError
        For errors that the user can correct. For a wrong name or parameter, no results folder is created.
    RunInterrupted
        On Ctrl-C.
    """
    # Resolve: look up every name before any work.
    resolved = read_experiment(raw, session)
    experiment = resolved.experiment
    check_options(experiment, options)
    resolved = find_environments(resolved, build=options.build, say=progress.say)
    try:
        # Prepare data. Kernels are compiled after this step: errors in files are reported without waiting for them.
        prepare_to_read(executor, resolved, session)
        resolved, headers, absent = read_datasets(resolved, options, executor, progress)
        # Plan. To tune once, the first stage of the experiment runs before the plan of its trials is known.
        prepare_to_run(executor, resolved, session, progress)
        stage = partial(run_plan, raw, resolved, options, session, executor, progress)
        if tunes_once(experiment):
            tuning = plan_tuning(resolved, headers)
            folder = options.out or Path("results") / default_folder(tuning)
            progress.say("stage 1 of 2: tuning each learner once per dataset, on rows that no trial tests on")
            planned = plan_chosen(resolved, headers, tuning, stage(tuning, folder / FOLDER))
            progress.say("stage 2 of 2: the trials, with the chosen parameters")
        else:
            planned = plan(resolved, headers)
            folder = options.out or Path("results") / default_folder(planned)
        # Run.
        for line in describe_power(planned):
            progress.say(line)
        found = stage(planned, folder)
        records = [as_planned(found[trial.key], trial) for trial in planned.trials if trial.key in found]
    finally:
        progress.end()
    # Report.
    return Ran(read_results([folder], session, records=records, requested=experiment.metrics), absent)


def run_plan(
    raw: RawExperiment,
    resolved: Resolved,
    options: RunOptions,
    session: Session,
    executor: Executor,
    progress: Progress,
    planned: Plan,
    folder: Path,
) -> dict[str, Record]:
    """Run the trials of a plan that have no record in a folder yet, and return all records of the folder by key.

    Parameters
    ----------
    raw : RawExperiment
        The experiment as text, for the folder.
    resolved : Resolved
        The experiment with its plugins.
    options : RunOptions
        Options of the run.
    session : Session
        The plugins.
    executor : Executor
        Runs the trials unless a cluster does.
    progress : Progress
        Shows progress and warnings.
    planned : Plan
        The trials.
    folder : Path
        The results folder. A new one is created only after the learners have accepted their parameters.

    Raises
    ------
    RunInterrupted
        On Ctrl-C.
    """
    planned.check()
    machine = describe_machine()
    report_warnings(planned, machine, progress)
    is_new = not (folder / RECORDS).exists()
    if is_new:
        check_set_ups(planned.trials, executor)
    with open_store(folder) as store, write_status(progress, folder) as shown:
        take_over(options.reuse, planned.trials, store, shown)
        adopt_same_code(planned.trials, store)
        todo = pending(planned.trials, store, retry_failed=options.retry_failed, rerun=options.rerun)
        if not is_new:
            check_set_ups(todo, executor)
        prepare_to_run(executor, resolved, session, progress, folder)
        limits = Limits(planned.trials, planned.sizes, resolved.experiment.budget, resolved.experiment.give_up)
        describe_run(store, raw, planned, machine, shown)
        try:
            report_done(planned, todo, store, shown)
            complete_metrics(resolved, planned.trials, store, executor, shown)
            run_pending(todo, limits, resolved, options, session, machine, store, executor, shown)
        except KeyboardInterrupt:
            progress.end()
            executor.close()
            kept = sum(trial.key in store.records for trial in planned.trials)
            raise RunInterrupted(folder, kept, len(planned.trials)) from None
        unrun = tuple(limits.describe_unrun(store.records))
        if unrun:
            describe_run(store, raw, replace(planned, incompatible=(*planned.incompatible, *unrun)), machine, shown)
        return dict(store.records)


def plan_experiment(raw: RawExperiment, session: Session, executor: Executor, progress: Progress) -> Plan:
    """Return the plan of an experiment without running it; of one that tunes once, the plan of the first stage.

    Datasets that are not stored yet are read, and learners check their parameters.

    Parameters
    ----------
    raw : RawExperiment
        The experiment as one table.
    session : Session
        The plugins to use.
    executor : Executor
        Reads datasets and checks parameters in separate processes.
    progress : Progress
        Shows which datasets are read.

    Raises
    ------
    HarnessError
        For the first invalid value, unknown name, or missing dataset or environment.
    """
    resolved = read_experiment(raw, session)
    resolved = find_environments(resolved, build=False, say=progress.say)
    prepare_to_read(executor, resolved, session)
    headers = {dataset.name: prepare_dataset(dataset, executor) for dataset in resolved.datasets}
    planned = plan_tuning(resolved, headers) if tunes_once(resolved.experiment) else plan(resolved, headers)
    planned.check()
    prepare_to_run(executor, resolved, session, progress)
    check_set_ups(planned.trials, executor)
    return planned


def check_options(experiment: Experiment, options: RunOptions) -> None:
    """Check that no two options exclude each other.

    Parameters
    ----------
    experiment : Experiment
        The experiment, some of whose keys are options too.
    options : RunOptions
        The options of the run.

    Raises
    ------
    SpecError
        If two options exclude each other.
    """
    if options.wait_for_idle is None:
        return
    if options.client is not None or experiment.on is not None:
        raise SpecError("--wait-for-idle waits for this machine, and --on runs trials on others. Use one of the two.")
    if experiment.jobs > 1:
        raise SpecError("--wait-for-idle would wait for the other trials of --jobs. Use one of the two.")


# -- data ------------------------------------------------------------------------------------------------------------


def prepare_to_read(executor: Executor, resolved: Resolved, session: Session) -> None:
    """Start the process that reads datasets, without compiling kernels."""
    executor.prepare(Workplace(threads=resolved.experiment.threads, path=paths_of(session.folders)))


def read_datasets(
    resolved: Resolved, options: RunOptions, executor: Executor, progress: Progress
) -> tuple[Resolved, dict[str, Header], dict[str, DataError]]:
    """Read the datasets of an experiment that are not stored yet.

    Returns
    -------
    Resolved
        The experiment with the available datasets only.
    dict
        Headers of the available datasets by name.
    dict
        Errors of the other datasets by name.

    Raises
    ------
    DataError
        If a dataset is not available, unless `options.skip_missing_data` is set.
    """
    headers: dict[str, Header] = {}
    absent: dict[str, DataError] = {}
    kept = []
    for dataset in resolved.datasets:
        try:
            header = prepare_dataset(dataset, executor, progress)
        except DataError as error:
            if not options.skip_missing_data:
                raise
            absent[dataset.name] = error
            continue
        headers[dataset.name] = header
        kept.append(dataset)
        if dataset.entry.spec.opens:  # a user's file: show how it was interpreted
            progress.say(f"{dataset.name}: {header.found}")
    return replace(resolved, datasets=tuple(kept)), headers, absent


# -- plan ------------------------------------------------------------------------------------------------------------


def prepare_to_run(
    executor: Executor, resolved: Resolved, session: Session, progress: Progress, results: Path | None = None
) -> None:
    """Import the modules that trials share, and compile kernels if necessary; trials cannot write to `results`."""
    executor.prepare(workplace_of(resolved, session, results), lambda: progress.say(COMPILING))


def report_warnings(planned: Plan, machine: Machine, progress: Progress) -> None:
    """Show warnings about a plan.

    Warnings are about learners that cannot run on a dataset, more threads than cores, and test rows whose text is also
    in the training set.
    """
    threads, cores = planned.experiment.threads, machine.cores
    warnings = list(planned.incompatible)
    if cores is not None and threads > cores:
        available = counted(cores, "core")
        warnings.append(f"--threads {threads} is more than the {available} of this machine: threads will wait")
    for line in (*warnings, *describe_leakage(planned.trials)):
        progress.say(as_warning(line))


def describe_power(planned: Plan) -> list[str]:
    """Return notes on the differences that the planned trials can detect."""
    by_dataset: dict[str, list[Trial]] = {}
    for trial in planned.trials:
        by_dataset.setdefault(trial.dataset, []).append(trial)
    comparisons = []
    for dataset, trials in by_dataset.items():
        header, split = read_header(Path(trials[0].data_folder)), trials[0].split
        if header is not None:
            learners = {(trial.label, trial.representation) for trial in trials}
            numbers = {trial.number for trial in trials}
            n_train, n_test = split.sizes(header.rows, header.splits)
            comparisons.append(PlannedComparison(dataset, split, len(learners), len(numbers), n_train, n_test))
    return describe_expected_power(comparisons, planned.experiment.test)


def describe_leakage(trials: Sequence[Trial]) -> Iterator[str]:
    """Yield a line for each dataset whose first split has the same texts in the training and the test set.

    Such rows raise the scores of learners that memorise texts.
    """
    first: dict[str, Trial] = {}
    for trial in trials:
        first.setdefault(trial.dataset, trial)
    for trial in first.values():
        header = read_header(Path(trial.data_folder))
        if trial.split.by_text or header is None or header.text_bytes is None:
            continue
        rows, test_rows = count_leaked(trial.split, open_dataset(Path(trial.data_folder)), trial.seed)
        if rows:
            yield (
                f"{trial.dataset}: {rows:,} of {test_rows:,} test rows ({rows / test_rows:.1%}) have a text that is "
                f"also in training (seed {trial.seed}). Use --split grouped:text to keep equal texts together."
            )


def count_leaked(split: Split, data: Dataset, seed: int) -> tuple[int, int]:
    """Return the number of test rows whose text is also in the training set, and the number of test rows."""
    import numpy as np  # noqa: PLC0415 (only for texts)

    from harness.sdk.texts import Texts  # noqa: PLC0415 (the same)

    assert data.texts is not None
    train, test = part_data(split, data, seed)
    codes = Texts.of(data.texts).codes()
    return int(np.isin(codes[test], codes[train]).sum()), len(test)


def default_folder(planned: Plan) -> str:
    """Return the name of the default results folder: the experiment's name, or learners with a hash of the trials.

    The same command has the same folder, and therefore resumes.
    """
    named = (planned.experiment.name or "").strip(".")  # ".." would be another folder
    if named:
        return named
    first = sorted(trial.key for trial in planned.trials if trial.number == 0)
    words = "-".join(sorted({trial.family for trial in planned.trials}))
    safe = "".join(character if character.isalnum() or character in "-_." else "-" for character in words)
    return f"{safe[:40]}-{key_of({'trials': first})[:6]}"


def describe_run(store: Store, raw: RawExperiment, planned: Plan, machine: Machine, progress: Progress) -> None:
    """Write the experiment and the machine to the results folder.

    The experiment of a run that covers only a part of the records goes to a separate file.
    """
    text = write_experiment(raw.table, store.folder)
    file = experiment_file(store.folder, text, store.records.values(), planned.trials)
    store.describe(text, machine, planned.incompatible, file=file.name)
    if file.name != EXPERIMENT:
        progress.say(f"{store.folder} holds more than this run: {EXPERIMENT} stays, this one is in {file.name}")


# -- trials ----------------------------------------------------------------------------------------------------------


def run_pending(
    todo: Sequence[Trial],
    limits: Limits,
    resolved: Resolved,
    options: RunOptions,
    session: Session,
    machine: Machine,
    store: Store,
    executor: Executor,
    progress: Progress,
) -> None:
    """Run trials in rounds, on this machine or on a cluster.

    Before each round, trials that the limits exclude get their records, and shared representations are computed.

    Parameters
    ----------
    todo : sequence of Trial
        The trials without a usable record.
    limits : Limits
        Divides them into rounds.
    resolved : Resolved
        The experiment, with its metrics and environments.
    options : RunOptions
        Names the cluster, if it is a Dask client.
    session : Session
        Names the folders of plugins that a cluster needs.
    machine : Machine
        This machine, for the records.
    store : Store
        Gets the records.
    executor : Executor
        Computes representations and foreign metrics, and runs the trials unless a cluster does.
    progress : Progress
        Shows trials and warnings.
    """
    most = "at most " if limits.budget else ""
    to_run = f"{most}{counted(len(todo), 'trial')} to run, results in {store.folder}"
    progress.say(to_run if todo else "nothing left to run")
    progress.begin(len(todo))
    if not todo:
        return
    experiment = resolved.experiment
    scorer = Scorer(resolved.metrics, executor, experiment.timeout, experiment.memory)
    circumstances = common_circumstances(experiment, machine.id)
    noticed: set[str] = set()
    cluster = options.client if options.client is not None else experiment.on
    at_once = experiment.jobs if cluster is None else MANY
    with trial_executor(executor, cluster, resolved, session, options, store.folder, progress.say) as runs_trials:
        for each in limits.rounds(todo, store.records, at_once):
            record_skipped(each.skipped, circumstances, store, progress)
            represent_shared(each.trials, executor, progress, experiment.jobs)
            run_trials(
                each.trials,
                scorer,
                experiment,
                circumstances,
                runs_trials,
                store,
                progress,
                wait_for_idle=options.wait_for_idle,
                noticed=noticed,
            )
    if limits.is_spent(store.records):
        progress.say(as_note("time budget exhausted. Raise `hours` in [budget] to run the remaining trials."))


def represent_shared(trials: Sequence[Trial], executor: Executor, progress: Progress, at_once: int = 1) -> None:
    """Compute and store the representations that several trials share, and those of large datasets.

    Each representation is computed in a separate process, so no state can pass from one trial to another.
    """
    shared = Counter(trial.represented_folder for trial in trials if trial.represented_folder)
    jobs = {}
    for trial in trials:
        folder = trial.represented_folder
        wanted = shared[folder] > 1 or (folder != "" and _is_large(trial))
        if wanted and folder not in jobs and not Path(folder).exists():
            jobs[folder] = _represent_job(trial)
            progress.say(f"representing {trial.dataset} as {trial.representation}, seed {trial.seed}, for all learners")
    if not jobs:
        return
    make_room()
    for job, end in executor.run(jobs.values(), at_once=at_once):
        trouble = end.message if end.status != "ok" else end.answer
        if trouble:
            progress.say(as_warning(f"each trial represents {job.payload.folder.name} itself: {trouble}"))


def _is_large(trial: Trial) -> bool:
    """Return whether the data is so large that a trial maps its rows from a file instead of loading them."""
    header = read_header(Path(trial.data_folder))
    return header is not None and is_large(header.nonzeros)


def _represent_job(trial: Trial) -> Job:
    folder = Path(trial.represented_folder)
    return Job(REPRESENT_TARGET, RepresentJob(trial.data_folder, trial.split, trial.seed, trial.representing, folder))
