"""What tests of models share: one that is fitted once, as a folder that nobody may change."""

import pytest

from small_titles import titles


@pytest.fixture(scope="session")
def kept_model(tmp_path_factory):
    """The folder of a model of titles."""
    import harness

    folder = tmp_path_factory.mktemp("models") / "titles.model"
    harness.fit("pa", titles(), representation="words", out=folder)
    return folder


@pytest.fixture(scope="session")
def model(kept_model):
    """The same model, opened."""
    import harness

    return harness.load_model(kept_model)
