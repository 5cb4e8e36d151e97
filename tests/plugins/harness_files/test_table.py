"""Text tables: every format gives the same data, columns are detected or requested, bad lines are named."""

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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse

from compressed import zstd_compress
from harness.errors import DataError
from harness_files.table import load_table as load
from messages import assert_names, naming
from word_counts import counts_of

PLAIN = "text,label\nhello world,a\nbye world world,b\nfoo,a\n"


def content(data):
    y = data.y.toarray() if hasattr(data.y, "toarray") else data.y
    return counts_of(data).toarray().tolist(), y.tolist(), data.class_names


def parquet(columns):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue()


# -- formats ---------------------------------------------------------------------------------------------------------


def test_a_text_column_and_a_label_column_make_a_dataset(write):
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
    "t.csv.zst": zstd_compress(PLAIN.encode()),
}


@pytest.mark.parametrize("name", SAME)
def test_every_file_format_gives_the_same_data(write, name):
    assert content(load(path=write(name, SAME[name]))) == content(load(path=write("plain.csv", PLAIN)))


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(st.tuples(cells, st.sampled_from("ab\u00e9")), min_size=1, max_size=6))
def test_any_cell_written_by_the_csv_module_is_read_back(write, rows):
    sink = io.StringIO(newline="")
    csv.writer(sink).writerows([("text", "label"), *rows])
    data = load(path=write("any.csv", sink.getvalue()))
    reference = load(path=write("any.jsonl", "\n".join(json.dumps({"text": t, "label": y}) for t, y in rows)))
    assert content(data) == content(reference)


def test_words_are_letters_digits_and_vowel_signs_of_any_script(write):
    texts = ["Café_42 Größe", "नमस्ते दुनिया", "cafe\u0301s"]
    data = load(path=write("t.csv", "text,label\n" + "".join(f"{text},c{i}\n" for i, text in enumerate(texts))))
    assert np.diff(counts_of(data).indptr).tolist() == [3, 2, 1]


def test_words_below_min_df_are_dropped(write):
    assert counts_of(load(path=write("t.csv", PLAIN), min_df=2)).toarray().tolist() == [[1], [2], [0]]


# -- columns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "message"),
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
def test_columns_with_common_names_are_detected_and_reported(write, header, message):
    rows = "".join(f"\n{','.join(f'{name}{row}' for name in header.split(','))}" for row in range(2))
    assert message in load(path=write("t.csv", header + rows)).found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("foo,bar\nx,a\ny,b\n", "--set \"t.text='COLUMN'\" --set \"t.label='COLUMN'\""),
        ("title,body,label\nx,a,1\ny,b,2\n", "which column holds the text? Columns: 'title', 'body', 'label'"),
        ("text,tag,topic\nx,a,1\ny,b,2\n", "which column holds the label? Columns: 'text', 'tag', 'topic'"),
        ("file name,size,label\nx,a,1\ny,b,2\n", "which column holds the text?"),
        ("film title,book title,label\nx,a,1\ny,b,2\n", "which column holds the text?"),
        ("x,a\ny,b\n", "header=false if the first line holds no names"),
        (
            "text\nx\n",
            "has a single column, 'text', expected text and label. Set the mark between columns with --set",
        ),
    ],
)
def test_columns_with_other_names_raise_an_error_that_asks_for_them(write, text, wanted):
    with pytest.raises(DataError) as caught:
        load(path=write("t.csv", text))
    assert wanted in str(caught.value)


def test_columns_are_chosen_by_name_number_or_several_at_once(write):
    path = write("t.csv", "one,two,three+four\nx,a,p\ny,b,q\n")
    assert_names(load(path=path, text="one+two", label="three+four").found, "one", "two")
    assert content(load(path=path, text="three+four", label="two"))[0] == [[1, 0], [0, 1]]
    assert content(load(path=path, text=1, label=2, header=True))[0] == [[1, 0], [0, 1]]


def test_tables_with_tens_of_thousands_of_columns_are_read(write):
    names = [f"c{number}" for number in range(60_000)]
    rows = [["a b"] * len(names), ["c"] * len(names)]
    rows[1][-1] = "other"
    path = write("wide.csv", "\n".join(",".join(row) for row in [names, *rows]))
    assert content(load(path=path, text="c0", label="c59999")) == ([[1, 1, 0], [0, 0, 1]], [0, 1], ("a b", "other"))
    with pytest.raises(DataError, match=naming("c0", "c1")):
        load(path=path)


def test_a_file_without_a_header_is_read_by_column_number(write):
    data = load(path=write("t.csv", "a,hello\nb,bye\n"), text=2, label=1, header=False)
    assert content(data) == ([[0, 1], [1, 0]], [0, 1], ("a", "b"))


# -- labels ----------------------------------------------------------------------------------------------------------


def test_integer_classes_are_in_numeric_order(write):
    assert load(path=write("t.csv", "text,label\na,10\nb,9\nc,-1\n")).class_names == ("-1", "9", "10")


def test_several_labels_are_split_at_the_separator(write):
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
def test_a_json_label_is_a_text_a_number_or_a_list(write, labels, names, y):
    rows = [{"text": f"word{i}\nand more", "label": label} for i, label in enumerate(labels)]
    data = load(path=write("t.jsonl", "\n".join(map(json.dumps, rows))))
    assert data.class_names == names
    found = data.y.toarray() if issparse(data.y) else data.y
    assert found.tolist() == y
    assert counts_of(data).sum(axis=1).tolist() == [3, 3, 3]


def test_a_json_null_label_is_missing(write):
    rows = write("t.jsonl", '{"text": "x", "label": "a"}\n{"text": "y", "label": null}\n')
    with pytest.raises(DataError, match=naming("t.jsonl", "2")):
        load(path=rows)


def test_a_list_of_labels_gives_several_labels(write):
    rows = [{"text": "x", "label": ["a", "b"]}, {"text": "y", "label": ["b"]}]
    by_json = load(path=write("t.jsonl", "\n".join(map(json.dumps, rows))))
    by_parquet = load(path=write("t.parquet", parquet({n: [row[n] for row in rows] for n in ("text", "label")})))
    assert content(by_json) == content(by_parquet)
    assert by_json.y.toarray().tolist() == [[1, 1], [0, 1]]


def test_labels_with_slashes_become_a_taxonomy(write):
    data = load(path=write("t.csv", "text,label\nx,A/B/c\ny,A/d\nz,E/f\n"))
    names = data.taxonomy.node_names
    ways = [names[data.taxonomy.parent[node]] for node in data.taxonomy.class_node]
    assert ways == ["A/B", "A", "E"]
    assert data.taxonomy.depth == 3
    assert_names(data.found, "3", "classes", "tree")


def test_a_label_without_a_slash_disables_the_taxonomy_unless_requested(write):
    path = write("t.csv", "text,label\nx,A/B\ny,C\n")
    assert load(path=path).taxonomy is None
    assert load(path=path, levels="/").taxonomy.depth == 2
    assert load(path=write("u.csv", "text,label\nx,A/B\ny,C/d\n"), levels="").taxonomy is None


def test_the_label_that_prevents_a_taxonomy_is_named(write):
    path = write("t.csv", "text,label\nx,A/B\ny,mixed\nz,A/c\nw,other\n")
    assert_names(load(path=path).found, "4", "mixed", f"{path}", "3")
    assert "tree" not in load(path=path, levels="").found
    assert "tree" not in load(path=write("u.csv", "text,label\nx,I/O\ny,C\nz,D\n")).found


# -- columns that part rows -------------------------------------------------------------------------------------------


def test_group_and_time_columns_are_numbered_by_value(write):
    rows = "x,a,ann,2024-03-01\ny,b,bob,2023-12-31\nz,a,ann,2024-01-01T10:00:00\n"
    path = write("t.csv", f"text,label,who,when\n{rows}")
    data = load(path=path, group="who+label", time="when")
    assert {name: codes.tolist() for name, codes in data.groups.items()} == {"who": [0, 1, 0], "label": [0, 1, 0]}
    assert data.times["when"].tolist() == [2, 0, 1]
    assert load(path=path).groups == {}


def test_numeric_times_are_ordered_by_value(write):
    data = load(path=write("t.csv", "text,label,year\nx,a,900\ny,b,1000\nz,b,900.0\n"), time="year")
    assert data.times["year"].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("when", "message"),
    [("31/12/2023", "'when' has '31/12/2023': expected a time"), ("", "line 3: the column 'when', .* has no value")],
)
def test_times_without_an_order_raise_an_error(write, when, message):
    with pytest.raises(DataError, match=message):
        load(path=write("t.csv", f"text,label,when\nx,a,2024-01-01\ny,b,{when}\n"), time="when")


# -- splits ----------------------------------------------------------------------------------------------------------


def test_a_part_column_gives_a_split_and_validation_rows_are_training_rows(write):
    data = load(path=write("t.csv", "text,label,split\nx,a,Train\ny,b,test\nz,b,dev\n"))
    train, test = data.splits["given"]
    assert (train.tolist(), test.tolist()) == ([0, 2], [1])
    assert_names(data.found, "--split", "2", "1")


def test_a_separate_test_file_gives_a_split_with_shared_columns_and_classes(write):
    path, test = write("t.csv", PLAIN), write("u.csv", "text,label\nworld new,c\n")
    data = load(path=path, test=test)
    assert data.class_names == ("a", "b", "c")
    assert counts_of(data).shape == (4, 5)
    assert [part.tolist() for part in data.splits["test"]] == [[0, 1, 2], [3]]


def test_a_folder_with_train_and_test_files_is_read_as_one_dataset(write):
    write("both/train.csv", PLAIN)
    write("both/test.csv.gz", gzip.compress(b"text,label\nworld new,c\n"))
    assert [len(part) for part in load(path="both").splits["test"]] == [3, 1]


# -- what is wrong with a file ---------------------------------------------------------------------------------------

BAD = [
    (b"text,label\nx,a\ncaf\xe9,b\n", {}, "t.csv, line 3: byte 4 (0xe9) is not utf-8. Set the encoding"),
    ("text,label\nx,a\n\ny\n", {}, "t.csv, line 4: 1 columns, expected 2 as in the first line (separated by ',')"),
    ('text,label\n"two\nlines",a\nx,a,b\n', {}, "t.csv, line 4: 3 columns, expected 2"),
    ('text,label\nx,a\n"y,b\n', {}, "t.csv, line 3: a quote is opened and never closed"),
    ('text,label\n"x"y,a\n', {}, "t.csv, line 2: ',' expected after '\"'"),
    (
        "text,label\nx,a\ny, \n",
        {},
        "t.csv, line 3: the label is missing: fill it in, or leave such rows out with --set",
    ),
    ("", {}, "t.csv: is empty"),
    ("\n \n", {}, "t.csv: is empty"),
    ("text,label\n", {}, "t.csv holds no rows"),
    ("text,label,text\nx,a,y\n", {}, "two columns are called 'text'"),
    (
        PLAIN,
        {"label": "lable"},
        "t.csv: no column 'lable' for the label. Columns: 'text', 'label'. Did you",
    ),
    (PLAIN, {"text": "label"}, "the column 'label' cannot be both text and label"),
    (PLAIN, {"encoding": "utf-99"}, "unknown encoding 'utf-99'"),
    (PLAIN, {"delimiter": "::"}, "delimiter='::' is not a single character"),
    (PLAIN, {"missing": "keep"}, "missing='keep' is unknown"),
    (PLAIN, {"test": "nowhere.csv"}, "nowhere.csv: there is no such file or folder"),
    (
        "x,a\ny,b\n",
        {"text": 1, "label": 2},
        "the first line, 'x,a', may hold names or data. Set header=true or header=false",
    ),
    ("id,text,label\n7,x,a\n8,y,b\n7,z,b\n", {"id": "id"}, "t.csv, lines 2 and 4 have the same id"),
    ("text,label,split\nx,a,later\n", {}, "t.csv, line 2: the split column has 'later', expected one of train"),
    ("text,label,split\nx,a,test\ny,b,test\n", {}, "the split column has 'test' in every row"),
    ("text,label\nx,A//B\ny,C/d\n", {"levels": "/"}, "t.csv, line 2: the label 'A//B' is not a path"),
    ('{"text": "x", "label": "a"}\n{"text": \n', {}, "t.csv, line 2: not JSON: Expecting value. Expected an object"),
    ('{"text": "x", "label": "a"}\n[1]\n', {}, "t.csv, line 2: found list. Expected an object"),
    ('{"text": "x", "label": "a"}\n{"text": "y"}\n', {}, "t.csv, line 2: the label is missing"),
    ('[{"text": "x"}]', {}, "is one JSON list, expected JSON lines"),
    (b"PAR1 it begins", {}, "begins with 'PAR1 it begins' (Parquet begins with 'PAR1'). Rename it to .parquet"),
    (gzip.compress(PLAIN.encode())[:-9], {}, "t.csv: cannot be read (EOFError"),
]


@pytest.mark.parametrize(("text", "options", "trouble"), BAD, ids=[trouble[:40] for _, _, trouble in BAD])
def test_a_malformed_file_raises_an_error_with_the_line_and_the_next_step(write, text, options, trouble):
    with pytest.raises(DataError) as caught:
        load(path=write("t.csv", text), **options)
    assert trouble in str(caught.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.PQ", "t.parquet.gz"])
@pytest.mark.parametrize("text", [PLAIN, json.dumps(ROWS[0]), "version https://git-lfs"])
def test_a_parquet_name_with_other_content_raises_an_error_that_quotes_the_first_bytes(write, name, text):
    path = write(name, gzip.compress(text.encode()) if name.endswith("gz") else text)
    ending = ".pq" if name == "t.PQ" else ".parquet"
    with pytest.raises(DataError) as caught:
        load(path=path)
    assert_names(str(caught.value), f"{ending}", f"{text[:20]!r}")
    assert_names(str(caught.value), "Rename")


def test_an_unknown_extension_is_read_by_its_content(write):
    columns = {name: [row[name] for row in ROWS] for name in ("text", "label")}
    assert content(load(path=write("t.dat", parquet(columns)))) == content(load(path=write("t.txt", PLAIN)))


def test_a_damaged_parquet_file_raises_an_error_that_names_it(write):
    with pytest.raises(DataError, match=naming("t.parquet")):
        load(path=write("t.parquet", b"PAR1 is how it begins"))


def test_latin_1_is_read_when_requested(write):
    path = write("t.csv", "text,label\ncafé,a\nx,b\n".encode("latin-1"))
    assert counts_of(load(path=path, encoding="latin-1")).shape == (2, 2)


def test_rows_without_a_label_are_dropped_and_counted_on_request(write):
    data = load(path=write("t.csv", "text,label\nx,a\ny,\nz,b\n"), missing="drop")
    assert content(data) == ([[1, 0], [0, 1]], [0, 1], ("a", "b"))
    assert_names(data.found, "2", "t.csv", "CSV", "1")


@pytest.mark.parametrize("mark", ["", " ", "NA", "N/A", "nan", "NaN", "NULL", "null", "<NA>"])
def test_missing_value_markers_are_never_classes(write, mark):
    path = write("t.csv", f"text,label\nx,a\ny,{mark}\nz,b\nw,{mark}\n")
    with pytest.raises(DataError, match=naming("t.csv", "3", "5", "2", "--set", '"t.missing=')):
        load(path=path)
    data = load(path=path, missing="drop")
    assert data.class_names == ("a", "b")
    assert_names(data.found, "2", "t.csv", "CSV")


def test_the_first_of_many_rows_without_a_label_are_named(write):
    with pytest.raises(DataError, match=r"lines 2, 3, 4, 5, 6, \.\.\. \(9 rows\)"):
        load(path=write("t.csv", "text,label\n" + "x,NA\n" * 9))


def test_words_similar_to_missing_value_markers_are_classes(write):
    assert load(path=write("t.csv", "text,label\nx,none\ny,nano\n")).class_names == ("nano", "none")


def test_a_missing_value_in_a_list_of_labels_is_ignored(write):
    data = load(path=write("t.csv", "text,label\nx,a|NA\ny,b|a\nz,NULL\n"), separator="|")
    assert data.y.toarray().tolist() == [[1, 0], [1, 1], [0, 0]]


def test_long_cells_and_many_rows_are_read(write):
    words = " ".join(f"w{i}" for i in range(60_000))
    rows = "".join(f"w{i % 7} w{i % 11},c{i % 3}\n" for i in range(5000))
    data = load(path=write("t.csv", f"text,label\n{words},a\n{rows}"))
    assert counts_of(data).shape == (5001, 60_000)
    assert np.diff(counts_of(data).indptr)[0] == 60_000
