"""Compiled code is fresh, comes with the import, and brings no thread."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import harness.sdk.kernels
from harness.sdk.kernels import compiling, dense, ranking, touched
from harness_index.kernels import ema, ff, ooz
from harness_prototype.kernels import passive_aggressive
from harness_svm.kernels import flat_sweeps
from harness_tree.kernels import lomtree

KERNELS = [
    dense.add_up_all,
    dense.spread_out,
    ema.update,
    ff.update,
    flat_sweeps.sweep_flat,
    lomtree.update,
    ooz.update,
    passive_aggressive.update,
    ranking.fill_ranks,
    touched.fill_touched_ranks,
]
FOLDER = Path(harness.sdk.kernels.__file__).parent


def python(code: str, folder: Path) -> str:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # numpy's and scipy's own threads are not the question
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_compiled_for_one_signature_and_for_no_other(kernel):
    assert len(kernel.signatures) == 1
    with pytest.raises(TypeError):
        kernel(*[0.5] * len(kernel.signatures[0]))


def test_an_edit_to_a_helper_reaches_the_kernels_of_other_files(tmp_path):
    shutil.copy(FOLDER / "compiling.py", tmp_path)
    (tmp_path / "outer.py").write_text(
        "from compiling import kernel\nfrom inner import answer\nfrom numba import int64\n\n"
        "@kernel(int64())\ndef ask():\n    return answer()\n"
    )
    for said in (1, 2):
        (tmp_path / "inner.py").write_text(
            f"from compiling import helper\n\n@helper()\ndef answer():\n    return {said}\n"
        )
        assert python("import outer; print(outer.ask())", tmp_path) == str(said)
    again = "import outer; outer.ask(); print(sum(outer.ask.stats.cache_hits.values()))"
    (tmp_path / "beside.py").write_text("nothing = 'that the others import'\n")
    assert python(again, tmp_path) == "1"


def test_the_stamp_covers_what_a_file_imports_however_far_and_nothing_else(tmp_path):
    files = {
        "a": "from b import x\nimport other.c\n",
        "b": "import d as e\n",
        "c": "",
        "d": "from . import a\n",
        "f": "",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)

    def stamp() -> bytes:
        compiling._stamp.cache_clear()
        return compiling._stamp(str(tmp_path / "a.py"))

    for name, text in files.items():
        before = stamp()
        (tmp_path / f"{name}.py").write_text(f"{text}# edited\n")
        assert (stamp() != before) is (name != "f")


def test_import_starts_no_thread(tmp_path):
    code = "import os, harness_prototype.kernels.passive_aggressive\nprint(len(os.listdir('/proc/self/task')))"
    if not Path("/proc/self/task").exists():
        pytest.skip("threads are counted through /proc, which this system does not have")
    assert python(code, tmp_path) == "1"


def test_the_folder_itself_imports_nothing_heavy(tmp_path):
    code = "import sys, harness.sdk.kernels; print([m for m in ('numba', 'scipy', 'sklearn') if m in sys.modules])"
    assert python(code, tmp_path) == "[]"
