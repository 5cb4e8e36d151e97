"""Text within a width: tables continue below, lists wrap or omit columns, and no cell is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from internals import fit_list, fold_columns, wrap_lines

words = st.text(st.characters(codec="ascii", categories=["Lu", "Ll", "Nd"]), min_size=1, max_size=30)


def widest(text):
    return max(map(len, text.split("\n")))


@given(st.lists(st.lists(words, min_size=7, max_size=7), min_size=1, max_size=5), st.integers(40, 120))
def test_a_table_fits_the_width_and_has_every_cell(rows, width):
    headings = ["learner", "kind", "R1", "R5", "train", "size", "edges"]
    text = fold_columns(rows, headings, width)
    assert widest(text) <= width
    blocks = text.split("\n\n")
    assert [word for block in blocks for word in block.split("\n")[0].split() if word != "learner"] == headings[1:]
    if max(len(row[0]) for row in rows) <= width // 2:
        shown = {word for line in text.split("\n") for word in line.split()}
        assert {row[0] for row in rows} <= shown


def test_a_cell_that_reads_false_stays_as_it_is():
    assert "False" in fold_columns([["0", "1"], ["False", "1"]], ["learner", "R1"], 40)


def test_each_block_of_a_wide_table_begins_with_the_first_column():
    rows = [["pa", "0.9", "0.95"], ["ooz", "0.8", "0.85"]]
    assert fold_columns(rows, ["learner", "R1", "R5"], 80).split("\n") == [
        "learner    R1    R5",
        "---------  ----  ----",
        "pa         0.9   0.95",
        "ooz        0.8   0.85",
    ]
    assert fold_columns(rows, ["learner", "R1", "R5"], 20).split("\n") == [
        "learner    R1",
        "---------  ----",
        "pa         0.9",
        "ooz        0.8",
        "",
        "learner    R5",
        "---------  ----",
        "pa         0.95",
        "ooz        0.85",
    ]


def test_identifying_columns_are_repeated_in_every_block():
    rows = [["pa", "words", "0.9", "0.95"], ["pa", "chars", "0.8", "0.85"]]
    text = fold_columns(rows, ["learner", "sees", "R1", "R5"], 26, titles=2)
    headings = [block.split("\n")[0].split() for block in text.split("\n\n")]
    assert headings == [["learner", "sees", "R1"], ["learner", "sees", "R5"]]
    assert text.count("words") == text.count("chars") == 2


def test_a_column_that_just_fits_stays():
    rows = [["a", "b" * 9]]
    assert "\n\n" not in fold_columns([[*rows[0], "c" * 6]], ["t", "u", "v"], 22)
    assert "\n\n" in fold_columns([[*rows[0], "c" * 7]], ["t", "u", "v"], 22)


def test_bold_markup_takes_no_width():
    bold = [["pa", "\033[1m0.9 *\033[0m", "0.95"]]
    assert "\n\n" not in fold_columns(bold, ["learner", "R1", "R5"], 9 + 2 + 5 + 2 + 4)


def test_a_list_omits_columns_in_order_and_names_them():
    row = {"name": "pa", "needs": "n" * 20, "summary": "many words of no great weight", "origin": "o" * 20}
    assert fit_list([row], {"summary": 12}, ("origin", "needs"), 120).left_out == ()
    some = fit_list([row], {"summary": 12}, ("origin", "needs"), 45)
    assert some.left_out == ("origin",)
    assert "n" * 20 in some.text
    few = fit_list([row], {"summary": 12}, ("origin", "needs"), 30)
    assert few.left_out == ("origin", "needs")
    assert "many words" in few.text


@pytest.mark.parametrize("width", range(40, 100, 7))
def test_wrapped_columns_share_the_available_width(width):
    row = {"name": "pa", "one": "word " * 30, "other": "word " * 30}
    fitted = fit_list([row], {"one": 10, "other": 10}, (), width)
    assert width - 12 <= widest(fitted.text) <= width, "a line may end before a word of four letters"
    assert fitted.text.count("word") == 60
    rule = fitted.text.split("\n")[1].split()
    assert len(rule[1]) == len(rule[2])


def test_sentences_are_wrapped_between_words():
    command = "`harness run --learners a-long-name-with-hyphens:and(more=than, fits=here)`"
    lines = wrap_lines(["a short one", f"Try {command} now.", ""], 30)
    assert lines[0] == "a short one"
    assert " ".join(lines[1:-1]) == f"Try {command} now."
    assert lines[-1] == ""
