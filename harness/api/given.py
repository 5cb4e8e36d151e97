"""What `harness.run` was given, run: learners and data in Python's own shapes become an experiment like any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from harness.api.given_data import describe_data
from harness.api.given_learners import describe_learners
from harness.api.progress import choose_progress
from harness.api.request import Request
from harness.api.results import Results
from harness.api.running import RunOptions, run_request
from harness.api.session import make_session
from harness.executors.base import Executor


@dataclass(frozen=True, kw_only=True)
class Given:
    """The arguments of `harness.run`, which documents them."""

    learners: Any
    data: Any
    text: str | None
    label: str | None
    experiment: str | Mapping[str, Any] | None
    keys: Mapping[str, Any]
    """Keys of an experiment file that were given."""
    settings: Mapping[str, Mapping[str, Any]]
    tune: Mapping[str, Mapping[str, Any]]
    out: Path | None
    retry_failed: bool
    rerun: tuple[str, ...]
    quiet_seconds: float | None
    reuse: tuple[Path, ...]
    may_build: bool
    client: Any
    allow_differences: bool
    plugins_dirs: Iterable[str | PathLike[str]]
    disabled_plugins: Iterable[str]
    progress: bool


def run_given(given: Given, executor: Executor) -> Results:
    """Run what was given, and give the results of exactly this."""
    session = make_session(given.plugins_dirs, given.disabled_plugins)
    keys = dict(given.keys)
    if given.learners is not None:
        keys["learners"] = describe_learners(given.learners, session.catalog)
    if given.data is not None:
        keys["datasets"] = describe_data(given.data, text=given.text, label=given.label)
    request = Request(
        experiment=given.experiment,
        given=keys,
        settings=given.settings,
        tune=given.tune,
        asker="harness.run",
    )
    options = RunOptions(
        out=given.out,
        retry_failed=given.retry_failed,
        rerun=given.rerun,
        quiet_seconds=given.quiet_seconds,
        reuse=given.reuse,
        may_build=given.may_build,
        client=given.client,
        allow_differences=given.allow_differences,
    )
    progress = choose_progress(given.progress, session)
    return run_request(request, options, session, executor, progress).results
