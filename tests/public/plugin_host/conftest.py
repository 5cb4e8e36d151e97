"""Fixtures for discovery tests: distributions as pip installs them, and modules that are unloaded afterwards."""

import importlib
import sys
from textwrap import dedent

import pytest


@pytest.fixture(autouse=True)
def lenient(monkeypatch):
    monkeypatch.delenv("HARNESS_STRICT_PLUGINS", raising=False)


@pytest.fixture
def clean_modules(monkeypatch):
    """Unload the modules that a test imports, and restore sys.path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    importlib.invalidate_caches()
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]
    importlib.invalidate_caches()


@pytest.fixture
def install(tmp_path, monkeypatch, clean_modules):
    """Write distributions as pip does (METADATA, entry_points.txt, module) into a folder on sys.path."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def write(distribution, source, version="1.0", plugin=None, target=None):
        module = distribution.replace("-", "_") + "_module"
        (site / f"{module}.py").write_text(dedent(source))
        info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[harness]\n{plugin or distribution} = {target or module}\n")
        importlib.invalidate_caches()
        return info

    return write
