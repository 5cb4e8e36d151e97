"""What tests of the command line share: the real command, in a process of its own, in an empty folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from place import Place

SCRIPT = str(Path(sys.executable).parent / "harness")


@pytest.fixture
def harness(tmp_path):
    """Runs `harness WORDS`; with `python=[...]` under these options of Python, with `env={...}` in that environment."""

    def run(*words, python=(), env=None, module=True, cwd=tmp_path):
        kept = {key: value for key, value in os.environ.items() if key != "HARNESS_STRICT_PLUGINS"}
        command = [sys.executable, *python, *(["-m", "harness"] if module else [SCRIPT]), *map(str, words)]
        environment = kept | {"COLUMNS": "1000"} | (env or {})
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    return run


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
def place(tmp_path_factory, marked):
    return Place(tmp_path_factory.mktemp("place"))
