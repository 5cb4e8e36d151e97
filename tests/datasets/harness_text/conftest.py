"""What tests of raw files share: archives made on the spot, and the real files where they are at hand."""

import io
import os
import tarfile
from pathlib import Path

import pytest

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"
"""A folder beside the checkout that may hold the raw files; HARNESS_RAW may name another one."""
GIVEN = os.environ.get("HARNESS_RAW")


@pytest.fixture(autouse=True)
def no_raw_folder(monkeypatch):
    """Tests find raw files only where they put them."""
    monkeypatch.delenv("HARNESS_RAW", raising=False)


@pytest.fixture
def real(monkeypatch):
    """Lets loaders find the real files of a data set; skips the test where they are not at hand."""

    def allow(folder):
        home = Path(GIVEN) if GIVEN else BESIDE
        if not (home / folder).is_dir():
            pytest.skip(f"the real files are not at hand: set HARNESS_RAW to a folder that holds {folder}/")
        monkeypatch.setenv("HARNESS_RAW", str(home))

    return allow


@pytest.fixture
def pack(tmp_path):
    """Writes a tar archive: name -> bytes, or a TarInfo for members that no honest archive has."""

    def pack(members, name="archive.tar.gz", mode="w:gz"):
        path = tmp_path / name
        with tarfile.open(path, mode) as archive:
            for member, content in members.items():
                if isinstance(content, tarfile.TarInfo):
                    archive.addfile(content)
                    continue
                info = tarfile.TarInfo(member)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        return path

    return pack


@pytest.fixture
def lay(tmp_path):
    """Writes files into a folder: name -> bytes."""

    def lay(files, folder="laid"):
        for name, content in files.items():
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return tmp_path / folder

    return lay
