"""Tables of numbers: columns become features unchanged, and errors name cells that are not numbers."""

import pyarrow
import pyarrow.parquet
import pytest

from harness.errors import DataError
from harness_files.numbers import load_numbers as load
from messages import assert_names, naming

PLAIN = "height,width,class,colour\n1,2.5,a,3\n-4,0,b,5\n"


def test_named_columns_are_the_features_in_that_order(write):
    data = load(path=write("t.csv", PLAIN), features="width, height")
    assert data.X.toarray().tolist() == [[2.5, 1], [0, -4]]
    assert (data.y.tolist(), data.class_names) == ([0, 1], ("a", "b"))
    assert data.found == "2 rows of t.csv (CSV), label from 'class', 2 features, 2 classes"


def test_by_default_all_columns_except_the_label_are_features(write):
    assert load(path=write("t.csv", PLAIN)).X.toarray().tolist() == [[1, 2.5, 3], [-4, 0, 5]]


def test_parquet_gives_the_same_features_as_csv(folder):
    table = pyarrow.table({"height": [1, -4], "width": [2.5, 0.0], "class": ["a", "b"], "colour": [3, 5]})
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    assert load(path="t.parquet").X.toarray().tolist() == [[1, 2.5, 3], [-4, 0, 5]]


def test_a_second_file_given_as_test_becomes_a_split(write):
    data = load(path=write("t.csv", PLAIN), test=write("u.csv", PLAIN))
    assert [part.tolist() for part in data.splits["test"]] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("cell", ["tall", "", "nan", "inf"])
def test_a_cell_that_is_not_a_number_raises_an_error_with_its_line_and_column(write, cell):
    with pytest.raises(DataError, match=naming("t.csv", "2", "height", f"{cell}")):
        load(path=write("t.csv", f"height,class\n{cell},a\n2,b\n"))


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("p,q\n1,2\n", {}, "which column holds the label\\? Columns: 'p', 'q'"),
        (PLAIN, {"features": "depth"}, "no column 'depth' for the features"),
        (PLAIN, {"features": "width,class"}, "the column 'class' cannot be both feature and label"),
        ("class\na\n", {}, "no column of numbers beside the label. Columns: 'class'"),
        ("p,class\n1,NA\n", {}, "line 2: the label is missing"),
        ("p,class\n", {}, "holds no rows"),
    ],
)
def test_a_missing_label_or_feature_column_raises_an_error_that_lists_the_columns(write, content, options, message):
    with pytest.raises(DataError, match=message):
        load(path=write("t.csv", content), **options)


def test_rows_without_a_label_are_dropped_and_counted_on_request(write):
    data = load(path=write("t.csv", "p,class\n1,a\n2,NA\n3,b\n"), missing="drop")
    assert data.X.toarray().tolist() == [[1], [3]]
    assert_names(data.found, "2", "t.csv", "CSV", "1", "class")


def test_group_and_time_columns_are_not_features(write):
    content = "height,class,shop,day,split\n1,a,x,2,train\n2,b,y,1,test\n3,a,x,3,train\n"
    data = load(path=write("t.csv", content), group="shop", time="day", split="split")
    assert data.X.toarray().tolist() == [[1], [2], [3]]
    assert (data.groups["shop"].tolist(), data.times["day"].tolist()) == ([0, 1, 0], [1, 0, 2])
    assert [part.tolist() for part in data.splits["given"]] == [[0, 2], [1]]


def test_a_list_column_has_one_feature_per_list_element(folder):
    pyarrow.parquet.write_table(
        pyarrow.table({"v": [[1.0, 2.0], [0.0, -3.0]], "class": ["a", "b"]}), folder / "t.parquet"
    )
    assert load(path="t.parquet", features="v").X.toarray().tolist() == [[1, 2], [0, -3]]


def test_a_list_of_another_length_raises_an_error_with_its_line(write):
    content = '{"v": [1, 2], "class": "a"}\n{"v": [1], "class": "b"}\n'
    with pytest.raises(DataError, match=naming("2", "1", "t.jsonl")):
        load(path=write("t.jsonl", content), features="v")
