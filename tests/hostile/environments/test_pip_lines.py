"""The package that pip blames, read from its output."""

import pytest

from internals import find_culprit, is_progress

SOURCES = [
    "Collecting mytool",
    "  Downloading mytool-1.0.tar.gz (12 kB)",
    "  Preparing metadata (pyproject.toml): finished with status 'done'",
    "Collecting helper",
    "  Downloading helper-2.0.tar.gz (4 kB)",
    "Building wheels for collected packages: mytool, helper",
    "  Building wheel for mytool (pyproject.toml): started",
    "  Building wheel for mytool (pyproject.toml): finished with status 'error'",
    "  error: subprocess-exited-with-error",
    "  ERROR: Failed building wheel for mytool",
    "  Building wheel for helper (pyproject.toml): finished with status 'done'",
    "Failed to build mytool",
    "ERROR: Could not build wheels for mytool, which is required to install pyproject.toml-based projects",
]
CONFLICT = [
    "Collecting pandas<3",
    "  Downloading pandas-2.2.0.whl (13.0 MB)",
    "ERROR: Cannot install numpy<2 and pandas==2.9 because these package versions have conflicting dependencies.",
]
METADATA = [
    "Collecting mytool",
    "  Preparing metadata (setup.py): finished with status 'error'",
    "  error: subprocess-exited-with-error",
]
ABSENT = [
    "ERROR: Could not find a version that satisfies it",
    "ERROR: No matching distribution found for tabulate==98.7",
]
FULL_DISK = [
    "Collecting mytool",
    "Installing collected packages: a, b, mytool",
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
]


@pytest.mark.parametrize(
    ("lines", "culprit"),
    [
        (SOURCES, "mytool"),
        (CONFLICT, "numpy<2 and pandas==2.9"),
        (METADATA, "mytool"),
        (ABSENT, "tabulate==98.7"),
        (["ERROR: Failed to build 'mytool' when getting requirements to build wheel"], "mytool"),
        (FULL_DISK, ""),
        ([], ""),
    ],
)
def test_the_first_package_blamed_by_pip_is_the_culprit(lines, culprit):
    assert find_culprit(lines) == culprit


def test_progress_shows_pips_current_step():
    assert [line for line in FULL_DISK if is_progress(line)] == FULL_DISK[:2]
