"""Splits: parsed from text, written in one notation, and sized before rows are drawn."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError, SpecError
from internals import Split, parse_split
from messages import assert_names, naming


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("holdout:0.1", "holdout:0.1"),
        ("holdout:.10", "holdout:0.1"),
        ("holdout:1e-1", "holdout:0.1"),
        ("holdout:0.12345678", "holdout:0.12345678"),
        ("stratified:.10", "stratified:0.1"),
        ("kfold:10", "kfold:10"),
        ("kfold:05", "kfold:5"),
        ("stratified-kfold:05", "stratified-kfold:5"),
        ("given", "given"),
        ("given:official", "given:official"),
    ],
)
def test_each_split_has_one_notation(text, canonical):
    assert str(parse_split(text)) == canonical
    assert str(parse_split(canonical)) == canonical
    assert parse_split(text) == parse_split(canonical)


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("holdout:0.25", Split("holdout", share=0.25)),
        ("stratified:0.25", Split("stratified", share=0.25)),
        ("kfold:7", Split("kfold", folds=7)),
        ("stratified-kfold:7", Split("stratified-kfold", folds=7)),
        ("given", Split("given")),
        ("given:official", Split("given", name="official")),
        ("given:a:b", Split("given", name="a:b")),
    ],
)
def test_a_split_is_parsed(text, split):
    assert parse_split(text) == split


shares = st.floats(0, 1, exclude_min=True, exclude_max=True)
splits = st.one_of(
    st.builds(Split, st.sampled_from(["holdout", "stratified"]), share=shares),
    st.builds(Split, st.sampled_from(["kfold", "stratified-kfold"]), folds=st.integers(2, 10**6)),
    st.builds(Split, st.just("given"), name=st.text(max_size=8)),
)


@given(splits)
def test_a_split_round_trips_as_text_and_by_pickle(split):
    assert parse_split(str(split)) == split
    assert pickle.loads(pickle.dumps(split)) == split


def test_only_a_kfold_split_has_a_number_of_folds():
    assert [parse_split(f"{kind}:7").folds for kind in ("kfold", "stratified-kfold")] == [7, 7]
    assert [parse_split(split).folds for split in ("holdout:0.1", "stratified:0.1", "given")] == [0, 0, 0]


def test_only_a_stratified_split_uses_the_labels():
    stratified = {
        text: parse_split(text).is_stratified
        for text in ("holdout:0.5", "stratified:0.5", "kfold:2", "stratified-kfold:2", "given", "given:stratified")
    }
    assert [text for text, looks in stratified.items() if looks] == ["stratified:0.5", "stratified-kfold:2"]


UNKNOWN = ["", "holdout", "holdout:", "holdout:0", "holdout:1", "holdout:-0.1", "holdout:nan", "holdout:x"]
UNKNOWN += [
    "kfold",
    "kfold:1",
    "kfold:-3",
    "kfold:2.5",
    "kfold:x",
    "kfold:\u0665",
    "kfold:\u00b2",
    "stratified",
    "stratified:0",
    "stratified:2",
    "stratified-kfold:1",
    "stratified-kfold:0.5",
    "random",
    "Holdout:0.1",
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_split_raises_an_error_with_the_allowed_ones(text):
    with pytest.raises(SpecError) as caught:
        parse_split(text)
    assert repr(text) in str(caught.value)
    assert_names(str(caught.value), "holdout:SHARE", "stratified:SHARE", "0", "1", "kfold:K", "stratified-kfold:K")


# -- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("split", "rows", "sizes"),
    [
        ("holdout:0.1", 100, (90, 10)),
        ("stratified:0.25", 10, (8, 2)),
        ("kfold:4", 10, (7, 2)),  # the minimum over folds
        ("stratified-kfold:5", 10, (8, 2)),
        ("given:official", 10, (4, 2)),
        ("given", 10, (4, 2)),
    ],
)
def test_sizes_are_known_without_drawing(split, rows, sizes):
    assert parse_split(split).sizes(rows, {"official": (4, 2)}) == sizes


@pytest.mark.parametrize(
    ("split", "rows", "part", "other"),
    [
        ("holdout:0.1", 4, "test", "share"),
        ("holdout:0.9", 4, "training", "share"),
        ("stratified:0.1", 4, "test", "share"),
        ("kfold:5", 4, "test", "number of folds"),
        ("kfold:2", 1, "test", "number of folds"),
        ("stratified-kfold:5", 4, "test", "number of folds"),
    ],
)
def test_an_empty_part_is_rejected(split, rows, part, other):
    message = f"split '{split}' of {rows} rows leaves the {part} part empty. Choose another {other}.$"
    with pytest.raises(DataError, match=message):
        parse_split(split).sizes(rows, {})


def test_a_given_split_with_an_empty_part_is_rejected():
    with pytest.raises(DataError, match=naming("empty")):
        parse_split("given:a").sizes(10, {"a": (10, 0)})


# -- splits that the data brings -------------------------------------------------------------------------------------


def test_the_only_given_split_needs_no_name():
    brought = {"official": (4, 2)}
    full = Split("given", name="official")
    assert parse_split("given").settle(brought) == full
    assert parse_split("given:official").settle(brought) == full
    assert parse_split("holdout:0.1").settle(brought) == parse_split("holdout:0.1")
    assert parse_split("given").given_name(brought) == "official"


@pytest.mark.parametrize(
    ("split", "known", "printed"),
    [
        ("given", {}, "no split 'given'. Use holdout:SHARE."),
        ("given:b", {}, "no split 'b'. Use holdout:SHARE."),
        ("given:b", {"a": (4, 2)}, "no split 'b'. It has given:a."),
        ("given", {"a": (4, 2), "b": (4, 2)}, "the dataset has 2 splits. Choose one of given:a, given:b."),
    ],
)
def test_an_absent_given_split_raises_an_error_with_the_available_ones(split, known, printed):
    split_given = parse_split(split)
    calls = (
        lambda: split_given.given_name(known),
        lambda: split_given.settle(known),
        lambda: split_given.sizes(10, known),
    )
    for call in calls:
        with pytest.raises(DataError) as caught:
            call()
        assert printed in str(caught.value)


# -- splits by a column ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("grouped:author", "grouped:author:0.1"),
        ("grouped:text", "grouped:text:0.1"),
        ("grouped:Job Title:0.25", "grouped:Job Title:0.25"),
        ("time:year:0.2", "time:year:0.2"),
        ("time:at 10:30", "time:at 10:30:0.1"),
    ],
)
def test_a_split_by_column_has_a_default_test_share(text, full):
    assert str(parse_split(text)) == full
    assert parse_split(full) == parse_split(text)


@pytest.mark.parametrize("text", ["grouped", "grouped:", "time:", "time"])
def test_a_split_without_a_column_is_rejected(text):
    with pytest.raises(SpecError, match=naming("grouped:COLUMN", "grouped:text", "time:COLUMN")):
        parse_split(text)


@pytest.mark.parametrize(
    ("split", "printed"),
    [
        ("grouped:author", r"has no column 'author' for splits. It has grouped:shop."),
        ("time:shop", r"has no column 'shop' .*\(time=shop\)"),
        ("grouped:text", "the dataset has no texts"),
    ],
)
def test_an_absent_column_raises_an_error_that_names_the_option(split, printed):
    with pytest.raises(DataError, match=printed):
        parse_split(split).check_columns({"shop"}, (), has_texts=False)
    parse_split("grouped:text").check_columns((), (), has_texts=True)
