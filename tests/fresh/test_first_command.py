"""The README's first command, word for word, in a fresh copy of the checkout where nothing is installed."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def first_command():
    return next(line[2:] for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("$ "))


def test_it_installs_runs_and_ends_with_a_table(tmp_path):
    copy = tmp_path / "checkout"
    written_meanwhile = (".hypothesis", ".*_cache", "__pycache__", "build")  # by what tox runs at the same time
    skipped = shutil.ignore_patterns(".git", ".venv", ".tox", "results", *written_meanwhile)
    shutil.copytree(ROOT, copy, ignore=skipped)
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL", "HARNESS"))
    }
    environment |= {"HARNESS_DATA_HOME": str(tmp_path / "data")}
    ended = subprocess.run(
        ["bash", "-c", first_command()], cwd=copy, capture_output=True, text=True, env=environment, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "icd10cm" in ended.stdout
    rows = [line.split()[0] for line in ended.stdout.splitlines() if line.startswith(("pa ", "perceptron ", "ff "))]
    assert set(rows) == {"pa", "perceptron", "ff"}
    assert "21/21" in ended.stderr
    assert len(list((copy / "results").glob("*/records.jsonl"))) == 1
