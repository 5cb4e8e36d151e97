"""Tables of numbers: columns are features as they are, and a cell that is no number is named."""

import pyarrow
import pyarrow.parquet
import pytest

from harness.errors import DataError
from harness_files.numbers import load_numbers as load

PLAIN = "height,width,class,colour\n1,2.5,a,3\n-4,0,b,5\n"


def test_columns_that_are_named_are_the_features_in_their_order(write):
    data = load(path=write("t.csv", PLAIN), features="width, height")
    assert data.X.toarray().tolist() == [[2.5, 1], [0, -4]]
    assert (data.y.tolist(), data.class_names) == ([0, 1], ("a", "b"))
    assert data.found == "2 rows of t.csv (CSV), label from 'class', 2 features, 2 classes"


def test_unless_told_all_columns_but_the_labels_are_features(write):
    assert load(path=write("t.csv", PLAIN)).X.toarray().tolist() == [[1, 2.5, 3], [-4, 0, 5]]


def test_parquet_is_read_alike(folder):
    table = pyarrow.table({"height": [1, -4], "width": [2.5, 0.0], "class": ["a", "b"], "colour": [3, 5]})
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    assert load(path="t.parquet").X.toarray().tolist() == [[1, 2.5, 3], [-4, 0, 5]]


def test_a_test_file_beside_is_a_split(write):
    data = load(path=write("t.csv", PLAIN), test=write("u.csv", PLAIN))
    assert [part.tolist() for part in data.splits["test"]] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("cell", ["tall", "", "nan", "inf"])
def test_a_cell_that_is_no_number_is_named(write, cell):
    with pytest.raises(DataError, match=rf"t\.csv, line 2: the column 'height' says '{cell}': expected a number"):
        load(path=write("t.csv", f"height,class\n{cell},a\n2,b\n"))


@pytest.mark.parametrize(
    ("content", "asked", "told"),
    [
        ("p,q\n1,2\n", {}, "which column holds the label\\? columns: 'p', 'q'"),
        (PLAIN, {"features": "depth"}, "no column 'depth' for features"),
        (PLAIN, {"features": "width,class"}, "the column 'class' cannot be both feature and label"),
        ("class\na\n", {}, "no column of numbers beside the label; columns: 'class'"),
        ("p,class\n1,NA\n", {}, "line 2: the label is missing"),
        ("p,class\n", {}, "holds no rows"),
    ],
)
def test_what_is_not_there_is_asked_for(write, content, asked, told):
    with pytest.raises(DataError, match=told):
        load(path=write("t.csv", content), **asked)


def test_rows_without_a_label_are_dropped_on_demand_and_counted(write):
    data = load(path=write("t.csv", "p,class\n1,a\n2,NA\n3,b\n"), missing="drop")
    assert data.X.toarray().tolist() == [[1], [3]]
    assert data.found.startswith("2 rows of t.csv (CSV), 1 without a label dropped, label from 'class', 1 features")


def test_rows_can_be_parted_by_columns_that_are_no_features(write):
    content = "height,class,shop,day,split\n1,a,x,2,train\n2,b,y,1,test\n3,a,x,3,train\n"
    data = load(path=write("t.csv", content), group="shop", time="day", split="split")
    assert data.X.toarray().tolist() == [[1], [2], [3]]
    assert (data.groups["shop"].tolist(), data.times["day"].tolist()) == ([0, 1, 0], [1, 0, 2])
    assert [part.tolist() for part in data.splits["given"]] == [[0, 2], [1]]


def test_a_column_of_lists_has_as_many_features_as_the_lists_have_numbers(folder):
    pyarrow.parquet.write_table(
        pyarrow.table({"v": [[1.0, 2.0], [0.0, -3.0]], "class": ["a", "b"]}), folder / "t.parquet"
    )
    assert load(path="t.parquet", features="v").X.toarray().tolist() == [[1, 2], [0, -3]]


def test_a_list_of_another_length_is_named(write):
    content = '{"v": [1, 2], "class": "a"}\n{"v": [1], "class": "b"}\n'
    with pytest.raises(DataError, match=r"line 2: 1 features, but t\.jsonl, line 1 has 2"):
        load(path=write("t.jsonl", content), features="v")
