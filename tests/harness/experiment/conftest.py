"""What tests of experiments share: a kept data set, a module on the path, experiments from files and flags."""

import importlib
import sys

import pytest
from scipy.sparse import csr_array

from experiments import LABELS, NAMES, NO_FLAGS, ROWS
from harness import Dataset
from harness.api.request import read_request
from harness.cli.run import read_flags
from harness.data.arrays import keep, read_header
from harness.data.checking import checked
from harness.experiment.building import build


@pytest.fixture(scope="session")
def header_of(tmp_path_factory):
    """The header of a data set that is really kept: a sound one of 20 rows and 4 classes, with changes."""
    home = tmp_path_factory.mktemp("kept")

    def make(**changes):
        folder = home / f"data-{len(list(home.iterdir()))}"
        keep(checked("data", Dataset(**({"X": csr_array(ROWS), "y": LABELS, "class_names": NAMES} | changes))), folder)
        return read_header(folder)

    return make


@pytest.fixture(scope="session")
def header(header_of):
    return header_of()


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def write(source):
        (tmp_path / "imported_module.py").write_text(source)
        sys.modules.pop("imported_module", None)
        importlib.invalidate_caches()
        return "imported_module"

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def read(catalog):
    """The raw experiment of a file or registered name, flags laid over it."""

    def raw(experiment=None, **flags):
        return read_request(read_flags(experiment, NO_FLAGS | flags), catalog)

    return raw


@pytest.fixture
def from_file(tmp_path, read, catalog):
    """The experiment in a file of that text, flags laid over it."""

    def make(text, **flags):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        raw = read(str(path), **flags)
        return build(raw.table, raw.source, catalog)

    return make


@pytest.fixture
def from_flags(read, catalog):
    def make(**flags):
        raw = read(**flags)
        return build(raw.table, raw.source, catalog)

    return make
