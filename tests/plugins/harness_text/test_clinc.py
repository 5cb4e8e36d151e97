"""CLINC150: two JSON files, domains above intents, splits, and rejected input."""

import json

import pytest

from harness.errors import DataError
from harness_text import clinc
from messages import assert_names, naming
from word_counts import counts_of

DOMAINS = {"banking": ["transfer", "balance"], "travel": ["book_flight"]}
DATA = {
    "oos_train": [["what is this", "oos"]],
    "train": [["Send money to Ann", "transfer"], ["what's my balance", "balance"], ["fly me to Rome", "book_flight"]],
    "val": [["send 20 dollars", "transfer"]],
    "test": [["book a flight", "book_flight"], ["how much is left", "balance"]],
}


@pytest.fixture
def write(lay):
    def write(data=DATA, domains=DOMAINS):
        return str(lay({"data_full.json": json.dumps(data).encode(), "domains.json": json.dumps(domains).encode()}))

    return write


def test_rows_are_the_three_parts_without_out_of_scope_queries(write):
    data = clinc.load_clinc150(source=write())
    assert data.class_names == ("balance", "book_flight", "transfer")
    assert data.y.tolist() == [2, 0, 1, 2, 1, 0]
    assert [part.tolist() for part in data.splits["train-test"]] == [[0, 1, 2], [4, 5]]
    assert [part.tolist() for part in data.splits["trainvalidation-test"]] == [[0, 1, 2, 3], [4, 5]]
    assert_names(data.found, "2", "4,500", "3")


def test_words_and_numbers_are_tokens(write):
    data = clinc.load_clinc150(source=write())
    assert counts_of(data)[[3]].sum() == 3  # send, 20, dollars
    assert counts_of(data)[[1]].sum() == 4  # what, s, my, balance


def test_the_taxonomy_has_domains_above_intents(write):
    tree = clinc.load_clinc150(source=write()).taxonomy
    assert tree.node_names == ("clinc150", "banking", "travel", "balance", "transfer", "book_flight")
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1, 2]
    assert tree.class_node.tolist() == [3, 5, 4]


@pytest.mark.parametrize(
    ("data", "domains", "reason"),
    [
        (DATA | {"test": [["a", "b", "c"]]}, DOMAINS, r"data_full.json, test\[0\]: expected \[request, intent\]"),
        (DATA | {"val": [["x", "transfer"], ["y", "dance"]]}, DOMAINS, r"val\[1\]: 'dance' is in no domain"),
        (DATA | {"val": "x"}, DOMAINS, "data_full.json: expected a list under 'val', found str"),
        ({"train": []}, DOMAINS, "expected a list under 'val', found NoneType"),
        (DATA, DOMAINS | {"more": ["balance"]}, "domains.json has 'balance' in two domains"),
        ([1], DOMAINS, "data_full.json holds a list, expected a mapping"),
    ],
)
def test_json_of_another_shape_raises_an_error_that_names_the_entry(write, data, domains, reason):
    with pytest.raises(DataError, match=reason):
        clinc.load_clinc150(source=write(data, domains))


def test_damaged_and_missing_files_raise_an_error_that_names_them(lay):
    with pytest.raises(DataError, match=naming("domains.json", "JSON")):
        clinc.load_clinc150(source=str(lay({"data_full.json": b"{}", "domains.json": b"{"}, "damaged")))
    with pytest.raises(DataError, match=naming("domains.json", "data_full.json")):
        clinc.load_clinc150(source=str(lay({"data_full.json": b"{}"}, "lacking")))
