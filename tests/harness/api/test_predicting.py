"""Files coded by a model: every row comes back with its classes, whatever the kind of file; nothing is half written."""

import csv
import gzip
import io
import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from harness.api import row_reading
from harness.api.predicting import PredictionRequest, predict_rows
from harness.errors import DataError, HarnessError, ModelError
from small_titles import titles

TEXTS, _ = titles(50, seed=2)
HEADER = ["id", "title"]
ADDED = ["class_1", "score_1", "class_2", "score_2", "confidence"]


@pytest.fixture
def new_csv(tmp_path):
    path = tmp_path / "new.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *([number, text] for number, text in enumerate(TEXTS))])
    return path


def code(model, source, **asked):
    return predict_rows(model, PredictionRequest(source=str(source), **asked), lambda done, share: None)


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def expected(model, top=2):
    """What files must say, from the model itself."""
    answers = model.answer(TEXTS, top)
    return [[*names, round(float(sure), 4)] for names, sure in zip(answers.names, answers.confidence, strict=True)]


def found(rows, top=2):
    return [[*(row[f"class_{place}"] for place in range(1, top + 1)), float(row["confidence"])] for row in rows]


def test_every_row_of_a_csv_file_comes_back_with_its_classes_scores_and_confidence(model, new_csv, tmp_path):
    done = code(model, new_csv, text="title", top=2, out=tmp_path / "coded.csv")
    rows = read_csv(tmp_path / "coded.csv")
    assert list(rows[0]) == [*HEADER, *ADDED]
    assert [[row["id"], row["title"]] for row in rows] == [[str(n), text] for n, text in enumerate(TEXTS)]
    assert found(rows) == expected(model)
    assert float(rows[0]["score_1"]) == pytest.approx(model.answer(TEXTS, 1).scores[0, 0], abs=1e-4)
    assert (done.rows, done.review, done.unknown) == (50, 0, 0)
    assert done.confidence == pytest.approx(model.confidence(TEXTS).sum())


@pytest.mark.parametrize("size", [1, 7, 50, 51])
def test_however_many_rows_are_taken_at_once_the_file_is_the_same(model, new_csv, tmp_path, monkeypatch, size):
    monkeypatch.setattr(row_reading, "BATCH_ROWS", size)
    told = []
    predict_rows(
        model,
        PredictionRequest(source=str(new_csv), text="title", top=2, out=tmp_path / "coded.csv"),
        lambda done, share: told.append((done.rows, share)),
    )
    assert found(read_csv(tmp_path / "coded.csv")) == expected(model)
    assert told[-1] == (50, 1.0)
    taken = np.diff([0, *(rows for rows, _ in told)])
    assert taken.max() == min(size, 50)


def test_json_lines_keep_what_each_row_has(model, tmp_path):
    path = tmp_path / "new.jsonl"
    given = [{"title": text, **({"more": [1, None]} if number % 2 else {})} for number, text in enumerate(TEXTS)]
    path.write_text("\n".join(map(json.dumps, given)) + "\n\n")
    code(model, path, text="title", top=2, out=tmp_path / "coded.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "coded.jsonl").read_text().splitlines()]
    assert [{key: row[key] for key in row if key not in ADDED} for row in rows] == given
    assert found(rows) == expected(model)
    code(model, path, text="title", top=2, out=tmp_path / "coded.csv")
    assert [row["more"] for row in read_csv(tmp_path / "coded.csv")[:2]] == ["", "[1, None]"]


def test_parquet_goes_in_and_out(model, tmp_path):
    path = tmp_path / "new.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"title": TEXTS, "n": list(range(50))}), path)
    code(model, path, text="title", top=2, out=tmp_path / "coded.parquet")
    rows = pyarrow.parquet.read_table(tmp_path / "coded.parquet").to_pylist()
    assert [row["n"] for row in rows] == list(range(50))
    assert found(rows) == expected(model)


def test_a_packed_name_gets_a_packed_file(model, new_csv, tmp_path):
    code(model, new_csv, text="title", top=2, out=tmp_path / "coded.csv.gz")
    with gzip.open(tmp_path / "coded.csv.gz", "rt", newline="") as file:
        assert found(list(csv.DictReader(file))) == expected(model)


def test_packed_files_and_a_byte_order_mark_are_read(model, new_csv, tmp_path):
    packed = tmp_path / "new.csv.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + new_csv.read_bytes()))
    code(model, packed, text="title", top=2, out=tmp_path / "coded.csv")
    rows = read_csv(tmp_path / "coded.csv")
    assert next(iter(rows[0])) == "id"
    assert found(rows) == expected(model)


def test_lines_of_standard_input_go_to_standard_output(model, capsys, monkeypatch):
    monkeypatch.setattr(row_reading, "_open_bytes", lambda source: io.BytesIO("\n".join(TEXTS).encode()))
    code(model, "-", top=2)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["text"] for row in rows] == TEXTS
    assert found(rows) == expected(model)


def test_rows_below_the_confidence_go_to_a_second_file(model, new_csv, tmp_path):
    middle = float(np.median(model.confidence(TEXTS)))
    files = {"out": tmp_path / "sure.csv", "review_out": tmp_path / "unsure.csv"}
    done = code(model, new_csv, text="title", review=middle, **files)
    sure, unsure = read_csv(tmp_path / "sure.csv"), read_csv(tmp_path / "unsure.csv")
    confident = model.confidence(TEXTS) >= middle
    assert [int(row["id"]) for row in sure] == [row for row in range(50) if confident[row]]
    assert [int(row["id"]) for row in unsure] == [row for row in range(50) if not confident[row]]
    assert done.review == len(unsure) == 50 - confident.sum()
    assert 0 < len(unsure) < 50
    assert list(unsure[0]) == list(sure[0])


def test_texts_in_a_script_that_was_never_seen_get_no_class_and_go_to_a_person(model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("title\n溶接工\n\nsteel welder\n看護師\n", encoding="utf-8")
    done = code(model, path, out=tmp_path / "sure.csv", review=0.01, review_out=tmp_path / "unsure.csv")
    assert done.unknown == 2
    assert [row["class_1"] for row in read_csv(tmp_path / "unsure.csv")] == ["", ""]
    assert [row["class_1"] for row in read_csv(tmp_path / "sure.csv")] == ["21"]


def test_a_file_without_rows_gives_one_without_rows(model, tmp_path):
    (tmp_path / "new.csv").write_text("title\n")
    assert code(model, tmp_path / "new.csv", out=tmp_path / "coded.csv").rows == 0
    assert (tmp_path / "coded.csv").read_text() == "title,class_1,score_1,confidence\n"


# -- where the texts are ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["job", "id,text"])
def test_the_only_column_or_one_called_text_is_found_without_being_named(model, tmp_path, header):
    before = "7," if "," in header else ""
    (tmp_path / "new.csv").write_text(f"{header}\n{before}steel welder\n")
    code(model, tmp_path / "new.csv", out=tmp_path / "coded.csv")
    assert read_csv(tmp_path / "coded.csv")[0]["class_1"] == "21"


# -- what is refused -------------------------------------------------------------------------------------------------


def refused(model, folder, name, content, **asked):
    """What is said of a file that cannot be coded, of which nothing is written."""
    path = folder / name
    path.write_bytes(content)
    (folder / "coded.csv").write_text("from before")
    with pytest.raises(HarnessError) as raised:
        code(model, path, out=folder / "coded.csv", **asked)
    assert (folder / "coded.csv").read_text() == "from before"
    assert sorted(one.name for one in folder.iterdir()) == sorted(["coded.csv", name])
    return str(raised.value)


@pytest.mark.parametrize(
    ("name", "content", "asked", "complaint"),
    [
        ("new.csv", b"", {}, "is empty: expected a first line"),
        ("new.jsonl", b"", {}, "is empty: expected an object"),
        ("new.csv", b"id,title\n1,a\n", {"text": "job"}, "has no column 'job': it has id, title"),
        ("new.csv", b"id,title\n1,a\n", {}, "which column holds the texts? It has id, title: --text COLUMN"),
        ("new.csv", "title\ncafé\n".encode("latin-1"), {}, "is not utf-8: byte 0xe9"),
        ("new.csv", b"title\na\n", {"encoding": "klingon"}, "there is no encoding 'klingon'"),
        ("new.csv", b"id,title\n1,a\n2\n", {"text": "title"}, "row 2 has 1 values for 2 columns"),
        ("new.csv", b"title,class_1\na,b\n", {"text": "title"}, "has a column 'class_1' already"),
        ("new.jsonl", b'{"title": 3}\n', {}, "row 1: 'title' is 3, expected a text"),
        ("new.jsonl", b'{"title": "a"}\nno\n', {}, "row 2 is no JSON"),
        ("new.jsonl", b"[1]\n", {}, "row 1 is [1]: expected an object"),
        ("new.parquet", b"PAR?", {}, "is no Parquet file"),
        ("new.csv.gz", b"no gzip", {}, "cannot be read"),
        ("new.xls", b"", {}, "expected a name that ends in .csv"),
    ],
)
def test_what_cannot_be_coded_is_named_and_nothing_is_lost(model, tmp_path, name, content, asked, complaint):
    told = refused(model, tmp_path, name, content, **asked)
    assert complaint in told
    assert name in told


def test_an_encoding_that_is_named_is_read(model, tmp_path):
    (tmp_path / "new.csv").write_bytes("title\ncafé baker\n".encode("latin-1"))
    code(model, tmp_path / "new.csv", out=tmp_path / "coded.csv", encoding="latin-1")
    assert read_csv(tmp_path / "coded.csv")[0]["title"] == "café baker"


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"top": 0}, "--top 0"),
        ({"review": 1.5}, "--review 1.5"),
        ({"review": 0.9}, "belong together"),
        ({"review": 0.9, "review_out": "out"}, "give them two"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(model, new_csv, tmp_path, asked, complaint):
    out = tmp_path / "coded.csv"
    asked = {name: out if value == "out" else value for name, value in asked.items()}
    with pytest.raises(ModelError, match=complaint):
        code(model, new_csv, text="title", out=out, **asked)


def test_a_file_that_is_not_there_is_named(model, tmp_path):
    with pytest.raises(DataError, match=r"gone\.csv: there is no such file"):
        code(model, tmp_path / "gone.csv")


def test_a_place_that_cannot_be_written_is_named(model, new_csv, tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        code(model, new_csv, text="title", out=tmp_path / "nowhere" / "coded.csv")
