"""What tests of raw files share: archives made on the spot, and the real files where they are at hand."""

import io
import os
import tarfile
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("HARNESS_SHARED") or Path(__file__).resolve().parents[3] / "shared")
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
