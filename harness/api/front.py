"""`harness.run`: the front door for notebooks and scripts, with learners and data as Python has them.

It is light: the fork server must be on its way, importing what trials need, before this process imports the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.executors import TRIALS, start_executor

if TYPE_CHECKING:
    from harness.api.results import Results


def run(
    learners: Any = None,
    data: Any = None,
    *,
    experiment: str | PathLike[str] | Mapping[str, Any] | None = None,
    text: str | None = None,
    label: str | None = None,
    metrics: str | Iterable[str] | None = None,
    trials: int | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    tune: Mapping[str, Any] | None = None,
    curves: bool | None = None,
    representation: str | Iterable[str] | None = None,
    split: str | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    on: Any = None,
    threads: int | None = None,
    timeout: str | float | None = None,
    memory: str | int | None = None,
    give_up: bool | None = None,
    out: str | PathLike[str] | None = None,
    retry_failed: bool = False,
    rerun: str | Iterable[str] = (),
    wait_for_quiet: float | None = None,
    reuse: Iterable[str | PathLike[str]] = (),
    build: bool = True,
    allow_differences: bool = False,
    plugins_dirs: Iterable[str | PathLike[str]] = (),
    disabled_plugins: Iterable[str] = (),
    progress: bool = True,
) -> Results:
    """Compare learners on data, as `harness run` does; the same call again resumes.

    Parameters
    ----------
    learners : one or several: names and expressions as on the command line ("pa", "ooz(d=50)", "small=pa(C=0.1)"), or
        estimators (`PA(C=0.3)`, `LogisticRegression()`), whose class a fresh process must be able to import. The keys
        of a dictionary are labels: {"small": PA(C=0.1), "large": PA(C=10)}.
    data : one or several: names, files and expressions ("icd10cm", "titles.csv(text=title)"); a pair (X, y) of an array
        or a sparse matrix and labels; a pair (texts, labels); or a data frame, with `text` and `label` naming columns.
    experiment : a TOML file, a registered experiment, or what such a file holds, that the rest is laid over.
    settings : parameters by learner or data set, {"pa": {"C": 0.1}}; a list is a grid.
    tune : parameters to choose on a validation part of the training rows, {"pa": {"C": [0.1, 1]}};
        {"representation": ["words", "chars"]} chooses what each learner sees of the data.
    on : a cluster whose workers run the trials, "local:4" or "tcp://head:8786", or a `distributed.Client`.
    allow_differences : whether workers may have other versions and other code than this machine, which records tell.
    rerun : learners, by name or label, whose trials all run again.
    wait_for_quiet : seconds to wait at most, before each trial, until nothing else is at work on the machine.
    build : whether to build the environments of learners with packages of their own, where they are not there.
    progress : whether to tell what happens: a bar at a terminal, a line that changes in a notebook.

    All others are those of `harness run`. What is kept is in `out`, or in a folder below results/ named by what is
    compared; the results know it.
    """
    given = {
        "metrics": _listed(metrics),
        "trials": trials,
        "curves": curves,
        "representation": _listed(representation),
        "split": split,
        "seed": seed,
        "jobs": jobs,
        "on": on if isinstance(on, str) else None,
        "threads": threads,
        "timeout": timeout,
        "memory": memory,
        "give_up": give_up,
    }
    executor = start_executor(TRIALS, threads or 1)
    try:
        from harness.api.given import Given, run_given  # noqa: PLC0415 (imports meanwhile what planning needs)

        asked = Given(
            learners=learners,
            data=data,
            text=text,
            label=label,
            experiment=str(experiment) if isinstance(experiment, PathLike) else experiment,
            keys={key: value for key, value in given.items() if value is not None},
            settings=settings or {},
            tune=tune or {},
            out=None if out is None else Path(out),
            retry_failed=retry_failed,
            rerun=(rerun,) if isinstance(rerun, str) else tuple(rerun),
            quiet_seconds=wait_for_quiet,
            reuse=tuple(Path(folder) for folder in reuse),
            may_build=build,
            client=None if isinstance(on, str) else on,
            allow_differences=allow_differences,
            plugins_dirs=plugins_dirs,
            disabled_plugins=disabled_plugins,
            progress=progress,
        )
        return run_given(asked, executor)
    finally:
        executor.close()


def _listed(names: str | Iterable[str] | None) -> str | list[str] | None:
    return names if names is None or isinstance(names, str) else list(names)
