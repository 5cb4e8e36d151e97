"""Fixtures for command line tests: the real command in a separate process and an empty folder."""

from functools import partial

import pytest

from command import run_harness
from internals import DISCOVERY, KERNELS_PACKAGE
from warm_command import WarmCommand
from workspace import Workspace


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    warm = WarmCommand(tmp_path_factory.mktemp("warm"))
    yield warm
    warm.close()


@pytest.fixture
def harness(tmp_path, warm):
    """Run `harness WORDS` in the folder of the test."""
    return partial(run_harness, cwd=tmp_path, warm=warm)


HEAVY = (
    "numba",
    "llvmlite",
    "sklearn",
    "scipy",
    "numpy",
    "pandas",
    "pydantic",
    "harness_prototype.pa",
    KERNELS_PACKAGE,
)


@pytest.fixture(scope="session")
def heavy_imports():
    """Return the heavy modules in the output of `python -X importtime`."""

    def found(text):
        names = [line.rpartition("|")[2].strip() for line in text.splitlines() if line.startswith("import time:")]
        assert DISCOVERY in names  # otherwise nothing was checked
        return [name for name in names if any(name == heavy or name.startswith(f"{heavy}.") for heavy in HEAVY)]

    return found


@pytest.fixture(scope="session")
def workspace(tmp_path_factory, marked, warm):
    return Workspace(tmp_path_factory.mktemp("workspace"), warm)
