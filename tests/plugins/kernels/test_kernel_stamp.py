"""The stamp of a kernel covers exactly the sources of its machine code, in any package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness_svm.structured.kernels import flat_sweeps_sparse
from internals import imported_by, stamp_of

FILES = {
    "mine/__init__.py": "",
    "mine/learner.py": "from mine.kernels import first\n",
    "mine/kernels/__init__.py": "",
    "mine/kernels/first.py": (
        "import numpy\nfrom mine.kernels.second import helper\nfrom mine.kernels import third as other\n"
        "from .fourth import more\nfrom . import fifth\nfrom theirs.kernels.shared import word\nimport ours.kernels\n"
        "from mine.helpers import plain\nfrom absent.kernels import nothing\n"
    ),
    "mine/kernels/second.py": "from theirs.kernels.deep import far\n",
    "mine/kernels/third.py": "from mine.kernels import first\n",
    "mine/kernels/fourth.py": "",
    "mine/kernels/fifth.py": "",
    "mine/kernels/unrelated.py": "from mine.kernels.first import anything\n",
    "mine/helpers.py": "",
    "theirs/__init__.py": "",
    "theirs/kernels/__init__.py": "",
    "theirs/kernels/shared.py": "",
    "theirs/kernels/deep.py": "",
    "theirs/kernels/other.py": "",
    "ours/__init__.py": "",
    "ours/kernels.py": "",
}
REACHED = {
    "mine/kernels/__init__.py",  # its names can be imported by way of the package
    "mine/kernels/first.py",
    "mine/kernels/second.py",
    "mine/kernels/third.py",
    "mine/kernels/fourth.py",
    "mine/kernels/fifth.py",
    "theirs/kernels/shared.py",
    "theirs/kernels/deep.py",
    "ours/kernels.py",
}


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Three packages with kernels on the import path."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] in ("mine", "theirs", "ours")]:
        del sys.modules[name]


def stamp(file: Path) -> bytes:
    stamp_of.cache_clear()
    imported_by.cache_clear()
    return stamp_of(str(file))


@pytest.mark.parametrize("edited", FILES)
def test_an_edit_changes_the_stamp_only_of_kernels_that_import_it(packages, edited):
    before = stamp(packages / "mine/kernels/first.py")
    with open(packages / edited, "a") as file:
        file.write("# edited\n")
    assert (stamp(packages / "mine/kernels/first.py") != before) is (edited in REACHED)


def test_modules_in_one_folder_need_no_package(tmp_path):
    (tmp_path / "one.py").write_text("from two import helper\nimport three\n")
    (tmp_path / "two.py").write_text("")
    (tmp_path / "three.py").write_text("")
    (tmp_path / "four.py").write_text("")
    assert imported_by(tmp_path / "one.py") == {tmp_path / "two.py", tmp_path / "three.py"}


def test_finding_a_kernels_sources_imports_no_kernel(packages):
    stamp(packages / "mine/kernels/first.py")
    assert {"mine.kernels", "theirs.kernels"} <= sys.modules.keys()
    assert not [name for name in sys.modules if name.startswith(("mine.kernels.", "theirs.kernels."))]


def test_the_stamp_of_a_plugin_kernel_covers_imported_shared_kernels():
    names = {path.stem for path in imported_by(Path(flat_sweeps_sparse.__file__))}
    assert {"flat_sweeps", "subproblem", "sweeps", "rows", "compile"} <= names
    assert "rank" not in names
