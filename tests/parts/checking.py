"""Which checks fail, one case for each thing that is bad, and a check as a job."""

import unittest

import pytest

from harness.checks.job import CheckJob, run_check_job


def failed(checks):
    """The names of the checks that fail."""
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
    """The status and the reason that a check ends with as a job, or nothing where all is well."""
    phases = []
    answer, blob = run_check_job(CheckJob(spec, check), phases.append)
    assert blob is None
    assert phases == [check]
    assert bool(answer["traceback"]) == (answer["status"] == "failed")
    return {} if answer["status"] == "ok" else {answer["status"]: answer["reason"]}
