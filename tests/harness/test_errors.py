"""Errors have fields: they survive another process, and whoever passes them on adds to them without reading them."""

import pickle

import pytest

from harness.errors import DataError, MissingData

PLAIN = {"trouble": "is torn", "culprit": "titles.csv", "next_step": "get it again"}
MISSING = PLAIN | {"command": "harness data fetch toy", "addresses": "  a from https://one/a"}


@pytest.mark.parametrize(("kind", "fields"), [(DataError, PLAIN), (MissingData, MISSING)])
def test_an_error_is_the_same_in_another_process(kind, fields):
    error = kind(**fields)
    assert error.fields() == fields
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert again.fields() == fields
    assert str(again) == str(error)


@pytest.mark.parametrize(("kind", "fields"), [(DataError, PLAIN), (MissingData, MISSING)])
def test_what_is_added_to_an_error_leaves_its_other_fields(kind, fields):
    error = kind(**fields)
    assert error.about("data set 'toy'") is error
    assert error.within("data set 'toy'").fields() == fields | {"culprit": "data set 'toy': titles.csv"}
    assert error.adding("Nothing is lost.").fields() == fields | {"next_step": "get it again\nNothing is lost."}
    bare = kind(**fields | {"culprit": "", "next_step": ""})
    assert bare.about("data set 'toy'").culprit == bare.within("data set 'toy'").culprit == "data set 'toy'"
    assert bare.adding("Nothing is lost.").trouble == "is torn\nNothing is lost."


def test_an_error_says_culprit_trouble_and_next_step():
    assert str(DataError(**PLAIN)) == "titles.csv: is torn: get it again"
    assert DataError(**PLAIN).complaint == "titles.csv: is torn"
    assert str(DataError("is torn")) == "is torn"


def test_missing_data_says_where_it_is_to_be_had_before_what_to_do():
    assert str(MissingData(**MISSING)) == "titles.csv: is torn\n  a from https://one/a\nget it again"
    assert str(MissingData("is gone", command="harness data fetch toy")) == "is gone"
