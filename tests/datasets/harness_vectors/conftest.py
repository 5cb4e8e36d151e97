"""What tests of vector files share: files laid into a folder, and the real ones where they are at hand."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("HARNESS_SHARED") or Path(__file__).resolve().parents[4] / "shared")
"""A folder beside the checkout that may hold the raw files; HARNESS_SHARED names another one."""


@pytest.fixture
def real():
    """The folder with the real files of a data set, as a source; skips the test where they are not at hand."""

    def find(folder):
        path = SHARED / "data" / folder
        if not path.is_dir():
            pytest.skip(f"the real files are not at hand: HARNESS_SHARED must name a folder that holds data/{folder}/")
        return str(path)

    return find


@pytest.fixture
def lay(tmp_path):
    """Writes files into a folder: name -> bytes."""

    def lay(files, folder="laid"):
        for name, content in files.items():
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return str(tmp_path / folder)

    return lay
