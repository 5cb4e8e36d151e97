"""`openml:ID` datasets, read by OpenML's client from a local server."""

import subprocess
import sys

import pytest

from harness.errors import DataError
from harness_files.openml_sets import load_openml, load_openml_texts, stamp_openml
from hubs import openml_server
from internals import read_records
from messages import naming

openml = pytest.importorskip("openml", reason="the extra openml is not installed")

MIXED = """@relation small
@attribute row numeric
@attribute title string
@attribute height numeric
@attribute 'colour, outside' {red,'dark green'}
@attribute class {a,b,c}
@data
1,'rye bread',1,red,a
2,'whole milk',-2.5,'dark green',b
3,'desk lamp',0,?,a
"""
SPARSE = """@relation small
@attribute x numeric
@attribute y numeric
@attribute class {a,b}
@data
{0 2.5}
{1 -1, 2 b}
"""
SETS = {
    7: {"arff": MIXED, "default_target_attribute": "class", "row_id_attribute": "row"},
    8: {"arff": SPARSE, "default_target_attribute": "class", "format": "Sparse_ARFF"},
    9: {"arff": MIXED, "default_target_attribute": "class", "md5": "0" * 32},
    10: {"arff": MIXED, "default_target_attribute": "class,height", "ignore_attribute": "row"},
    11: {"arff": "@relation t\n@attribute title string\n@attribute class {a,b}\n@data\n'rye',a\n'oat',b\n"},
    12: {"arff": MIXED.replace("1,red", "?,red"), "default_target_attribute": "class"},
    13: {"arff": "@relation t\n@attribute what\n@data\n", "default_target_attribute": "class"},
}


@pytest.fixture(scope="module")
def server():
    server = openml_server(SETS)
    yield server
    server.close()


@pytest.fixture(autouse=True)
def client(server, tmp_path, monkeypatch):
    """Point OpenML's client to the local server, with an empty cache."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(openml.config, "server", f"{server.url}/api/v1/xml")
    monkeypatch.setattr(openml.config, "_root_cache_directory", tmp_path / "cache")
    monkeypatch.setattr(openml.config, "connection_n_retries", 1)


def test_numeric_columns_stay_and_nominal_columns_are_one_hot_encoded():
    data = load_openml(path=7)
    assert data.X.toarray().tolist() == [[1, 1, 0], [-2.5, 0, 1], [0, 0, 0]]
    assert (data.y.tolist(), data.class_names) == ([0, 1, 0], ("a", "b"))
    assert data.found == "3 rows of openml:7 (OpenML), label from 'class', 3 features, 2 classes"


def test_named_columns_are_the_features():
    assert load_openml(path=7, features="row,height").X.toarray().tolist() == [[1, 1], [2, -2.5], [3, 0]]


def test_values_absent_from_sparse_arff_are_zero_or_the_first_category():
    data = load_openml(path=8)
    assert data.X.toarray().tolist() == [[2.5, 0], [0, -1]]
    assert data.class_names == ("a", "b")


def test_other_target_columns_are_not_features():
    assert load_openml(path=10, label="class").X.toarray().tolist() == [[1, 0], [0, 1], [0, 0]]


def test_a_string_column_is_read_as_text():
    data = load_openml_texts(path=7, text="title")
    assert list(data.texts) == ["rye bread", "whole milk", "desk lamp"]


def test_the_revision_has_version_and_checksum(server):
    assert load_openml(path=8).revision.startswith(f"{server.url}/d/8 version 3, MD5 ")


def test_no_pickle_is_written_or_read(tmp_path):
    load_openml(path=7)
    assert {file.suffix for file in (tmp_path / "cache").rglob("*") if file.is_file()} == {".xml", ".arff"}


def test_the_stamp_depends_on_the_dataset_number_alone_and_needs_no_request(server):
    before = len(server.requests)
    assert stamp_openml(path=7, features="x") == stamp_openml(path=7)
    assert stamp_openml(path=7) != stamp_openml(path=8)
    assert len(server.requests) == before


@pytest.mark.parametrize(
    ("path", "more", "message"),
    [
        (404, {}, "no dataset 404, or it is private .*Look it up at https://www.openml.org"),
        ("letter", {}, "expected the number of a dataset, as in openml:61"),
        (9, {}, "the downloaded file does not match the server's checksum"),
        (10, {}, r'several targets: class, height. Choose one, as in --data "openml:10\(label=class\)"'),
        (
            11,
            {"label": "class"},
            "no column of numbers beside the label.*text=",
        ),
        (12, {}, "line 1: the column 'height' has None: expected a number; choose columns with features="),
        (13, {}, "its file cannot be read"),
        (7, {"label": "kind"}, r"no column 'kind' for the label\. Columns: 'row', 'title', 'height', "),
    ],
)
def test_errors_name_the_problem_and_the_next_step(path, more, message):
    with pytest.raises(DataError, match=message):
        load_openml(path=path, **more)


def test_an_unreachable_server_raises_an_error_that_names_it(monkeypatch):
    monkeypatch.setattr(openml.config, "server", "http://127.0.0.1:1/api/v1/xml")
    with pytest.raises(DataError, match=naming("http://127.0.0.1:1/api/v1/xml")):
        load_openml(path=7)


def test_a_missing_client_raises_an_error_that_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openml", None)
    with pytest.raises(DataError, match=naming("manyclass-harness[openml]")):
        load_openml(path=7)


def test_a_run_records_the_revision(server, folder, monkeypatch):
    rows = "".join(f"{i % 2},{'ab'[i % 2]}\n" for i in range(40))
    monkeypatch.setitem(
        SETS,
        20,
        {"arff": f"@relation t\n@attribute x numeric\n@attribute class {{a,b}}\n@data\n{rows}"}
        | {"default_target_attribute": "class"},
    )
    settings = folder / "openml"
    settings.mkdir()
    (settings / "config").write_text(f"server={server.url}/api/v1/xml\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    monkeypatch.setenv("OPENML_CACHE_DIR", str(folder / "cache"))
    command = ["run", "--learners", "sklearn.naive_bayes:GaussianNB", "--data", "openml:20", "--trials", "1"]
    ended = subprocess.run(
        [sys.executable, "-m", "harness", *command, "--out", "out"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    (record,) = read_records(folder / "out")
    assert (record.dataset, record.n_features) == ("openml:20", 1)
    assert record.dataset_revision.startswith(f"{server.url}/d/20 version 3, MD5 ")
