"""What the tests of the user's own files share: a folder to be in, and files written in one line."""

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where every test of this folder is."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder):
    """Writes a file and gives its name."""

    def make(name, content):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return make
