"""Fixtures for experiment tests: a stored dataset, a module on the path, experiments from files and flags."""

import importlib
import sys

import pytest
from scipy.sparse import csr_array

from experiments import LABELS, NAMES, ROWS
from harness import Dataset
from internals import build, checked, keep, load_experiment, read_header, read_settings, read_tuning


@pytest.fixture(scope="session")
def header_of(tmp_path_factory):
    """Return the header of a stored dataset: a valid one of 20 rows and 4 classes, with changes."""
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
    """Return the raw experiment of a file or registered name, with flags applied."""

    def raw(experiment=None, settings=(), tune=(), **given):
        if settings:
            given["set"] = read_settings(settings)
        if tune:
            given["tune"] = read_tuning(tune)
        return load_experiment(experiment, given, catalog)

    return raw


@pytest.fixture
def from_file(tmp_path, read, catalog):
    """Return the experiment in a file with this text, with flags applied."""

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
