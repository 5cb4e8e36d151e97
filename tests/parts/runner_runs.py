"""Run trials into a store for runner tests."""

from internals import Experiment, NullProgress, Scorer, common_circumstances, run_trials

EXPERIMENT = Experiment(learners="pa", timeout=60.0)


def run_all(trials, catalog, executor, store, progress=None):
    scorer = Scorer(catalog.metrics, executor)
    run_trials(
        trials, scorer, EXPERIMENT, common_circumstances(EXPERIMENT, "m"), executor, store, progress or NullProgress()
    )
