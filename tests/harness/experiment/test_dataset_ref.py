"""Data sets as the user names them: what is a file, and what each goes by in tables."""

import pytest

from harness.errors import SpecError
from harness.experiment.dataset_ref import DatasetRef, is_file, parse_dataset, read_dataset, spread_grid, stem_of
from harness.expression import Expression
from harness.label import Label, plain_label
from harness.split import parse_split


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
    ("text", "name", "source"),
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
def test_every_way_of_writing_has_a_name(text, name, source):
    ref = parse_dataset(text)
    assert (ref.label, ref.source) == (plain_label(name), source)


def test_what_a_data_set_is_made_from_is_kept_as_it_was_written():
    ref = parse_dataset("subsample(titles.csv(min_df=2), classes=3)")
    assert (ref.wrapped, ref.params) == ("titles.csv(min_df=2)", {"classes": 3})


def test_a_file_whose_name_no_expression_can_have_is_taken_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my titles (1).csv").touch()
    assert read_dataset("my titles (1).csv") == Expression("my titles (1).csv")
    assert parse_dataset("my titles (1).csv").source == "my titles (1).csv"
    with pytest.raises(SpecError, match="cannot read 'your titles"):
        read_dataset("your titles (1).csv")


def test_a_data_set_is_made_from_one_other():
    with pytest.raises(SpecError, match=r"cannot read 'digits' in 'subsample\(topics, digits\)': expected parameter"):
        parse_dataset("subsample(topics, digits)")


def ref_of(name, params, wrapped=None, **fields):
    return DatasetRef(name, plain_label(name), params, wrapped, **fields)


def test_a_data_set_without_lists_is_all_of_its_grid():
    ref = ref_of("topics", {"rows": 3, "sizes": (1, 2)}, representations=("tf",), split=parse_split("given"))
    assert list(spread_grid(ref)) == [ref]


def test_several_lists_make_every_combination_of_one_family():
    labels = [ref.label for ref in spread_grid(ref_of("topics", {"rows": [1, 2], "classes": [3, 4]}))]
    assert labels == [Label(f"topics(rows={r}, classes={c})", "topics") for r in (1, 2) for c in (3, 4)]


def test_a_grid_made_from_another_data_set_is_named_by_all_its_parameters():
    ref = parse_dataset("subsample(digits, classes=[3, 4], seed=1)")
    assert [one.label.text for one in spread_grid(ref)] == [
        "subsample(digits, classes=3, seed=1)",
        "subsample(digits, classes=4, seed=1)",
    ]
    assert {one.label.family for one in spread_grid(ref)} == {ref.label.text}


def test_a_grid_with_a_label_is_named_by_it():
    ref = parse_dataset("small=subsample(digits, classes=[3, 4], seed=1)")
    assert [one.label for one in spread_grid(ref)] == [Label(f"small(classes={c})", "small") for c in (3, 4)]


def test_a_list_without_values_is_refused():
    with pytest.raises(SpecError, match="data set 'topics': the list of values for 'rows' is empty"):
        list(spread_grid(ref_of("topics", {"rows": []})))
