"""Dataset expressions: which ones are files, and their labels in tables."""

import pytest

from harness.errors import SpecError
from internals import (
    DatasetRef,
    Expression,
    Label,
    is_file,
    parse_dataset,
    parse_split,
    plain_label,
    read_dataset,
    spread_grid,
    stem_of,
)
from messages import naming


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.csv", True), ("in/a", True), ("./a", True), ("a/", True), ("digits", False), ("dist.py:digits", False)],
)
def test_a_slash_or_an_extension_makes_a_file(name, expected):
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
def test_a_file_is_labelled_by_its_name_without_extensions(path, stem):
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
def test_every_notation_has_a_label(text, name, source):
    ref = parse_dataset(text)
    assert (ref.label, ref.source) == (plain_label(name), source)


def test_the_source_of_a_derived_dataset_is_kept_as_written():
    ref = parse_dataset("subsample(titles.csv(min_df=2), classes=3)")
    assert (ref.wrapped, ref.params) == ("titles.csv(min_df=2)", {"classes": 3})


def test_a_file_name_that_is_no_expression_is_taken_literally(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my titles (1).csv").touch()
    assert read_dataset("my titles (1).csv") == Expression("my titles (1).csv")
    assert parse_dataset("my titles (1).csv").source == "my titles (1).csv"
    with pytest.raises(SpecError, match=naming("titles")):
        read_dataset("your titles (1).csv")


def test_a_derived_dataset_has_one_source():
    with pytest.raises(SpecError, match=naming("digits", "subsample(topics, digits)")):
        parse_dataset("subsample(topics, digits)")


def ref_of(name, params, wrapped=None, **fields):
    return DatasetRef(name, plain_label(name), params, wrapped, **fields)


def test_a_dataset_without_lists_is_a_grid_of_one():
    ref = ref_of("topics", {"rows": 3, "sizes": (1, 2)}, representations=("tf",), split=parse_split("given"))
    assert list(spread_grid(ref)) == [ref]


def test_several_lists_make_all_combinations_of_one_family():
    labels = [ref.label for ref in spread_grid(ref_of("topics", {"rows": [1, 2], "classes": [3, 4]}))]
    assert labels == [Label(f"topics(rows={r}, classes={c})", "topics") for r in (1, 2) for c in (3, 4)]


def test_a_grid_of_derived_datasets_is_labelled_by_all_parameters():
    ref = parse_dataset("subsample(digits, classes=[3, 4], seed=1)")
    assert [one.label.text for one in spread_grid(ref)] == [
        "subsample(digits, classes=3, seed=1)",
        "subsample(digits, classes=4, seed=1)",
    ]
    assert {one.label.family for one in spread_grid(ref)} == {ref.label.text}


def test_a_labelled_grid_uses_its_label():
    ref = parse_dataset("small=subsample(digits, classes=[3, 4], seed=1)")
    assert [one.label for one in spread_grid(ref)] == [Label(f"small(classes={c})", "small") for c in (3, 4)]


def test_an_empty_list_is_rejected():
    with pytest.raises(SpecError, match=naming("topics", "rows", "empty")):
        list(spread_grid(ref_of("topics", {"rows": []})))
