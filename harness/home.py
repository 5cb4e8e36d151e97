"""Where data is kept: the data home, and in it a folder of raw files for each data set."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

HOME_VARIABLE = "HARNESS_DATA_HOME"


def data_home() -> Path:
    """The folder that holds all data: HARNESS_DATA_HOME, or the platform's cache folder."""
    given = os.environ.get(HOME_VARIABLE)
    return Path(given) if given else Path(platformdirs.user_cache_dir("harness"))


def raw_folder(dataset: str) -> Path:
    """Where the raw files of a data set are, once they were fetched or imported."""
    return data_home() / "raw" / dataset
