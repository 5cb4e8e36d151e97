"""Tables of the user's: every format gives the same data, columns are found or asked for, bad lines are named."""

import bz2
import csv
import gzip
import io
import json
import lzma

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse

from counted import counts_of
from harness.errors import DataError
from harness_files.table import load_table as load

PLAIN = "text,label\nhello world,a\nbye world world,b\nfoo,a\n"


def content(data):
    y = data.y.toarray() if hasattr(data.y, "toarray") else data.y
    return counts_of(data).toarray().tolist(), y.tolist(), data.class_names


def parquet(columns):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue()


# -- formats ---------------------------------------------------------------------------------------------------------


def test_a_column_of_text_and_one_of_labels_make_a_data_set(write):
    data = load(path=write("titles.csv", PLAIN))
    # columns: bye, foo, hello, world
    assert content(data) == ([[0, 0, 1, 1], [1, 0, 0, 2], [0, 1, 0, 0]], [0, 1, 0], ("a", "b"))
    assert data.found == "3 rows of titles.csv (CSV), text from 'text', label from 'label', 2 classes"


ROWS = [{"text": "hello world", "label": "a"}, {"text": "bye world world", "label": "b"}, {"text": "foo", "label": "a"}]
SAME = {
    "t.tsv": PLAIN.replace(",", "\t"),
    "semicolons.csv": PLAIN.replace(",", ";"),
    "quoted.csv": 'label,text\na,"hello\r\nworld"\nb,"bye world, world"\na,"foo"""\n',
    "bom.csv": "\ufeff" + PLAIN,
    "crlf.csv": PLAIN.replace("\n", "\r\n"),
    "no_last_end.csv": PLAIN.rstrip("\n"),
    "blank_lines.csv": "\n\n" + PLAIN.replace("\n", "\n\n"),
    "utf16.csv": PLAIN.encode("utf-16"),
    "t.jsonl": "\n".join(map(json.dumps, ROWS)),
    "t.parquet": parquet({name: [row[name] for row in ROWS] for name in ("text", "label")}),
    "t.csv.gz": gzip.compress(PLAIN.encode()),
    "t.csv.bz2": bz2.compress(PLAIN.encode()),
    "t.csv.xz": lzma.compress(PLAIN.encode()),
    "t.csv.zst": zstandard.compress(PLAIN.encode()),
}


@pytest.mark.parametrize("name", SAME)
def test_every_way_of_writing_a_table_gives_the_same_data(write, name):
    assert content(load(path=write(name, SAME[name]))) == content(load(path=write("plain.csv", PLAIN)))


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(st.tuples(cells, st.sampled_from("ab\u00e9")), min_size=1, max_size=6))
def test_whatever_csv_writes_comes_back(write, rows):
    sink = io.StringIO(newline="")
    csv.writer(sink).writerows([("text", "label"), *rows])
    data = load(path=write("any.csv", sink.getvalue()))
    reference = load(path=write("any.jsonl", "\n".join(json.dumps({"text": t, "label": y}) for t, y in rows)))
    assert content(data) == content(reference)


def test_words_are_letters_digits_and_vowel_signs_of_any_script(write):
    texts = ["Café_42 Größe", "नमस्ते दुनिया", "cafe\u0301s"]
    data = load(path=write("t.csv", "text,label\n" + "".join(f"{text},c{i}\n" for i, text in enumerate(texts))))
    assert np.diff(counts_of(data).indptr).tolist() == [3, 2, 1]


def test_words_of_few_texts_are_left_out_on_demand(write):
    assert counts_of(load(path=write("t.csv", PLAIN), min_df=2)).toarray().tolist() == [[1], [2], [0]]


# -- columns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("Title,Category,n", "text from 'Title', label from 'Category'"),
        ("text,title,class", "text from 'text', label from 'class'"),
        ("foo,label", "text from 'foo', label from 'label'"),
        ("description,foo", "text from 'description', label from 'foo'"),
        ("id,intent,utterance", "text from 'utterance', label from 'intent'"),
        ("id,Job Title,SOC Code", "text from 'Job Title', label from 'SOC Code'"),
        ("n,jobTitle,class-label", "text from 'jobTitle', label from 'class-label'"),
        ("file name,Text,Job Title,label", "text from 'Text', label from 'label'"),
    ],
)
def test_columns_with_plain_names_are_found_and_said(write, header, told):
    rows = "".join(f"\n{','.join(f'{name}{row}' for name in header.split(','))}" for row in range(2))
    assert told in load(path=write("t.csv", header + rows)).found


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("foo,bar\nx,a\ny,b\n", "--set \"t.text='COLUMN'\" --set \"t.label='COLUMN'\""),
        ("title,body,label\nx,a,1\ny,b,2\n", "which column holds the text? columns: 'title', 'body', 'label'"),
        ("text,tag,topic\nx,a,1\ny,b,2\n", "which column holds the label? columns: 'text', 'tag', 'topic'"),
        ("file name,size,label\nx,a,1\ny,b,2\n", "which column holds the text?"),
        ("film title,book title,label\nx,a,1\ny,b,2\n", "which column holds the text?"),
        ("x,a\ny,b\n", "header=false if the first line holds no names"),
        ("text\nx\n", "has a single column, 'text': expected text and label; --set \"t.delimiter=';'\""),
    ],
)
def test_columns_that_are_not_plain_are_asked_for(write, text, asked):
    with pytest.raises(DataError) as caught:
        load(path=write("t.csv", text))
    assert asked in str(caught.value)


def test_columns_can_be_told_by_name_number_and_several_at_once(write):
    path = write("t.csv", "one,two,three+four\nx,a,p\ny,b,q\n")
    assert "text from 'one' and 'two', label from" in load(path=path, text="one+two", label="three+four").found
    assert content(load(path=path, text="three+four", label="two"))[0] == [[1, 0], [0, 1]]
    assert content(load(path=path, text=1, label=2, header=True))[0] == [[1, 0], [0, 1]]


def test_tens_of_thousands_of_columns_are_no_trouble(write):
    names = [f"c{number}" for number in range(60_000)]
    rows = [["a b"] * len(names), ["c"] * len(names)]
    rows[1][-1] = "other"
    path = write("wide.csv", "\n".join(",".join(row) for row in [names, *rows]))
    assert content(load(path=path, text="c0", label="c59999")) == ([[1, 1, 0], [0, 0, 1]], [0, 1], ("a b", "other"))
    with pytest.raises(DataError, match=r"which column holds the text.*'c0', 'c1'.*\.\.\."):
        load(path=path)


def test_a_file_without_names_is_read_by_numbers(write):
    data = load(path=write("t.csv", "a,hello\nb,bye\n"), text=2, label=1, header=False)
    assert content(data) == ([[0, 1], [1, 0]], [0, 1], ("a", "b"))


# -- labels ----------------------------------------------------------------------------------------------------------


def test_classes_that_are_whole_numbers_stand_in_their_order(write):
    assert load(path=write("t.csv", "text,label\na,10\nb,9\nc,-1\n")).class_names == ("-1", "9", "10")


def test_several_labels_are_parted_by_a_mark(write):
    data = load(path=write("t.csv", "text,labels\nx,a|b\ny, b |b\nz,\n"), separator="|")
    assert data.y.toarray().tolist() == [[1, 1], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("labels", "names", "y"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        ([10, 9, 10], ("9", "10"), [1, 0, 1]),
        (["10", 9, "x"], ("10", "9", "x"), [0, 1, 2]),
        ([True, False, True], ("False", "True"), [1, 0, 1]),
        ([["b"], ["a"], ["b"]], ("a", "b"), [1, 0, 1]),
        ([[10], 9, [10, 9]], ("9", "10"), [[0, 1], [1, 0], [1, 1]]),
        ([["a", "b"], [], ["b"]], ("a", "b"), [[1, 1], [0, 0], [0, 1]]),
    ],
)
def test_a_label_in_json_is_a_text_a_number_or_a_list_of_them(write, labels, names, y):
    rows = [{"text": f"word{i}\nand more", "label": label} for i, label in enumerate(labels)]
    data = load(path=write("t.jsonl", "\n".join(map(json.dumps, rows))))
    assert data.class_names == names
    found = data.y.toarray() if issparse(data.y) else data.y
    assert found.tolist() == y
    assert counts_of(data).sum(axis=1).tolist() == [3, 3, 3]


def test_a_label_in_json_that_is_null_is_missing(write):
    rows = write("t.jsonl", '{"text": "x", "label": "a"}\n{"text": "y", "label": null}\n')
    with pytest.raises(DataError, match=r"t\.jsonl, line 2: the label is missing"):
        load(path=rows)


def test_lists_of_labels_are_several_labels(write):
    rows = [{"text": "x", "label": ["a", "b"]}, {"text": "y", "label": ["b"]}]
    by_json = load(path=write("t.jsonl", "\n".join(map(json.dumps, rows))))
    by_parquet = load(path=write("t.parquet", parquet({n: [row[n] for row in rows] for n in ("text", "label")})))
    assert content(by_json) == content(by_parquet)
    assert by_json.y.toarray().tolist() == [[1, 1], [0, 1]]


def test_labels_that_are_paths_make_a_tree(write):
    data = load(path=write("t.csv", "text,label\nx,A/B/c\ny,A/d\nz,E/f\n"))
    names = data.taxonomy.node_names
    ways = [names[data.taxonomy.parent[node]] for node in data.taxonomy.class_node]
    assert ways == ["A/B", "A", "E"]
    assert data.taxonomy.depth == 3
    assert "3 classes in a tree of depth 3" in data.found


def test_a_label_without_a_slash_means_no_tree_unless_told(write):
    path = write("t.csv", "text,label\nx,A/B\ny,C\n")
    assert load(path=path).taxonomy is None
    assert load(path=path, levels="/").taxonomy.depth == 2
    assert load(path=write("u.csv", "text,label\nx,A/B\ny,C/d\n"), levels="").taxonomy is None


def test_a_stray_label_among_paths_is_named_as_the_reason_for_no_tree(write):
    path = write("t.csv", "text,label\nx,A/B\ny,mixed\nz,A/c\nw,other\n")
    assert load(path=path).found.endswith(f"4 classes in no tree ('mixed' is no path, {path}, line 3)")
    assert "tree" not in load(path=path, levels="").found
    assert "tree" not in load(path=write("u.csv", "text,label\nx,I/O\ny,C\nz,D\n")).found


# -- columns that part rows -------------------------------------------------------------------------------------------


def test_columns_of_groups_and_times_are_numbered_by_their_values(write):
    rows = "x,a,ann,2024-03-01\ny,b,bob,2023-12-31\nz,a,ann,2024-01-01T10:00:00\n"
    path = write("t.csv", f"text,label,who,when\n{rows}")
    data = load(path=path, group="who+label", time="when")
    assert {name: codes.tolist() for name, codes in data.groups.items()} == {"who": [0, 1, 0], "label": [0, 1, 0]}
    assert data.times["when"].tolist() == [2, 0, 1]
    assert load(path=path).groups == {}


def test_times_may_be_numbers_which_are_ordered_by_value(write):
    data = load(path=write("t.csv", "text,label,year\nx,a,900\ny,b,1000\nz,b,900.0\n"), time="year")
    assert data.times["year"].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("when", "told"),
    [("31/12/2023", "'when' says '31/12/2023': expected a time"), ("", "line 3: the column 'when', .* has no value")],
)
def test_times_that_cannot_be_ordered_are_refused(write, when, told):
    with pytest.raises(DataError, match=told):
        load(path=write("t.csv", f"text,label,when\nx,a,2024-01-01\ny,b,{when}\n"), time="when")


# -- splits ----------------------------------------------------------------------------------------------------------


def test_a_column_of_parts_is_a_split_and_validation_rows_train(write):
    data = load(path=write("t.csv", "text,label,split\nx,a,Train\ny,b,test\nz,b,dev\n"))
    train, test = data.splits["given"]
    assert (train.tolist(), test.tolist()) == ([0, 2], [1])
    assert data.found.endswith("; --split given trains on 2 rows, tests on 1")


def test_a_test_file_beside_is_a_split_with_the_same_columns_and_classes(write):
    path, test = write("t.csv", PLAIN), write("u.csv", "text,label\nworld new,c\n")
    data = load(path=path, test=test)
    assert data.class_names == ("a", "b", "c")
    assert counts_of(data).shape == (4, 5)
    assert [part.tolist() for part in data.splits["test"]] == [[0, 1, 2], [3]]


def test_a_folder_with_a_train_and_a_test_file_is_read_whole(write):
    write("both/train.csv", PLAIN)
    write("both/test.csv.gz", gzip.compress(b"text,label\nworld new,c\n"))
    assert [len(part) for part in load(path="both").splits["test"]] == [3, 1]


# -- what is wrong with a file ---------------------------------------------------------------------------------------

BAD = [
    (b"text,label\nx,a\ncaf\xe9,b\n", {}, "t.csv, line 3: byte 4 (0xe9) is not utf-8: set the encoding"),
    ("text,label\nx,a\n\ny\n", {}, "t.csv, line 4: 1 columns, expected 2 as in the first line (separated by ',')"),
    ('text,label\n"two\nlines",a\nx,a,b\n', {}, "t.csv, line 4: 3 columns, expected 2"),
    ('text,label\nx,a\n"y,b\n', {}, "t.csv, line 3: unexpected end of data"),
    ('text,label\n"x"y,a\n', {}, "t.csv, line 2: ',' expected after '\"'"),
    (
        "text,label\nx,a\ny, \n",
        {},
        "t.csv, line 3: the label is missing: fill it in, or leave such rows out with --set",
    ),
    ("", {}, "t.csv is empty"),
    ("\n \n", {}, "t.csv is empty"),
    ("text,label\n", {}, "t.csv holds no rows"),
    ("text,label,text\nx,a,y\n", {}, "two columns are called 'text'"),
    (PLAIN, {"label": "lable"}, "t.csv: there is no column 'lable' for label; columns: 'text', 'label'"),
    (PLAIN, {"text": "label"}, "the column 'label' cannot be both text and label"),
    (PLAIN, {"encoding": "utf-99"}, "there is no encoding 'utf-99'"),
    (PLAIN, {"delimiter": "::"}, "delimiter='::' is no single character"),
    (PLAIN, {"missing": "keep"}, "missing='keep' is unknown"),
    (PLAIN, {"test": "nowhere.csv"}, "nowhere.csv: there is no such file or folder"),
    ("x,a\ny,b\n", {"text": 1, "label": 2}, "does the first line, 'x,a', hold names? Say header=true or header=false"),
    ("id,text,label\n7,x,a\n8,y,b\n7,z,b\n", {"id": "id"}, "t.csv, lines 2 and 4 have the same id"),
    ("text,label,split\nx,a,later\n", {}, "t.csv, line 2: the split column says 'later', expected one of train"),
    ("text,label,split\nx,a,test\ny,b,test\n", {}, "the split column says 'test' in every row"),
    ("text,label\nx,A//B\ny,C/d\n", {"levels": "/"}, "t.csv, line 2: the label 'A//B' is no path"),
    ('{"text": "x", "label": "a"}\n{"text": \n', {}, "t.csv, line 2: not JSON: Expecting value: expected an object"),
    ('{"text": "x", "label": "a"}\n[1]\n', {}, "t.csv, line 2: expected an object, found list"),
    ('{"text": "x", "label": "a"}\n{"text": "y"}\n', {}, "t.csv, line 2: the label is missing"),
    ('[{"text": "x"}]', {}, "is one JSON list: expected JSON lines"),
    (b"PAR1 it begins", {}, "begins with 'PAR1 it begins' (Parquet begins with 'PAR1'): rename it to .parquet"),
    (gzip.compress(PLAIN.encode())[:-9], {}, "t.csv cannot be read (EOFError"),
]


@pytest.mark.parametrize(("text", "options", "trouble"), BAD, ids=[trouble[:40] for _, _, trouble in BAD])
def test_a_bad_file_is_named_with_the_line_and_what_to_do(write, text, options, trouble):
    with pytest.raises(DataError) as caught:
        load(path=write("t.csv", text), **options)
    assert trouble in str(caught.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.PQ", "t.parquet.gz"])
@pytest.mark.parametrize("text", [PLAIN, json.dumps(ROWS[0]), "version https://git-lfs"])
def test_what_is_named_parquet_and_is_none_is_refused_with_how_it_begins(write, name, text):
    path = write(name, gzip.compress(text.encode()) if name.endswith("gz") else text)
    ending = ".pq" if name == "t.PQ" else ".parquet"
    with pytest.raises(DataError) as caught:
        load(path=path)
    assert f"is named {ending}, but begins with {text[:20]!r}" in str(caught.value)
    assert str(caught.value).endswith("rename it to .csv, .tsv or what it is, or get it again")


def test_a_name_that_tells_nothing_leaves_it_to_the_content(write):
    columns = {name: [row[name] for row in ROWS] for name in ("text", "label")}
    assert content(load(path=write("t.dat", parquet(columns)))) == content(load(path=write("t.txt", PLAIN)))


def test_damaged_parquet_is_named(write):
    with pytest.raises(DataError, match=r"t\.parquet cannot be read as Parquet"):
        load(path=write("t.parquet", b"PAR1 is how it begins"))


def test_latin_1_is_read_when_told(write):
    path = write("t.csv", "text,label\ncafé,a\nx,b\n".encode("latin-1"))
    assert counts_of(load(path=path, encoding="latin-1")).shape == (2, 2)


def test_rows_without_a_label_are_dropped_on_demand_and_counted(write):
    data = load(path=write("t.csv", "text,label\nx,a\ny,\nz,b\n"), missing="drop")
    assert content(data) == ([[1, 0], [0, 1]], [0, 1], ("a", "b"))
    assert "2 rows of t.csv (CSV), 1 without a label dropped" in data.found


@pytest.mark.parametrize("mark", ["", " ", "NA", "N/A", "nan", "NaN", "NULL", "null", "<NA>"])
def test_marks_of_missing_values_are_never_classes(write, mark):
    path = write("t.csv", f"text,label\nx,a\ny,{mark}\nz,b\nw,{mark}\n")
    with pytest.raises(DataError, match=r"t\.csv, lines 3, 5 \(2 rows\): the label is missing: .* --set \"t.missing="):
        load(path=path)
    data = load(path=path, missing="drop")
    assert data.class_names == ("a", "b")
    assert "2 rows of t.csv (CSV), 2 without a label dropped" in data.found


def test_of_many_rows_without_a_label_the_first_are_named(write):
    with pytest.raises(DataError, match=r"lines 2, 3, 4, 5, 6, \.\.\. \(9 rows\)"):
        load(path=write("t.csv", "text,label\n" + "x,NA\n" * 9))


def test_words_that_only_look_like_missing_values_are_classes(write):
    assert load(path=write("t.csv", "text,label\nx,none\ny,nano\n")).class_names == ("nano", "none")


def test_a_missing_value_among_several_labels_is_none_of_them(write):
    data = load(path=write("t.csv", "text,label\nx,a|NA\ny,b|a\nz,NULL\n"), separator="|")
    assert data.y.toarray().tolist() == [[1, 0], [1, 1], [0, 0]]


def test_long_cells_and_many_rows_are_read(write):
    words = " ".join(f"w{i}" for i in range(60_000))
    rows = "".join(f"w{i % 7} w{i % 11},c{i % 3}\n" for i in range(5000))
    data = load(path=write("t.csv", f"text,label\n{words},a\n{rows}"))
    assert counts_of(data).shape == (5001, 60_000)
    assert np.diff(counts_of(data).indptr)[0] == 60_000
