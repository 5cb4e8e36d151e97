"""Fixtures for model tests: a model that is fitted once, in a read-only folder."""

import pytest

from small_titles import titles


@pytest.fixture(scope="session")
def kept_model(tmp_path_factory):
    """Return the folder of a model of titles."""
    import harness

    folder = tmp_path_factory.mktemp("models") / "titles.model"
    harness.fit("pa", titles(), representation="words", out=folder)
    return folder


@pytest.fixture(scope="session")
def model(kept_model):
    """Return the same model, loaded."""
    import harness

    return harness.load_model(kept_model)
