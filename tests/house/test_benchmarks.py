"""Scripts in benchmarks/ keep up with what they measure: each can be imported, by itself, without running anything."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize("script", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_every_script_can_be_imported(script):
    command = [sys.executable, "-c", f"import {script.stem}"]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
