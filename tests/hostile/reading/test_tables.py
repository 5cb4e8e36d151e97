"""Tables round-trip for any content; damage is reported with its line; memory is bounded."""

import csv
import io
import json
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.errors import DataError
from internals import ReadOptions, find_columns, open_table, patch_internal, read_batches, read_lines, read_text

ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"]
letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")
cells = st.text(letters, max_size=8)
rows_of_three = st.lists(st.lists(cells, min_size=3, max_size=3), max_size=6)


def stream_of(content):
    return io.BufferedReader(io.BytesIO(content))


def read_all(content, name="t.csv", **options):
    with open_table(io.BytesIO(content), ReadOptions(**options), name=name) as table:
        return table.columns, [row for batch in read_batches(table) for row in batch.rows]


@given(rows_of_three, st.sampled_from(",;\t|"), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
@example([["a\rb", "", "\n"]], ",", "utf-16")
@example([["", "", ""], ["x", "y", "z"]], "|", "utf-8")
def test_delimited_rows_round_trip(rows, delimiter, encoding):
    sink = io.StringIO(newline="")
    csv.writer(sink, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([["a", "b", "c"], *rows])
    assert read_all(sink.getvalue().encode(encoding)) == (("a", "b", "c"), rows)


@given(st.lists(st.dictionaries(cells, st.none() | st.integers() | cells, min_size=1), min_size=1, max_size=5))
def test_json_lines_round_trip(objects):
    content = "\n".join(map(json.dumps, objects)).encode()
    with open_table(io.BytesIO(content), name="t.jsonl") as table:
        batches = list(read_batches(table))
    found = []
    for batch in batches:
        for row in batch.rows:
            found.append({key: value for key, value in zip(batch.columns, row, strict=True) if str(value) != ""})
    assert found == [{key: value for key, value in one.items() if value != ""} for one in objects]


def read_by_csv(text, width):
    """Return line and cells of each row by the csv module, and the line of the first wrong row, if there is one."""
    reader, rows, begins = csv.reader(io.StringIO(text, newline="\n"), strict=True), [], 1
    try:
        for row in reader:
            if len(row) not in (0, width):
                return rows, begins
            if row:
                rows.append((begins, row))
            begins = reader.line_num + 1
    except csv.Error:
        return rows, begins
    return rows, None


@given(st.text('ab,"\n\r \u2028é', max_size=60), st.integers(1, 5), st.sampled_from(["utf-8", "utf-16"]))
@example('1,"two\nlines"\n\n3,4\n5,"6', 9, "utf-8")
@example("1,2\n\n3,4,5\n", 9, "utf-8")
def test_rows_their_lines_and_errors_are_those_of_the_csv_module(text, size, encoding):
    expected, wrong = read_by_csv("a,b\n" + text, 2)
    found, culprit = [], None
    with pytest.MonkeyPatch.context() as patch:
        patch_internal(patch, "BATCH_ROWS", size)
        try:
            with open_table(
                io.BytesIO(("a,b\n" + text).encode(encoding)), ReadOptions(delimiter=","), name="t"
            ) as table:
                for batch in read_batches(table):
                    assert len(batch.rows) <= size
                    found += zip(batch.lines, batch.rows, strict=True)
        except DataError as error:
            culprit = error.culprit
    assert culprit == (f"t, line {wrong}" if wrong else None)
    assert found == expected[1 : len(found) + 1]
    assert len(expected) - 1 - len(found) < (size if wrong else 1)


@given(st.text(letters, max_size=200), st.sampled_from(ENCODINGS[:5]), st.integers(1, 9))
def test_lines_do_not_depend_on_the_chunk_size(text, encoding, chunk):
    with pytest.MonkeyPatch.context() as patch:
        patch_internal(patch, "lines._CHUNK", chunk)
        lines = list(read_lines(stream_of(text.encode(encoding)), "t.txt", encoding))
    assert "".join(lines) == text
    if "\n" in text[: chunk or 1] or "\r" not in text:
        assert lines == io.StringIO(text, newline="\n").readlines()


@given(st.text(letters, max_size=50), st.sampled_from(ENCODINGS[:5]))
def test_a_whole_text_is_decoded_like_its_chunks(text, encoding):
    assert read_text(stream_of(text.encode(encoding)), "t.txt", encoding) == text


@given(st.binary(max_size=300))
@example(b"PAR1")
@example(b"\xff\xfe\x00")
@example(b"\x1f\x8b\x08")
@example(b'{"a": 1e999}')
def test_any_content_gives_rows_or_an_error_with_a_culprit(content):
    culprit = "t.dat"
    try:
        read_all(content, name="t.dat")
    except DataError as error:
        culprit = error.culprit
    assert culprit.startswith("t.dat")


@pytest.mark.parametrize(
    ("content", "options", "line"),
    [
        (b'a,b\n1,"x\n2,y\n3,z\n', {}, 2),
        (b'a,b\n1,x\n2,"y\n3,"z"\n', {}, 3),
        (b"a,b\n1,x\n\n2\n", {}, 4),
        ("a,b\n1,x\n2,é\n".encode("latin-1"), {}, 3),
        ("a,b\n1,x\n".encode("utf-16") + b"\x00\xd8,\x00", {}, 3),
        (b'{"a": 1}\n\n{"a": \n', {}, 3),
        (b'a,b\n1,"' + b"x" * 2**20, {}, 2),
        (b"a,b\rc\n1,2\n", {"expected": ("a",)}, 1),
    ],
)
def test_damage_is_reported_with_its_line(content, options, line):
    with pytest.raises(DataError) as caught:
        read_all(content, **options)
    assert caught.value.culprit == f"t.csv, line {line}"
    assert caught.value.next_step


def test_an_unclosed_quote_stops_at_the_cell_limit(monkeypatch):
    patch_internal(monkeypatch, "delimited.MAX_CELL", 1000)
    with pytest.raises(DataError, match="line 2: a quote is opened"):
        read_all(b'a,b\n1,"x\n' + b"2,y\n" * 10_000)


def test_an_endless_line_stops_at_the_line_limit(monkeypatch):
    patch_internal(monkeypatch, "lines.MAX_LINE", 1000)
    for content in (b"a\n" + b"x" * 5000, b"\xff\xfe" + ("a\n" + "x" * 300_000).encode("utf-16-le")):
        with pytest.raises(DataError, match="line 2: the line is longer"):
            read_all(content, format="lines")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_large_file_is_read_in_bounded_memory(tmp_path, encoding):
    path = tmp_path / "large.csv"
    with path.open("w", encoding=encoding) as file:
        file.write("a,b\n")
        for start in range(0, 200_000, 1000):
            file.write("".join(f"{number},some words of a text\n" for number in range(start, start + 1000)))
    tracemalloc.start()
    try:
        with open_table(path) as table:
            assert sum(len(batch.rows) for batch in read_batches(table)) == 200_000
            assert table.progress() == 1.0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2**20 < path.stat().st_size * 2


def test_columns_are_found_by_name_number_or_several_at_once():
    columns = ["title", "body", "a+b"]
    assert find_columns("t.csv", columns, "body", "text") == (1,)
    assert find_columns("t.csv", columns, "body+title", "text") == (1, 0)
    assert find_columns("t.csv", columns, "a+b", "text") == (2,)
    assert find_columns("t.csv", columns, 3, "text") == (2,)
    assert find_columns("t.csv", columns, None, "text") == ()
    with pytest.raises(DataError, match="Did you mean 'title'"):
        find_columns("t.csv", columns, "titel", "text")


def test_parquet_from_a_pipe_is_rejected():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    with pytest.raises(DataError, match="from a stream"), open_table(Pipe(b"PAR1 and more"), name="-"):
        pass
