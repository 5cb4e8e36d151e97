"""What tests of executors share: a folder with jobs, and an executor that finds them."""

import pytest

from harness.executors.base import Workplace
from harness.executors.local import LocalExecutor
from job_runs import JOBS, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the jobs' module."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "jobs.py").write_text(JOBS)
    return folder


@pytest.fixture(scope="module")
def shared(marked, folder):
    """One executor for the tests that do it no harm."""
    with LocalExecutor(Workplace(path=(str(folder),))) as executor:
        run(executor, "answer", value=1)
        yield executor
