"""The application: what commands, notebooks and benchmarks all call. Names are loaded when they are asked for.

`run` and `open_results` are the front door, also to be had as `harness.run` and `harness.open_results`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api.checking import CheckResult, find_checked, run_checks
    from harness.api.columns import choose_columns
    from harness.api.front import run
    from harness.api.paging import find_folders, make_page
    from harness.api.progress import choose_progress
    from harness.api.reproducing import (
        PaperExperiment,
        Reproduction,
        default_out,
        keep_reproduction,
        list_papers,
        read_paper,
        reopen_paper,
        run_paper,
        tables_of,
    )
    from harness.api.request import Request
    from harness.api.results import Results, open_results, read_results
    from harness.api.running import Plan, RunInterrupted, RunOptions, plan_request, run_request
    from harness.api.session import Session

_HOMES = {
    "CheckResult": "checking",
    "find_checked": "checking",
    "run_checks": "checking",
    "choose_columns": "columns",
    "run": "front",
    "find_folders": "paging",
    "make_page": "paging",
    "choose_progress": "progress",
    "PaperExperiment": "reproducing",
    "Reproduction": "reproducing",
    "default_out": "reproducing",
    "keep_reproduction": "reproducing",
    "list_papers": "reproducing",
    "read_paper": "reproducing",
    "reopen_paper": "reproducing",
    "run_paper": "reproducing",
    "tables_of": "reproducing",
    "Request": "request",
    "Results": "results",
    "open_results": "results",
    "read_results": "results",
    "Plan": "running",
    "RunInterrupted": "running",
    "RunOptions": "running",
    "plan_request": "running",
    "run_request": "running",
    "Session": "session",
}

__all__ = [
    "CheckResult",
    "PaperExperiment",
    "Plan",
    "Reproduction",
    "Request",
    "Results",
    "RunInterrupted",
    "RunOptions",
    "Session",
    "choose_columns",
    "choose_progress",
    "default_out",
    "find_checked",
    "find_folders",
    "keep_reproduction",
    "list_papers",
    "make_page",
    "open_results",
    "plan_request",
    "read_paper",
    "read_results",
    "reopen_paper",
    "run",
    "run_checks",
    "run_paper",
    "run_request",
    "tables_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
