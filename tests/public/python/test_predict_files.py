"""Predictions for files: every row is returned with its classes in any format, and no file is half written."""

import csv
import gzip
import io
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from harness.errors import DataError, HarnessError, ModelError
from internals import CsvWriter, PredictionRequest, RowBatch, answer_ahead, patch_internal, predict_rows
from messages import naming
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


def code(model, source, **options):
    return predict_rows(model, PredictionRequest(source=str(source), **options), lambda done, share: None)


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def expected(model, top=2):
    """Return the expected content of files, computed by the model."""
    answers = model.answer(TEXTS, top)
    return [[*names, round(float(sure), 4)] for names, sure in zip(answers.names, answers.confidence, strict=True)]


def found(rows, top=2):
    return [[*(row[f"class_{place}"] for place in range(1, top + 1)), float(row["confidence"])] for row in rows]


def test_every_csv_row_is_returned_with_classes_scores_and_confidence(model, new_csv, tmp_path):
    done = code(model, new_csv, text="title", top=2, out=tmp_path / "coded.csv")
    rows = read_csv(tmp_path / "coded.csv")
    assert list(rows[0]) == [*HEADER, *ADDED]
    assert [[row["id"], row["title"]] for row in rows] == [[str(n), text] for n, text in enumerate(TEXTS)]
    assert found(rows) == expected(model)
    assert float(rows[0]["score_1"]) == pytest.approx(model.answer(TEXTS, 1).scores[0, 0], abs=1e-4)
    assert (done.rows, done.review, done.unknown) == (50, 0, 0)
    assert done.confidence == pytest.approx(model.confidence(TEXTS).sum())


@pytest.mark.parametrize("size", [1, 7, 50, 51])
def test_the_batch_size_does_not_change_the_file(model, new_csv, tmp_path, monkeypatch, size):
    patch_internal(monkeypatch, "BATCH_ROWS", size)
    message = []
    predict_rows(
        model,
        PredictionRequest(source=str(new_csv), text="title", top=2, out=tmp_path / "coded.csv"),
        lambda done, share: message.append((done.rows, share)),
    )
    assert found(read_csv(tmp_path / "coded.csv")) == expected(model)
    assert message[-1] == (50, 1.0)
    taken = np.diff([0, *(rows for rows, _ in message)])
    assert taken.max() == min(size, 50)


@pytest.mark.parametrize("name", ["coded.csv", "coded.csv.gz", "coded.jsonl", "coded.parquet"])
def test_two_predictions_into_one_file_do_not_mix_rows(model, new_csv, tmp_path, monkeypatch, name):
    """Start and end the second one while the first is running; the rows of the first remain."""
    patch_internal(monkeypatch, "BATCH_ROWS", 10)
    (tmp_path / "other.csv").write_text("id,title\n" + "99,rocket scientist\n" * 200)
    code(model, new_csv, text="title", out=tmp_path / f"alone-{name}")
    options = {"text": "title", "out": tmp_path / name}

    def interrupt(done, share):
        if done.rows == 20:
            assert code(model, tmp_path / "other.csv", **options).rows == 200

    predict_rows(model, PredictionRequest(source=str(new_csv), **options), interrupt)
    if name.endswith(".gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()).count(b"\n") == 51
    else:
        assert (tmp_path / name).read_bytes() == (tmp_path / f"alone-{name}").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_json_lines_keep_the_fields_of_each_row(model, tmp_path):
    path = tmp_path / "new.jsonl"
    given = [{"title": text, **({"more": [1, None]} if number % 2 else {})} for number, text in enumerate(TEXTS)]
    path.write_text("\n".join(map(json.dumps, given)) + "\n\n")
    code(model, path, text="title", top=2, out=tmp_path / "coded.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "coded.jsonl").read_text().splitlines()]
    assert [{key: row[key] for key in row if key not in ADDED} for row in rows] == given
    assert found(rows) == expected(model)
    code(model, path, text="title", top=2, out=tmp_path / "coded.csv")
    assert [row["more"] for row in read_csv(tmp_path / "coded.csv")[:2]] == ["", "[1, None]"]


@pytest.mark.parametrize("values", [["a", [1]], ["a", {"b": 1}], [10**30, 1], [{}, {}]], ids=repr)
def test_values_that_parquet_cannot_hold_are_an_error_with_a_way_out(model, tmp_path, values):
    path = tmp_path / "new.jsonl"
    path.write_text("".join(json.dumps({"title": "x", "n": value}) + "\n" for value in values))
    with pytest.raises(DataError, match=naming("not possible as Parquet", "--out FILE.jsonl")):
        code(model, path, text="title", out=tmp_path / "coded.parquet")
    assert not (tmp_path / "coded.parquet").exists()


def test_parquet_is_read_and_written(model, tmp_path):
    path = tmp_path / "new.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"title": TEXTS, "n": list(range(50))}), path)
    code(model, path, text="title", top=2, out=tmp_path / "coded.parquet")
    rows = pyarrow.parquet.read_table(tmp_path / "coded.parquet").to_pylist()
    assert [row["n"] for row in rows] == list(range(50))
    assert found(rows) == expected(model)


def test_a_compressed_extension_gives_a_compressed_file(model, new_csv, tmp_path):
    code(model, new_csv, text="title", top=2, out=tmp_path / "coded.csv.gz")
    with gzip.open(tmp_path / "coded.csv.gz", "rt", newline="") as file:
        assert found(list(csv.DictReader(file))) == expected(model)


def test_compressed_files_and_a_byte_order_mark_are_read(model, new_csv, tmp_path):
    packed = tmp_path / "new.csv.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + new_csv.read_bytes()))
    code(model, packed, text="title", top=2, out=tmp_path / "coded.csv")
    rows = read_csv(tmp_path / "coded.csv")
    assert next(iter(rows[0])) == "id"
    assert found(rows) == expected(model)


def test_lines_of_standard_input_go_to_standard_output(model, capsys, monkeypatch):
    patch_internal(monkeypatch, "_open_stdin", lambda: io.BytesIO("\n".join(TEXTS).encode()))
    code(model, "-", top=2)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["text"] for row in rows] == TEXTS
    assert found(rows) == expected(model)


def test_rows_below_the_confidence_threshold_go_to_a_second_file(model, new_csv, tmp_path):
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


def test_texts_in_an_unknown_script_get_no_class_and_go_to_the_second_file(model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("title\n溶接工\n\nsteel welder\n看護師\n", encoding="utf-8")
    done = code(model, path, out=tmp_path / "sure.csv", review=0.01, review_out=tmp_path / "unsure.csv")
    assert done.unknown == 2
    assert [row["class_1"] for row in read_csv(tmp_path / "unsure.csv")] == ["", ""]
    assert [row["class_1"] for row in read_csv(tmp_path / "sure.csv")] == ["21"]


def test_a_file_without_rows_gives_a_file_without_rows(model, tmp_path):
    (tmp_path / "new.csv").write_text("title\n")
    assert code(model, tmp_path / "new.csv", out=tmp_path / "coded.csv").rows == 0
    assert (tmp_path / "coded.csv").read_text() == "title,class_1,score_1,confidence\n"


# -- where the texts are ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["job", "id,text"])
def test_a_single_column_or_one_named_text_is_detected(model, tmp_path, header):
    before = "7," if "," in header else ""
    (tmp_path / "new.csv").write_text(f"{header}\n{before}steel welder\n")
    code(model, tmp_path / "new.csv", out=tmp_path / "coded.csv")
    assert read_csv(tmp_path / "coded.csv")[0]["class_1"] == "21"


# -- what is refused -------------------------------------------------------------------------------------------------


def refused(model, folder, name, content, **options):
    """Return the error for an unusable file, and check that nothing is written."""
    path = folder / name
    path.write_bytes(content)
    (folder / "coded.csv").write_text("from before")
    with pytest.raises(HarnessError) as raised:
        code(model, path, out=folder / "coded.csv", **options)
    assert (folder / "coded.csv").read_text() == "from before"
    assert sorted(one.name for one in folder.iterdir()) == sorted(["coded.csv", name])
    return str(raised.value)


@pytest.mark.parametrize(
    ("name", "content", "options", "complaint"),
    [
        ("new.csv", b"", {}, "is empty"),
        ("new.jsonl", b"", {}, "is empty"),
        ("new.csv", b"id,titel\n1,a\n", {"text": "title"}, "'id', 'titel'. Did you mean 'titel'?"),
        ("new.csv", b"id,title\n1,a\n", {}, "Columns: 'id', 'title'. Name the text column with --text COLUMN"),
        ("new.csv", "title\ncafé\n".encode("latin-1"), {}, "line 2: byte 4 (0xe9) is not utf-8"),
        ("new.csv", b"title\na\n", {"encoding": "klingon"}, "'klingon'"),
        ("new.csv", b"title\na\n", {"encoding": "undefined"}, "'undefined'"),
        ("new.csv", b"title\na\n", {"encoding": "idna"}, "unknown encoding 'idna'"),
        ("new.csv", b"id,title\n1,a\n2\n", {"text": "title"}, "line 3: 1 columns, expected 2"),
        ("new.csv", b'id,title\n1,"night nurse\n2,welder\n3,baker\n', {"text": "title"}, "line 2: a quote is opened"),
        ("new.csv", b"id,title,id\n1,a,2\n", {"text": "title"}, "two columns are called 'id'"),
        ("new.csv", b"title,class_1\na,b\n", {"text": "title"}, "has a column 'class_1', which predictions add"),
        ("new.jsonl", b'{"title": "a"}\nno\n', {}, "line 2: not JSON"),
        ("new.jsonl", b'{"title": "a"}\n[1]\n', {}, "line 2: found list"),
        ("new.jsonl", b'{"title": "a"}\n' + b"[" * 200_000, {}, "line 2: not JSON"),
        ("new.parquet", b"PAR?", {}, "begins with 'PAR?'"),
        ("new.csv", b"id,title\n1,a\n", {"form": "parquet", "text": "title"}, "is no Parquet file"),
        ("new.csv.gz", b"no gzip", {}, "is named .gz, but begins with 'no gzip'"),
        ("new.csv.gz", gzip.compress(b"title\na\n" * 1000, mtime=0)[:-9], {}, "cannot be read"),
        ("new.xls", b"PK\x03\x04 and more", {}, "is a zip archive or an Excel workbook"),
    ],
)
def test_unusable_rows_raise_an_error_and_the_output_is_unchanged(model, tmp_path, name, content, options, complaint):
    message = refused(model, tmp_path, name, content, **options)
    assert complaint in message
    assert name in message


def test_the_given_encoding_is_used(model, tmp_path):
    (tmp_path / "new.csv").write_bytes("title\ncafé baker\n".encode("latin-1"))
    code(model, tmp_path / "new.csv", out=tmp_path / "coded.csv", encoding="latin-1")
    assert read_csv(tmp_path / "coded.csv")[0]["title"] == "café baker"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"top": 0}, "--top 0"),
        ({"review": 1.5}, "--review 1.5"),
        ({"review": 0.9}, "must be given together"),
        ({"review": 0.9, "review_out": "out"}, "are the same file"),
    ],
)
def test_invalid_options_are_rejected_before_reading(model, new_csv, tmp_path, options, complaint):
    out = tmp_path / "coded.csv"
    options = {name: out if value == "out" else value for name, value in options.items()}
    with pytest.raises(ModelError, match=complaint):
        code(model, new_csv, text="title", out=out, **options)


def test_a_missing_file_raises_an_error_that_names_it(model, tmp_path):
    with pytest.raises(DataError, match=naming("gone.csv")):
        code(model, tmp_path / "gone.csv")


def test_an_unwritable_path_raises_an_error_that_names_it(model, new_csv, tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        code(model, new_csv, text="title", out=tmp_path / "nowhere" / "coded.csv")


CELLS = ["", "welder", "night, nurse", 'a "b"', 'a, "b"', "two\nlines", "a\rb", " spaced ", "ü\u2028", "-", "'", "#\t|"]
NUMBERS = [0.5, 0.0, -0.0, 1e-07, 1e22, -3.25, float("nan"), 12345.6789]


def written_by_csv(columns, rows, delimiter):
    """Return what the csv module writes, with quotes around all cells of a row that has a carriage return."""
    file = io.StringIO(newline="")
    usual = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    quoting = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    usual.writerow(columns)
    for row in rows:
        has_return = any(isinstance(cell, str) and "\r" in cell for cell in row)
        (quoting if has_return else usual).writerow(row)
    return file.getvalue()


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("seed", range(20))
def test_rows_are_written_as_the_csv_module_writes_them(delimiter, seed):
    chance = random.Random(seed)
    columns = ["id", "text, or title", "score", "mixed", "list"][: chance.randint(1, 5)]
    known = chance.sample(CELLS, chance.randint(1, len(CELLS)))
    batches = []
    for _ in range(3):
        mixed = [chance.choice([None, 3, 0.25, "x", True]) for _ in range(3)] if chance.random() < 0.3 else known
        rows = []
        for _ in range(chance.randint(0, 6)):
            cells = [chance.choice(known), chance.choice(known), chance.choice(NUMBERS)]
            rows.append([*cells, chance.choice(mixed), chance.choice(known)][: len(columns)])
        batches.append(rows)
    file = io.StringIO(newline="")
    writer = CsvWriter(file, delimiter)
    for rows in batches:
        writer.write(columns, list(zip(*rows, strict=True)) or [()] * len(columns))
    assert file.getvalue() == written_by_csv(columns, chain(*batches), delimiter)


def test_rows_before_an_error_are_written_to_standard_output(model, tmp_path, capsys, monkeypatch):
    patch_internal(monkeypatch, "BATCH_ROWS", 4)
    path = tmp_path / "new.csv"
    path.write_text("title\n" + "\n".join(TEXTS[:10]) + '\n"open\n')
    with pytest.raises(DataError, match=naming("line 12")):
        code(model, path)
    printed = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["title"] for row in printed] == TEXTS[:10]


@pytest.mark.parametrize("failing", [0, 1, 3])
def test_an_error_of_the_learner_in_any_batch_is_raised_and_nothing_is_written(model, tmp_path, monkeypatch, failing):
    patch_internal(monkeypatch, "BATCH_ROWS", 4)
    path = tmp_path / "new.csv"
    path.write_text("title\n" + "\n".join(TEXTS[:20]) + "\n")
    learner, seen = model.classifier.learner, []

    class Failing:
        classes_ = learner.classes_

        def rank(self, X, k):
            seen.append(X.shape[0])
            if len(seen) > failing:
                raise RuntimeError("out of luck")
            return learner.rank(X, k)

    monkeypatch.setattr(model.classifier, "learner", Failing())
    with pytest.raises(ModelError, match="out of luck"):
        code(model, path, out=tmp_path / "coded.csv")
    assert not (tmp_path / "coded.csv").exists()
    assert seen[0] == 4
    assert failing < len(seen) <= failing + 3  # BATCHES_AHEAD are answered meanwhile


def test_batches_that_have_not_begun_are_dropped_when_the_caller_stops(monkeypatch):
    shutdown, dropped, begun = ThreadPoolExecutor.shutdown, threading.Event(), []

    def noting(pool, wait=True, **options):
        shutdown(pool, wait, **options)
        dropped.set()

    def represent(batch):
        begun.append(batch.lines[0])
        if batch.lines[0] == 3:
            dropped.wait(10)
        return batch

    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", noting)
    batches = (RowBatch(("text",), [["welder"]], [line]) for line in range(1, 9))
    answers = answer_ahead(batches, represent, lambda batch: batch.lines)
    assert [next(answers)[1], next(answers)[1]] == [[1], [2]]
    answers.close()
    assert begun[:2] == [1, 2]
    assert set(begun) <= {1, 2, 3}
