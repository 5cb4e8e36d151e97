"""Sparse rows in text: equal to a line-by-line reference; malformed input is reported with file and line."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from harness.errors import DataError
from internals import drop_unused_columns, patch_internal, read_svmlight, read_xmc

labels = st.lists(st.sampled_from(["1", "-1", "a", "B.2", "é"]), max_size=3)
pairs = st.lists(st.tuples(st.integers(0, 40), st.floats(-100, 100, width=32)), max_size=6)
rows = st.lists(st.tuples(labels, pairs), max_size=12)


def read(text, reader=read_svmlight, name="mine.svm"):
    return reader(io.BytesIO(text.encode() if isinstance(text, str) else text), name=name)


def reference(lines):
    """Parse row by row, dense and in float64; repeated ids are summed."""
    width = max((number for _, row in lines for number, _ in row), default=-1) + 1
    dense = np.zeros((len(lines), width))
    for row, (_, found) in enumerate(lines):
        for number, value in found:
            dense[row, number] += value
    return dense


@given(rows, st.sampled_from([" ", "  ", "\t"]), st.sampled_from(["\n", "\r\n", " \n"]))
def test_rows_round_trip(lines, gap, end):
    filled = [row for row in lines if row[0] or row[1]]  # a blank line is not a row
    text = "".join(
        gap.join([",".join(found), *(f"{number}:{value!r}" for number, value in row)]) + end for found, row in filled
    )
    found = read(text)
    assert found.labels == tuple(tuple(names) for names, _ in filled)
    np.testing.assert_allclose(found.X.toarray(), reference(filled), rtol=1e-5, atol=1e-4)
    assert found.X.dtype == np.float32
    assert found.X.has_canonical_format
    assert (found.X.data != 0).all()


def test_files_written_by_scikit_learn_are_read_alike(tmp_path):
    X = csr_array(np.random.default_rng(0).integers(0, 3, size=(50, 30)).astype(np.float32))
    y = np.arange(50) % 7
    dump_svmlight_file(X, y, str(tmp_path / "file.svm"), comment="made by a test", query_id=y)
    with open(tmp_path / "file.svm", "rb") as stream:
        found = read_svmlight(stream, name="file.svm")
    assert (found.X != X).nnz == 0
    assert [int(row[0]) for row in found.labels] == y.tolist()


def test_chunk_size_does_not_change_the_rows(monkeypatch):
    text = "".join(f"{i % 3} {i % 5}:1 7:{i}\n# {i}\n" for i in range(200))
    full = read(text)
    patch_internal(monkeypatch, "CHUNK_BYTES", 50)
    pieces = read(text)
    assert full.labels == pieces.labels
    assert (full.X != pieces.X).nnz == 0


def test_comments_query_ids_blank_lines_and_a_byte_order_mark_are_ignored():
    found = read(b"\xef\xbb\xbf# heading\n\n1 qid:3 2:0.5 # why\n   \n2\tqid:4\t1:1\n")
    assert found.labels == (("1",), ("2",))
    assert found.X.toarray().tolist() == [[0, 0, 0.5], [0, 1, 0]]


def test_labels_may_be_missing_several_or_separate():
    found = read("1,2 3:4\n3:4\n 3:4\n5\n33, 44 , 55 3:4\n")
    assert found.labels == (("1", "2"), (), (), ("5",), ("33", "44", "55"))
    assert found.X[:, [3]].toarray().ravel().tolist() == [4, 4, 4, 0, 4]


def test_ids_may_be_huge_and_in_any_order():
    found = read("1 4294967295:2 7:1\n2 2147483648:3\n")
    assert found.X.shape == (2, 2**32)
    assert drop_unused_columns(found.X).toarray().tolist() == [[1, 0, 2], [0, 3, 0]]
    assert drop_unused_columns(found.X).indices.dtype == np.int32


@given(rows)
def test_only_empty_columns_are_dropped(lines):
    dense = reference(lines).astype(np.float32)
    found = drop_unused_columns(csr_array(dense))
    assert np.array_equal(found.toarray(), dense[:, dense.any(axis=0)])


def test_an_empty_file_has_no_rows():
    assert read("").X.shape == (0, 0)
    assert read("# only\n").labels == ()


PAIR = "expected id:value with a whole id from 0 to 4294967295 and a finite value, found "


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        ("1 2:3:4 5", PAIR + "'2:3:4'"),
        ("1 :3", PAIR + "':3'"),
        ("1 : 3", PAIR + "':'"),
        ("1 3:", PAIR + "'3:'"),
        ("1 3: 4", PAIR + "'3:'"),
        ("1 a:4", PAIR + "'a:4'"),
        ("1 1.5:2", PAIR + "'1.5:2'"),
        ("1 -1:2", PAIR + "'-1:2'"),
        ("1 4294967296:2", PAIR + "'4294967296:2'"),
        ("1 1:nan", PAIR + "'1:nan'"),
        ("1 1:1e50", PAIR + "'1:1e50'"),
        ("1 1:0x10", PAIR + "'1:0x10'"),
        ("1 1:2,3", PAIR + "'1:2,3'"),
        ("1 1:2 3", PAIR + "'3'"),
        ("1 2 3:4", "expected labels separated by commas, then id:value pairs, found '1 2' before the first pair"),
        ("1,,2 3:4", "expected labels separated by commas"),
        (b"\xff 1:2", "are not UTF-8"),
    ],
)
def test_malformed_input_raises_an_error_with_file_and_line(line, trouble):
    bad = line if isinstance(line, bytes) else line.encode()
    with pytest.raises(DataError) as caught:
        read(b"1 2:3\n\n" + bad + b"\n2 2:3\n")
    assert str(caught.value).startswith("mine.svm, line 3: ")
    assert trouble in str(caught.value)


# -- the Extreme Classification Repository ---------------------------------------------------------------------------


def test_an_xmc_file_has_the_shape_of_its_header():
    found = read("4 6 9\n0,8 1:0.5 0:2\n 5:1\n\n3\n", read_xmc)
    assert found.X.shape == (4, 6)
    assert found.X.toarray()[:2].tolist() == [[2, 0.5, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    assert found.labels == (("0", "8"), (), (), ("3",))


def test_trailing_blank_lines_are_ignored():
    assert read("1 2 1\n0 1:1\n\n\n", read_xmc).X.shape == (1, 2)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("", "line 1: expected three counts 'rows features labels'"),
        ("1 2:3\n", "line 1: expected three counts"),
        ("2 5 5\n0 1:1\n", "line 1 promises 2 rows, found 1: is the file complete?"),
        ("1 5 5\n0 1:1\n0 1:1\n", "line 1 promises 1 rows, found 2"),
        ("1 5 5\n0 5:1\n", "line 1 promises 5 features, found one with the id 5"),
        ("1 5 5\n5 1:1\n", "line 2: expected labels from 0 to 4, found '5'"),
        ("1 5 5\nx 1:1\n", "line 2: expected labels from 0 to 4, found 'x'"),
    ],
)
def test_an_xmc_file_that_contradicts_its_header_is_named(text, trouble):
    with pytest.raises(DataError) as caught:
        read(text, read_xmc, name="mine.txt")
    assert str(caught.value).startswith("mine.txt")
    assert trouble in str(caught.value)
