"""Fixtures for tests of user files: a working folder, and a function that writes a file."""

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run each test of this folder in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder):
    """Write a file and return its name."""

    def make(name, content):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return make
