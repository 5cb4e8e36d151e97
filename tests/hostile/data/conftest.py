"""Fixtures: an empty data home, and a dataset of lines to import."""

import sys
from pathlib import Path

import pytest

from internals import LOADERS, LocalExecutor, discover, expand_imports, gather, take_in
from line_data import workplace_with_plugins

PARTS = Path(__file__).parents[2] / "parts"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "intake_lines.py").write_text(expand_imports((PARTS / "lines_plugin.py").read_text()))
    yield discover([folder])
    sys.path.remove(str(folder))
    sys.modules.pop("intake_lines")


@pytest.fixture(scope="module")
def executor(catalog):
    with LocalExecutor(workplace_with_plugins(), common=LOADERS) as executor:
        yield executor


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def entry(catalog):
    return catalog.dataset("lines")


@pytest.fixture
def bring(entry, executor, home, tmp_path):
    """Takes in one file with this content."""

    def bring(content, name="lines.txt", **more):
        """Import one file with this content."""
        path = tmp_path / name
        path.write_bytes(content)
        return take_in(entry, gather([path]), executor, **more)

    return bring
