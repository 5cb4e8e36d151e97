"""Many texts in two arrays, used as a sequence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.sdk import Texts
from messages import naming

lists = st.lists(st.text(), max_size=6)


@given(lists)
def test_texts_are_returned_by_position_and_in_order(texts):
    kept = Texts.of(texts)
    assert list(kept) == texts
    assert [kept[row] for row in range(-len(texts), len(texts))] == texts + texts
    assert (len(kept), kept.shape) == (len(texts), (len(texts),))


@given(lists.filter(bool), st.data())
def test_selected_rows_equal_those_of_a_list(texts, data):
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1)))
    assert list(Texts.of(texts)[np.array(rows, int)]) == [texts[row] for row in rows]
    assert list(Texts.of(texts)[1:]) == texts[1:]


def test_an_unpaired_surrogate_becomes_a_question_mark():
    assert list(Texts.of(["a\ud800b"])) == ["a?b"]


def test_a_value_that_is_no_text_raises_an_error_that_names_it():
    with pytest.raises(TypeError, match=naming("1", "3", "row", "text")):
        Texts.of(["a", 3])
    with pytest.raises(IndexError):
        Texts.of(["a"])[1]
