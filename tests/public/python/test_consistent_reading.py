"""Prediction reads a file as training did: the same columns for any format, delimiter, encoding or compression."""

import bz2
import csv
import gzip
import io
import json
import lzma

import pyarrow
import pyarrow.parquet
import pytest

import harness
from compressed import zstd_compress
from harness.errors import DataError
from internals import PredictionRequest, predict_rows
from small_titles import titles

TEXTS, CODES = titles(120, seed=1)
NEW, _ = titles(40, seed=2)
NEW = [*NEW, "naïve welder", 'the "steel" welder, night', "two\nlines"]
COLUMNS = ["Row", "Job Title", "SOC code"]


def delimited(rows, delimiter=",", columns=COLUMNS):
    sink = io.StringIO(newline="")
    csv.writer(sink, delimiter=delimiter, lineterminator="\n").writerows([columns, *rows])
    return sink.getvalue()


def fit(folder, content, **options):
    """Return a model fitted on a file, saved and loaded again."""
    path = folder / "titles.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    settings = ", ".join(f"{name}={value!r}" for name, value in options.items())
    harness.fit("pa", f"{path}({settings})" if settings else str(path), representation="words", out=folder / "model")
    return harness.load_model(folder / "model")


def predict(model, source, **wanted):
    """Return the classes and confidences of a file, and the options used to read it."""
    out = source.parent / "out.csv"
    request = PredictionRequest(source=str(source), out=out, **wanted)
    done = predict_rows(model, request, lambda done, share: None)
    with out.open(newline="") as file:
        return [(row["class_1"], row["confidence"]) for row in csv.DictReader(file)], done.read_as


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rows = [[number, *row] for number, row in enumerate(zip(TEXTS, CODES, strict=True))]
    return fit(tmp_path_factory.mktemp("trained"), delimited(rows, ";"))


def parquet(columns):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue()


NEW_ROWS = [[number, text] for number, text in enumerate(NEW)]
PLAIN = delimited(NEW_ROWS, columns=COLUMNS[:2])
OBJECTS = "\n".join(json.dumps({"Job Title": text, "Row": number}) for number, text in enumerate(NEW))
SAME = {
    "new.csv": PLAIN,
    "semicolon.csv": delimited(NEW_ROWS, ";", COLUMNS[:2]),
    "new.tsv": delimited(NEW_ROWS, "\t", COLUMNS[:2]),
    "pipe.csv": delimited(NEW_ROWS, "|", COLUMNS[:2]),
    "crlf.csv": PLAIN.replace("two\nlines", "two lines").replace("\n", "\r\n"),
    "macintosh.csv": PLAIN.replace("\n", "\r"),
    "bom.csv": b"\xef\xbb\xbf" + PLAIN.encode(),
    "utf16.csv": PLAIN.encode("utf-16"),
    "utf16be.csv": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "utf32.csv": PLAIN.encode("utf-32"),
    "new.csv.gz": gzip.compress(PLAIN.encode()),
    "new.csv.bz2": bz2.compress(PLAIN.encode()),
    "new.csv.xz": lzma.compress(PLAIN.encode("utf-16")),
    "new.csv.zst": zstd_compress(PLAIN.encode()),
    "new.jsonl": OBJECTS,
    "utf16.jsonl": OBJECTS.encode("utf-16"),
    "new.parquet": parquet({"Row": list(range(len(NEW))), "Job Title": NEW}),
    "other name.dat": PLAIN,
}


@pytest.mark.parametrize("name", SAME)
def test_every_format_gives_the_same_predictions(model, tmp_path, name):
    expected = model.answer(NEW, 1)
    found, read_as = predict(model, written(tmp_path, name, SAME[name]))
    assert [code for code, _ in found] == expected.names[:, 0].tolist()
    assert [float(confidence) for _, confidence in found] == pytest.approx(expected.confidence, abs=1e-4)
    assert "text from 'Job Title'" in read_as


def test_a_file_without_the_trained_column_is_rejected_with_the_existing_columns(model, tmp_path):
    path = written(tmp_path, "new.csv", "id;title\n1;night nurse\n")
    with pytest.raises(DataError) as caught:
        predict(model, path)
    assert caught.value.culprit == str(path)
    assert "'Job Title'" in str(caught.value)
    assert "'id', 'title'" in str(caught.value)
    assert not (tmp_path / "out.csv").exists()
    assert predict(model, path, text="title")[1] == "CSV with ';', text from 'title'"


def test_a_single_column_of_another_name_is_rejected(model, tmp_path):
    path = written(tmp_path, "new.csv", "night nurse\nwelder\n")
    with pytest.raises(DataError, match="no column 'Job Title'"):
        predict(model, path)
    assert len(predict(model, path, form="lines")[0]) == 2


def test_several_text_columns_are_detected_and_joined_again(tmp_path):
    rows = [[text.split()[0], " ".join(text.split()[1:]), code] for text, code in zip(TEXTS, CODES, strict=True)]
    model = fit(tmp_path, delimited(rows, columns=["first", "rest", "code"]), text="first+rest")
    objects = "\n".join(json.dumps({"rest": "welder", "first": "steel"} if row else {"first": "x"}) for row in range(2))
    path = written(tmp_path, "new.jsonl", objects)
    with pytest.raises(DataError, match="no column 'rest'"):
        predict(model, written(tmp_path, "short.csv", "first,code\nsteel,1\n"))
    found, read_as = predict(model, path)
    assert [code for code, _ in found] == model.predict(["x", "steel welder"]).tolist()
    assert read_as == "JSON lines, text from 'first' and 'rest'"
    chosen, _ = predict(model, path, text="rest+first")
    assert [code for code, _ in chosen] == model.predict(["x", "welder steel"]).tolist()


def test_delimiter_header_and_encoding_of_the_training_file_are_reused(tmp_path):
    rows = [[code, f"{text} café"] for text, code in zip(TEXTS, CODES, strict=True)]
    content = "".join(f"{code}~{text}\n" for code, text in rows).encode("latin-1")
    model = fit(tmp_path, content, delimiter="~", header=False, encoding="latin-1", text=2, label=1)
    path = written(tmp_path, "new.csv", content)
    expected = model.predict([text for _, text in rows]).tolist()
    assert [code for code, _ in predict(model, path, delimiter="~")[0]] == expected
    named = written(tmp_path, "named.csv", b"code~title\n" + content)
    wanted = {"delimiter": "~", "header": True, "text": "title"}
    assert [code for code, _ in predict(model, named, **wanted)[0]] == expected
    marked = written(tmp_path, "marked.csv", b"\xef\xbb\xbf" + content.decode("latin-1").encode())
    assert [code for code, _ in predict(model, marked, delimiter="~")[0]] == expected


def test_an_unusual_delimiter_of_the_training_file_is_reused(tmp_path):
    rows = list(zip(TEXTS, CODES, strict=True))
    model = fit(tmp_path, delimited(rows, "~", ["title", "code"]), delimiter="~")
    path = written(tmp_path, "new.csv", delimited([["a, b", 1]], "~", ["title", "n"]))
    assert predict(model, path)[1] == "CSV with '~', text from 'title'"


def test_a_number_in_json_is_read_as_the_text_of_its_digits(model, tmp_path):
    found, _ = predict(model, written(tmp_path, "new.jsonl", '{"Job Title": 3}\n{"Job Title": null}\n'))
    assert [code for code, _ in found] == model.predict(["3", ""]).tolist()


def test_the_first_text_of_a_file_without_a_header_is_not_taken_for_the_column_text(tmp_path):
    rows = list(zip(TEXTS, CODES, strict=True))
    model = fit(tmp_path, delimited(rows, columns=["text", "code"]), text="text", label="code")
    bare = written(tmp_path, "bare.csv", "steel welder\nnight nurse\n")
    with pytest.raises(DataError, match="steel welder"):
        predict(model, bare)
    assert len(predict(model, bare, form="lines")[0]) == 2
    assert len(predict(model, written(tmp_path, "named.csv", "text\nsteel welder\n"))[0]) == 1
