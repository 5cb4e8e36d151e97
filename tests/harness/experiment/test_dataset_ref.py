"""Data sets as the user names them: what is a file, and what each goes by in tables."""

import pytest

from harness.errors import SpecError
from harness.experiment.dataset_ref import DatasetChoice, choice_of, is_file, spread, stem_of, variants


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.csv", True), ("in/a", True), ("./a", True), ("a/", True), ("digits", False), ("dist.py:digits", False)],
)
def test_a_slash_or_an_ending_makes_a_file(name, expected):
    assert is_file(name) is expected


@pytest.mark.parametrize(
    ("path", "stem"),
    [
        ("titles.csv", "titles"),
        ("in/titles.csv.gz", "titles"),
        ("titles.v2.jsonl.zst", "titles.v2"),
        ("texts/", "texts"),
        ("../in/texts", "texts"),
        (".hidden", ".hidden"),
    ],
)
def test_a_file_goes_by_its_name_without_endings(path, stem):
    assert stem_of(path) == stem


@pytest.mark.parametrize(
    ("text", "name", "of"),
    [
        ("digits", "digits", "digits"),
        ("x=digits", "x", "digits"),
        ("titles.csv", "titles", "titles.csv"),
        ("svmlight(path=in/a.txt)", "a", "svmlight"),
        ("subsample(titles.csv(min_df=2), classes=3)", "subsample(titles, classes=3)", "subsample"),
        (
            "subsample(subsample(digits, classes=5), examples=9)",
            "subsample(subsample(digits, classes=5), examples=9)",
            "subsample",
        ),
    ],
)
def test_every_way_of_writing_has_a_name(text, name, of):
    choice = choice_of(text)
    assert (choice.name, choice.of) == (name, of)


def test_a_file_whose_name_no_expression_can_have_is_taken_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my titles (1).csv").touch()
    assert spread("my titles (1).csv") == {"path": "my titles (1).csv"}
    with pytest.raises(SpecError, match="cannot read 'your titles"):
        spread("your titles (1).csv")


def test_a_choice_without_lists_is_its_only_variant():
    choice = DatasetChoice("x", {"rows": 3, "sizes": (1, 2)}, "tf", "given", "topics")
    assert list(variants(choice)) == [choice]


def test_several_lists_make_every_combination():
    names = [choice.name for choice in variants(DatasetChoice("topics", {"rows": [1, 2], "classes": [3, 4]}))]
    assert names == [f"topics(rows={r}, classes={c})" for r in (1, 2) for c in (3, 4)]


def test_a_list_of_data_sets_inside_makes_one_of_each():
    choice = DatasetChoice("subsample", {"dataset": ["digits", "in/a.csv"], "classes": 3}, of="subsample")
    assert [variant.name for variant in variants(choice)] == ["subsample(digits, classes=3)", "subsample(a, classes=3)"]
