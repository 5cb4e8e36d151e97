"""Errors have fields that survive pickling and can be extended."""

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
def test_adding_a_field_keeps_the_other_fields(kind, fields):
    error = kind(**fields)
    assert error.about("dataset 'toy'") is error
    assert error.within("dataset 'toy'").fields() == fields | {"culprit": "dataset 'toy': titles.csv"}
    assert error.adding("Nothing is lost.").fields() == fields | {"next_step": "get it again\nNothing is lost."}
    bare = kind(**fields | {"culprit": "", "next_step": ""})
    assert bare.about("dataset 'toy'").culprit == bare.within("dataset 'toy'").culprit == "dataset 'toy'"
    assert bare.adding("Nothing is lost.").trouble == "is torn\nNothing is lost."


def test_a_message_has_culprit_problem_and_next_step():
    assert str(DataError(**PLAIN)) == "titles.csv: is torn: get it again"
    assert DataError(**PLAIN).complaint == "titles.csv: is torn"
    assert str(DataError("is torn")) == "is torn"


def test_missing_data_errors_state_the_source_before_the_next_step():
    assert str(MissingData(**MISSING)) == "titles.csv: is torn\n  a from https://one/a\nget it again"
    assert str(MissingData("is gone", command="harness data fetch toy")) == "is gone"
