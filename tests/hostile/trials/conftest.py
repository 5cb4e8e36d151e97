"""Fixtures for trial tests: an executor that can import the learners of `learners.py`, and small texts."""

import pytest

from internals import TRIALS, LocalExecutor, Workplace
from trial_runs import LEARNERS, keep_in, texts

SLOW_IMPORT = "import time\n\ntime.sleep(0.8)\nfrom learners import Ranking as Late\n"


@pytest.fixture(scope="module")
def executor(tmp_path_factory, marked):
    folder = tmp_path_factory.mktemp("learners")
    (folder / "learners.py").write_text(LEARNERS)
    (folder / "late.py").write_text(SLOW_IMPORT)
    with LocalExecutor(Workplace({"": (*TRIALS, "harness_representations.weights")}, path=(str(folder),))) as executor:
        yield executor


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    return keep_in(tmp_path_factory.mktemp("single") / "data", texts())


@pytest.fixture(scope="module")
def multi(tmp_path_factory):
    return keep_in(tmp_path_factory.mktemp("multi") / "data", texts(multilabel=True))
