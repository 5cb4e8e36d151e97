"""Compiled code is fresh, comes with the import, and brings no thread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.sdk.kernels import dense, ranking, touched
from harness.sdk.kernels.freshness import stamp_of
from harness_index.kernels import ema, ff, ooz
from harness_prototype.kernels import passive_aggressive
from harness_svm.kernels import flat_sweeps
from harness_tree.kernels import lomtree

KERNELS = [
    dense.add_up_all,
    dense.spread_out,
    ema.update_ema,
    ff.update_ff,
    flat_sweeps.sweep_flat,
    lomtree.update_lomtree,
    ooz.update_ooz,
    passive_aggressive.update_pa,
    ranking.fill_ranks,
    touched.fill_touched_ranks,
]


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # numpy's and scipy's own threads are not the question
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)


def python(code: str, folder: Path) -> str:
    return run(code, folder).stdout.strip()


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_compiled_for_one_signature_and_for_no_other(kernel):
    assert len(kernel.signatures) == 1
    with pytest.raises(TypeError):
        kernel(*[0.5] * len(kernel.signatures[0]))


SHARED = "from harness.sdk.kernels.compiling import helper\n\n@helper()\ndef answer():\n    return {said}\n"
PLUGINS = """
from numba import int64
from harness.sdk.kernels.compiling import kernel
from shared.kernels.inner import answer

@kernel(int64())
def ask():
    return answer()
"""


@pytest.fixture
def packages(tmp_path):
    """A plugin's kernel that calls a helper of another package's kernels."""
    for package in ("shared", "plugin"):
        (tmp_path / package / "kernels").mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "kernels" / "__init__.py").touch()
    (tmp_path / "shared" / "kernels" / "inner.py").write_text(SHARED.format(said=1))
    (tmp_path / "shared" / "kernels" / "beside.py").touch()
    (tmp_path / "plugin" / "kernels" / "outer.py").write_text(PLUGINS)
    return tmp_path


ASK = "from plugin.kernels import outer; print(outer.ask(), sum(outer.ask.stats.cache_hits.values()))"


def test_an_edit_to_a_shared_helper_reaches_the_plugins_kernel_that_imports_it(packages):
    assert python(ASK, packages) == "1 0"
    assert python(ASK, packages) == "1 1"
    (packages / "shared" / "kernels" / "inner.py").write_text(SHARED.format(said=2))
    assert python(ASK, packages) == "2 0"


def test_an_edit_that_a_kernel_cannot_reach_has_nothing_compiled_again(packages):
    assert python(ASK, packages) == "1 0"
    (packages / "shared" / "kernels" / "beside.py").write_text("nothing = 'that the others import'\n")
    (packages / "plugin" / "learner.py").write_text("from plugin.kernels.outer import ask\n")
    assert python(ASK, packages) == "1 1"


RECORD = """
from typing import NamedTuple
import numpy as np
from numba import float64
from harness.sdk.kernels.compiling import kernel, named

class {name}(NamedTuple):
    number: float

@kernel(float64(named({name}, float64)))
def double(record):
    return 2 * record.number
"""


def test_code_cached_with_classes_that_are_no_more_is_compiled_again(packages):
    for name in ("Before", "After"):
        (packages / "plugin" / "kernels" / "outer.py").write_text(RECORD.format(name=name))
        code = f"from plugin.kernels.outer import {name}, double; print(double({name}(1.5)))"
        assert python(code, packages) == "3.0"


@pytest.mark.parametrize(
    ("suffix", "damage"), [(".nbc", "emptied"), (".nbc", "one bit changed"), (".nbi", "cut short")]
)
def test_cached_code_that_is_damaged_is_compiled_again_and_kept_whole(packages, suffix, damage):
    assert python(ASK, packages) == "1 0"
    (file,) = (packages / "plugin" / "kernels").rglob(f"*{suffix}")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes({"emptied": b"", "cut short": content[: len(content) // 2], "one bit changed": content}[damage])
    assert python(ASK, packages) == "1 0"
    assert python(ASK, packages) == "1 1"


FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"


def test_where_compiled_code_cannot_be_kept_kernels_work_and_the_folder_is_named(packages):
    said = run("import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + FULL_DISK + ASK, packages)
    assert said.stdout.strip() == "1 0"
    assert f"cannot be kept in {packages / 'plugin' / 'kernels' / '__pycache__'}" in said.stderr
    assert not list(packages.rglob("*.tmp.*"))


def test_numba_has_the_insides_that_the_stamp_is_put_into():
    """Where this fails after the bound on numba was raised, `compiling._cached` must learn where the stamp is now."""
    own, ours = passive_aggressive.update_pa._cache._cache_file._source_stamp
    assert ours == stamp_of(passive_aggressive.__file__)
    assert own == passive_aggressive.update_pa._cache._impl.locator.get_source_stamp()


ANOTHER_NUMBA = """
import numba.core.caching as caching
made = caching.Cache.__init__

def make(self, function):
    made(self, function)
    self._kept_elsewhere = self.__dict__.pop("_cache_file")

caching.Cache.__init__ = make
"""


def test_without_these_insides_kernels_compile_in_each_process_and_that_is_said(packages):
    for _ in range(2):
        said = run(ANOTHER_NUMBA + ASK, packages)
        assert said.stdout.strip() == "1 0"
        assert "keeps its cache in a way not known here: kernels compile in each process" in said.stderr


def test_import_starts_no_thread(tmp_path):
    code = "import os, harness_prototype.kernels.passive_aggressive\nprint(len(os.listdir('/proc/self/task')))"
    if not Path("/proc/self/task").exists():
        pytest.skip("threads are counted through /proc, which this system does not have")
    assert python(code, tmp_path) == "1"


def test_the_folder_itself_imports_nothing_heavy(tmp_path):
    code = "import sys, harness.sdk.kernels; print([m for m in ('numba', 'scipy', 'sklearn') if m in sys.modules])"
    assert python(code, tmp_path) == "[]"


def test_who_only_converts_data_needs_no_compiler(tmp_path):
    code = "import sys, harness.sdk.kernels.instances; print('numba' in sys.modules)"
    assert python(code, tmp_path) == "False"
