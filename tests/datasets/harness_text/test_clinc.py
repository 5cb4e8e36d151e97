"""CLINC150: its two JSON files, the domains above the intents, the splits, and what is refused."""

import json

import pytest

from counted import counts_of
from harness.errors import DataError
from harness_text import clinc

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


def test_rows_are_the_three_parts_without_what_is_out_of_scope(write):
    data = clinc.load_clinc150(source=write())
    assert data.class_names == ("balance", "book_flight", "transfer")
    assert data.y.tolist() == [2, 0, 1, 2, 1, 0]
    assert [part.tolist() for part in data.splits["train-test"]] == [[0, 1, 2], [4, 5]]
    assert [part.tolist() for part in data.splits["trainvalidation-test"]] == [[0, 1, 2, 3], [4, 5]]
    assert "2 (described as 4,500) requests, 3 intents, 2 domains" in data.found


def test_words_and_numbers_count(write):
    data = clinc.load_clinc150(source=write())
    assert counts_of(data)[[3]].sum() == 3  # send, 20, dollars
    assert counts_of(data)[[1]].sum() == 4  # what, s, my, balance


def test_the_tree_has_the_domain_above_the_intent(write):
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
def test_what_is_not_in_the_shape_is_named(write, data, domains, reason):
    with pytest.raises(DataError, match=reason):
        clinc.load_clinc150(source=write(data, domains))


def test_damaged_and_missing_files_are_named(lay):
    with pytest.raises(DataError, match=r"domains\.json is not JSON"):
        clinc.load_clinc150(source=str(lay({"data_full.json": b"{}", "domains.json": b"{"}, "damaged")))
    with pytest.raises(DataError, match=r"domains\.json is not there, expected data_full\.json and domains\.json of"):
        clinc.load_clinc150(source=str(lay({"data_full.json": b"{}"}, "lacking")))
