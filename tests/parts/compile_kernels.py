"""Compile all kernels on all cores: `python tests/parts/compile_kernels.py`, once after an installation.

Otherwise parallel test processes would compile the same kernels at the same time. A kernel that numba cannot cache is
an error, because each process would compile it again.
"""

import warnings
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from numba.core.errors import NumbaWarning


def kernel_modules():
    """Return the modules with kernels, of the host and of all installed plugins."""
    packages = {point.module.partition(".")[0] for point in entry_points(group="harness")}
    found = []
    for package in ("harness.sdk", *sorted(packages)):
        (folder,) = find_spec(package).submodule_search_locations
        for path in sorted(Path(folder).glob("**/kernels/[!_]*.py")):
            found.append(".".join([package, *path.relative_to(folder).with_suffix("").parts]))
    return found


def compile_one(module):
    """Import a module, which compiles and caches its kernels."""
    warnings.simplefilter("error", NumbaWarning)
    import_module(module)


def main():
    with ProcessPoolExecutor() as pool:
        done = list(pool.map(compile_one, kernel_modules()))
    print(f"{len(done)} modules with kernels are compiled")


if __name__ == "__main__":
    main()
