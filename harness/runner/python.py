"""`harness.run`, for notebooks and scripts: learners and data may be Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from harness.executors.local import TRIALS, start_executor
from harness.experiment.options import check_arguments, document_options, given_options
from harness.experiment.schema import Experiment, RunOptions
from harness.host.discovery import make_session

if TYPE_CHECKING:
    from harness.results.results import Results

SOURCE = "harness.run"
"""The origin of the arguments in errors."""


@document_options(Experiment, RunOptions, without=("learners", "datasets"))
def run(
    learners: Any = None,
    datasets: Any = None,
    *,
    experiment: str | PathLike[str] | Mapping[str, Any] | None = None,
    text: str | None = None,
    label: str | None = None,
    plugins_dirs: Iterable[str | PathLike[str]] = (),
    disabled_plugins: Iterable[str] = (),
    progress: bool = True,
    **options: Any,
) -> Results:
    """Compare learners on datasets, as `harness run` does. The same call again resumes.

    Parameters
    ----------
    learners : str, estimator, list or dict, optional
        Compare these learners: names and expressions as on the command line ("pa", "ooz(d=50)", "small=pa(C=0.1)"), or
        estimators (`PA(C=0.3)`, `LogisticRegression()`) whose class a fresh process can import. The keys of a
        dictionary are labels: {"small": PA(C=0.1), "large": PA(C=10)}.
    datasets : str, path, pair, data frame or list, optional
        Compare on these datasets: names, files and expressions ("icd10cm", "titles.csv(text=title)"); a pair (X, y) of
        an array or a sparse matrix and labels; a pair (texts, labels); or a data frame, with `text` and `label` naming
        columns. The argument may also be called `data`.
    experiment : str, path or dict, optional
        Start from this experiment: a TOML file, a registered name, or the content of such a file. The other arguments
        replace its keys.
    text : str, optional
        Read texts from this column.
    label : str, optional
        Read labels from this column.
    plugins_dirs : list of str or path, optional
        Also load the plugins in these folders.
    disabled_plugins : list of str, optional
        Ignore these plugins or distributions.
    progress : bool, default True
        Show progress: a bar at a terminal, a changing line in a notebook.
    **options

    Returns
    -------
    Results
        The results of this experiment. They are stored in `out`, or in a folder below results/ that is named by the
        content of the experiment. `results.folders` has the path.

    Raises
    ------
    HarnessError
        For errors that the caller can correct, such as an unknown learner.

    Examples
    --------
    >>> import harness
    >>> results = harness.run("pa,ooz", "digits", trials=3)  # doctest: +SKIP
    >>> print(results.table())  # doctest: +SKIP
    """
    check_arguments("run", options, Experiment, RunOptions)
    data = options.pop("data", None) if datasets is None else datasets
    executor = start_executor(TRIALS, options.get("threads") or 1)
    try:
        # Imported here because the fork server now imports the modules of trials at the same time.
        from harness.experiment.load import load_experiment, read_options  # noqa: PLC0415
        from harness.experiment.python import describe_data, describe_learners  # noqa: PLC0415
        from harness.runner.progress import choose_progress  # noqa: PLC0415
        from harness.runner.run import run_experiment  # noqa: PLC0415

        session = make_session(plugins_dirs, disabled_plugins)
        run_options = given_options(options, RunOptions)
        if not isinstance(options.get("on"), str):
            run_options["client"] = options.pop("on", None)
        given = {key: _plain(value) for key, value in given_options(options, Experiment).items()}
        if learners is not None:
            given["learners"] = describe_learners(learners, session.catalog)
        if data is not None:
            given["datasets"] = describe_data(data, text=text, label=label)
        start = str(experiment) if isinstance(experiment, PathLike) else experiment
        raw = load_experiment(start, given, session.catalog, SOURCE)
        shown = choose_progress(progress, session)
        return run_experiment(raw, read_options(run_options, SOURCE), session, executor, shown).results
    finally:
        executor.close()


def _plain(value: Any) -> Any:
    """Return a value as an experiment file has it: iterables become lists."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else value
