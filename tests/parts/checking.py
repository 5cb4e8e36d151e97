"""Helpers for tests of the checks: failing checks, parametrised cases, a check as a job."""

import unittest

import pytest

from internals import CheckJob, run_check_job


def failed(checks):
    """Return the names of the checks that fail."""
    names = set()
    for check in checks:
        try:
            check()
        except unittest.SkipTest:
            continue
        except Exception:
            names.add(check.name)
    return names


def cases(bad):
    return [
        pytest.param(check, spec, id=f"{check}-{i}") for check, specs in bad.items() for i, spec in enumerate(specs)
    ]


def answer_of(kind, spec, check):
    """Return the status and the reason of a check run as a job, or None if it passes."""
    phases = []
    answer, blob = run_check_job(CheckJob(spec, check), phases.append)
    assert blob is None
    assert phases == [check]
    assert bool(answer["traceback"]) == (answer["status"] == "failed")
    return {} if answer["status"] == "ok" else {answer["status"]: answer["reason"]}
