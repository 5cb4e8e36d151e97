"""Fixtures for executor tests: a folder of jobs, and an executor that can import them."""

import pytest

from internals import LocalExecutor, Workplace
from job_runs import JOBS, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the module of jobs."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "jobs.py").write_text(JOBS)
    return folder


@pytest.fixture(scope="module")
def shared(marked, folder):
    """Return one executor for tests that do not damage it."""
    with LocalExecutor(Workplace(path=(str(folder),))) as executor:
        run(executor, "answer", value=1)
        yield executor
