"""What tests of the command line share: the real command, in a process of its own, in an empty folder."""

from functools import partial

import pytest

from command import run_harness
from place import Place
from warm_command import WarmCommand


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    warm = WarmCommand(tmp_path_factory.mktemp("warm"))
    yield warm
    warm.close()


@pytest.fixture
def harness(tmp_path, warm):
    """Runs `harness WORDS` in a folder of the test's own."""
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
    "harness.sdk.kernels",
)


@pytest.fixture(scope="session")
def heavy_imports():
    """Which of the heavy modules a process imported, by what `python -X importtime` wrote."""

    def found(text):
        names = [line.rpartition("|")[2].strip() for line in text.splitlines() if line.startswith("import time:")]
        assert "harness.host" in names  # else nothing was looked at
        return [name for name in names if any(name == heavy or name.startswith(f"{heavy}.") for heavy in HEAVY)]

    return found


@pytest.fixture(scope="session")
def place(tmp_path_factory, marked, warm):
    return Place(tmp_path_factory.mktemp("place"), warm)
