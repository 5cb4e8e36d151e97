"""Checks of registered experiments: built-in ones pass, and a file with unknown names fails."""

import pytest

from checking import failed
from harness import ExperimentSpec
from internals import experiment_checks

GOOD = "learners = ['pa']\ndatasets = ['digits']\n"
FILE, NAMES, NUMBERS = (
    "its_file_is_an_experiment",
    "names_are_registered",
    "its_published_numbers_can_be_read",
)


@pytest.mark.parametrize(
    ("text", "numbers", "expected"),
    [
        (GOOD, None, set()),
        ("learners = 3\n", None, {FILE, NAMES}),
        ("learners = ['nobody-has-this']\n", None, {NAMES}),
        (GOOD, "no,table\n1,2\n", {NUMBERS}),
    ],
)
def test_each_check_fails_for_its_defect(tmp_path, monkeypatch, text, numbers, expected):
    package = tmp_path / f"paper_{abs(hash((text, numbers)))}"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "mine.toml").write_text(text)
    (package / "mine.csv").write_text(numbers or "")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("HARNESS_STRICT_PLUGINS", raising=False)
    published = f"{package.name}:mine.csv" if numbers else ""
    spec = ExperimentSpec(name="mine", resource=f"{package.name}:mine.toml", published=published)
    assert failed(experiment_checks(spec)) == expected
