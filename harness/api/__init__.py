"""The application: what commands, notebooks and benchmarks all call. Names are loaded when they are asked for.

`run` and `open_results` are the front door, also to be had as `harness.run` and `harness.open_results`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api.best import Best
    from harness.api.checking import CheckResult, find_checked, run_checks
    from harness.api.columns import choose_columns
    from harness.api.environments import (
        EnvironmentLine,
        build_environments,
        describe_environments,
        remove_environments,
    )
    from harness.api.fitting import FitRequest, fit, fit_request
    from harness.api.front import run
    from harness.api.model import Model, load_model
    from harness.api.paging import find_folders, make_page
    from harness.api.predicting import Predicted, PredictionRequest, predict_rows
    from harness.api.profiling import DataProfile, profile_data
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
    from harness.api.scaffolding import KINDS_OF_PACKAGES, new_package
    from harness.api.session import Session
    from harness.api.status import FolderStatus, read_status
    from harness.api.suggesting import Suggestions, suggest, suggest_for

_HOMES = {
    "CheckResult": "checking",
    "find_checked": "checking",
    "run_checks": "checking",
    "choose_columns": "columns",
    "EnvironmentLine": "environments",
    "build_environments": "environments",
    "describe_environments": "environments",
    "remove_environments": "environments",
    "Best": "best",
    "FitRequest": "fitting",
    "fit": "fitting",
    "fit_request": "fitting",
    "run": "front",
    "Model": "model",
    "load_model": "model",
    "Predicted": "predicting",
    "PredictionRequest": "predicting",
    "predict_rows": "predicting",
    "find_folders": "paging",
    "make_page": "paging",
    "DataProfile": "profiling",
    "profile_data": "profiling",
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
    "KINDS_OF_PACKAGES": "scaffolding",
    "new_package": "scaffolding",
    "Session": "session",
    "FolderStatus": "status",
    "read_status": "status",
    "Suggestions": "suggesting",
    "suggest": "suggesting",
    "suggest_for": "suggesting",
}

__all__ = [
    "KINDS_OF_PACKAGES",
    "Best",
    "CheckResult",
    "DataProfile",
    "EnvironmentLine",
    "FitRequest",
    "FolderStatus",
    "Model",
    "PaperExperiment",
    "Plan",
    "Predicted",
    "PredictionRequest",
    "Reproduction",
    "Request",
    "Results",
    "RunInterrupted",
    "RunOptions",
    "Session",
    "Suggestions",
    "build_environments",
    "choose_columns",
    "choose_progress",
    "default_out",
    "describe_environments",
    "find_checked",
    "find_folders",
    "fit",
    "fit_request",
    "keep_reproduction",
    "list_papers",
    "load_model",
    "make_page",
    "new_package",
    "open_results",
    "plan_request",
    "predict_rows",
    "profile_data",
    "read_paper",
    "read_results",
    "read_status",
    "remove_environments",
    "reopen_paper",
    "run",
    "run_checks",
    "run_paper",
    "run_request",
    "suggest",
    "suggest_for",
    "tables_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
