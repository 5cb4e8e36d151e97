"""Scripts in benchmarks/ keep up with what they measure: all can be imported, without running anything."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_every_script_can_be_imported():
    scripts = ", ".join(path.stem for path in sorted(BENCHMARKS.glob("*.py")))
    command = [sys.executable, "-c", f"import {scripts}"]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
