"""Which checks fail, one case for each thing that is bad, and a check as a job."""

import unittest

import pytest

from harness.checks import run_job


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
    content = {key: list(v) if isinstance(v, frozenset) else v for key, v in vars(spec).items()}
    phases = []
    answer, blob = run_job({"kind": kind, "spec": content, "check": check}, phases.append)
    assert blob is None
    assert phases == [check]
    return answer
