"""Compiled kernels are up to date, compiled at import, and start no thread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness_index.kernels import ema, ff, ooz
from harness_prototype.kernels import passive_aggressive
from harness_svm.structured.kernels import flat_sweeps
from harness_tree.kernels import lomtree
from internals import (
    KERNELS_PACKAGE,
    add_up_all,
    expand_imports,
    fill_ranks,
    fill_touched_ranks,
    module_of,
    spread_rows,
    stamp_of,
)
from messages import assert_names

KERNELS = [
    add_up_all,
    spread_rows,
    ema.update_ema,
    ff.update_ff,
    flat_sweeps.sweep_flat,
    lomtree.update_lomtree,
    ooz.update_ooz,
    passive_aggressive.update_pa,
    fill_ranks,
    fill_touched_ranks,
]


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # threads of numpy and scipy do not count
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)


def python(code: str, folder: Path) -> str:
    return run(code, folder).stdout.strip()


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_compiled_for_one_signature_only(kernel):
    assert len(kernel.signatures) == 1
    with pytest.raises(TypeError):
        kernel(*[0.5] * len(kernel.signatures[0]))


SHARED = expand_imports("from internals import helper\n\n@helper()\ndef answer():\n    return {value}\n")
PLUGINS = expand_imports("""
from numba import int64
from harness.sdk import kernel
from shared.kernels.inner import answer

@kernel(int64())
def ask():
    return answer()
""")


@pytest.fixture
def packages(tmp_path):
    """A plugin kernel that calls a helper in another package's kernels."""
    for package in ("shared", "plugin"):
        (tmp_path / package / "kernels").mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "kernels" / "__init__.py").touch()
    (tmp_path / "shared" / "kernels" / "inner.py").write_text(SHARED.format(value=1))
    (tmp_path / "shared" / "kernels" / "beside.py").touch()
    (tmp_path / "plugin" / "kernels" / "outer.py").write_text(PLUGINS)
    return tmp_path


ASK = "from plugin.kernels import outer; print(outer.ask(), sum(outer.ask.stats.cache_hits.values()))"


def test_an_edit_of_a_shared_helper_recompiles_the_kernels_that_import_it(packages):
    assert python(ASK, packages) == "1 0"
    assert python(ASK, packages) == "1 1"
    (packages / "shared" / "kernels" / "inner.py").write_text(SHARED.format(value=2))
    assert python(ASK, packages) == "2 0"


def test_an_edit_that_a_kernel_does_not_import_recompiles_nothing(packages):
    assert python(ASK, packages) == "1 0"
    (packages / "shared" / "kernels" / "beside.py").write_text("nothing = 'that the others import'\n")
    (packages / "plugin" / "learner.py").write_text("from plugin.kernels.outer import ask\n")
    assert python(ASK, packages) == "1 1"


RECORD = expand_imports("""
from typing import NamedTuple
import numpy as np
from numba import float64
from harness.sdk import kernel, named

class {name}(NamedTuple):
    number: float

@kernel(float64(named({name}, float64)))
def double(record):
    return 2 * record.number
""")


def test_cached_code_with_removed_classes_is_recompiled(packages):
    for name in ("Before", "After"):
        (packages / "plugin" / "kernels" / "outer.py").write_text(RECORD.format(name=name))
        code = f"from plugin.kernels.outer import {name}, double; print(double({name}(1.5)))"
        assert python(code, packages) == "3.0"


@pytest.mark.parametrize(
    ("suffix", "damage"), [(".nbc", "emptied"), (".nbc", "one bit changed"), (".nbi", "cut short")]
)
def test_damaged_cached_code_is_recompiled_and_stored(packages, suffix, damage):
    assert python(ASK, packages) == "1 0"
    (file,) = (packages / "plugin" / "kernels").rglob(f"*{suffix}")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes({"emptied": b"", "cut short": content[: len(content) // 2], "one bit changed": content}[damage])
    assert python(ASK, packages) == "1 0"
    assert python(ASK, packages) == "1 1"


FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"


def test_kernels_work_without_a_writable_cache_and_the_folder_is_named(packages):
    value = run("import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + FULL_DISK + ASK, packages)
    assert value.stdout.strip() == "1 0"
    assert_names(value.stderr, f"{packages / 'plugin' / 'kernels' / '__pycache__'}")
    assert not list(packages.rglob("*.tmp.*"))


def test_numba_has_the_private_attributes_used_for_the_stamp():
    """If this fails for a new numba release, adapt `compile._cached` to the new location of the stamp."""
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


def test_without_these_attributes_kernels_compile_in_each_process_with_a_warning(packages):
    for _ in range(2):
        value = run(ANOTHER_NUMBA + ASK, packages)
        assert value.stdout.strip() == "1 0"
        assert_names(value.stderr, "process")


def test_import_starts_no_thread(tmp_path):
    code = "import os, harness_prototype.kernels.passive_aggressive\nprint(len(os.listdir('/proc/self/task')))"
    if not Path("/proc/self/task").exists():
        pytest.skip("threads are counted through /proc, which this system does not have")
    assert python(code, tmp_path) == "1"


def test_importing_the_kernels_package_imports_nothing_heavy(tmp_path):
    code = f"import sys, {KERNELS_PACKAGE}; print([m for m in ('numba', 'scipy', 'sklearn') if m in sys.modules])"
    assert python(code, tmp_path) == "[]"


def test_converting_data_needs_no_compiler(tmp_path):
    code = f"import sys, {module_of('as_instances')}; print('numba' in sys.modules)"
    assert python(code, tmp_path) == "False"
