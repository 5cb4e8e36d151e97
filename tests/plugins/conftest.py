"""Fixtures for plugin tests: an index as a matrix, small archives, and real files where they are available."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from index_fixtures import assert_sound, dense

__all__ = ["assert_sound", "dense"]

SHARED = Path(os.environ.get("HARNESS_SHARED") or Path(__file__).resolve().parents[3] / "shared")
"""A folder beside the checkout that may hold the raw files; HARNESS_SHARED names another one."""


@pytest.fixture
def real():
    """Return the folder with the real files of a dataset as a source, or skip the test if they are missing."""

    def find(folder):
        path = SHARED / "data" / folder
        if not path.is_dir():
            pytest.skip(f"real files not found: set HARNESS_SHARED to a folder that holds data/{folder}/")
        return str(path)

    return find


@pytest.fixture
def pack(tmp_path):
    """Writes a tar archive: name -> bytes, or a TarInfo for members that no honest archive has."""

    def pack(members, name="archive.tar.gz", mode="w:gz"):
        """Write a tar archive from `{name: bytes}`, or from TarInfo for members that a normal archive never has."""
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
