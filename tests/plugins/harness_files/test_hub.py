"""`hf:NAME` datasets, read by the Hub's client from a local server."""

import io
import json
import os
import re
import subprocess
import sys

import pyarrow
import pyarrow.parquet
import pytest

import hub_reader
from harness.errors import DataError
from harness_files.hub import find_commit
from hubs import COMMIT, hub_server
from internals import read_records
from messages import assert_names, naming

pytest.importorskip("datasets", reason="the extra hf is not installed")

NAMED = b"""---
dataset_info:
  features:
  - name: words
    dtype: string
  - name: sort
    dtype:
      class_label:
        names:
          '0': bakery
          '1': dairy
configs:
- config_name: default
  data_files:
  - split: train
    path: train.csv
  - split: validation
    path: dev.csv
  - split: test
    path: test.csv
---
"""
TWO = b"""---
configs:
- config_name: english
  data_files: en.csv
- config_name: french
  data_files: fr.csv
---
"""


def parquet(**columns):
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), stream)
    return stream.getvalue()


REPOS = {
    "shop/titles": {
        "README.md": NAMED,
        "train.csv": b"words,sort\nrye bread,0\nwhole milk,1\n",
        "dev.csv": b"words,sort\noat roll,0\n",
        "test.csv": b"words,sort\nwheat bread,0\nsoft cheese,-1\n",
    },
    "shop/two": {"README.md": TWO, "en.csv": b"text,label\nmilk,a\n", "fr.csv": b"text,label\nlait,a\npain,b\n"},
    "shop/lists": {
        "data/train-00000-of-00001.parquet": parquet(
            text=["a", "b"], vector=[[1.0, 2.0], [0.0, -3.0]], label=[["x", "y"], ["x"]]
        )
    },
    "shop/broken": {"train.jsonl": b'{"text": "a"\n'},
    "shop/run": {"train.csv": b"text,label\n" + b"".join(b"w%d of,c%d\n" % (i % 4, i % 4) for i in range(40))},
}


@pytest.fixture(scope="module")
def server():
    server = hub_server(REPOS)
    yield server
    server.close()


@pytest.fixture(scope="module")
def hub_environment(server, tmp_path_factory):
    """Return environment variables that point a process to this Hub, with an empty cache."""
    cache = {"HF_HOME": str(tmp_path_factory.mktemp("hub"))}
    return {**os.environ, **cache, "HF_ENDPOINT": server.url, "NO_PROXY": "127.0.0.1"}


@pytest.fixture(scope="module")
def call_reader(hub_environment):
    """Call a function of the reader in a process that has used no other Hub."""
    with subprocess.Popen(
        [sys.executable, hub_reader.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=hub_environment,
    ) as process:

        def call(function, **params):
            process.stdin.write(json.dumps([function, params]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield call
        process.stdin.close()


def test_class_names_and_splits_come_from_the_hub(call_reader, server):
    data = call_reader("load_hf", path="shop/titles", missing="drop")
    assert data["texts"] == ["rye bread", "whole milk", "oat roll", "wheat bread"]
    assert (data["y"], data["names"]) == ([0, 1, 0, 0], ["bakery", "dairy"])
    assert data["splits"] == {"test": [[0, 1, 2], [3]]}
    assert data["revision"] == f"{server.url}/datasets/shop/titles@{COMMIT}"
    assert_names(data["found"], "3", "1", "rows")
    assert_names(data["found"], "1", "words", "sort")


def test_only_the_named_split_is_read(call_reader):
    data = call_reader("load_hf", path="shop/titles", split="train", revision="v2")
    assert (data["texts"], data["splits"]) == (["rye bread", "whole milk"], {})


def test_a_configuration_is_chosen_by_name(call_reader):
    assert call_reader("load_hf", path="shop/two", config="french")["texts"] == ["lait", "pain"]


def test_list_columns_become_several_labels_or_a_vector(call_reader):
    data = call_reader("load_hf_numbers", path="shop/lists", features="vector", label="label")
    assert data["X"] == [[1, 2], [0, -3]]
    assert (data["y"], data["names"]) == ([[1, 1], [1, 0]], ["x", "y"])


def test_the_commit_is_looked_up_unless_given_as_the_revision(call_reader, server):
    found = call_reader("stamp_hf", path="shop/titles")
    assert found.startswith(COMMIT)
    before = len(server.requests)
    assert call_reader("stamp_hf", path="shop/titles", revision=COMMIT, text="words") == found
    assert len(server.requests) == before


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"path": "shop/none"}, "the Hub has no dataset 'shop/none', or it is private. Look it up at http://127"),
        ({"path": "a/b/c"}, "the Hub has no dataset 'a/b/c'"),
        ({"path": "shop/titles", "revision": "v9"}, "'shop/titles' has no revision 'v9'. See http"),
        ({"path": "shop/titles"}, "line 2: the label is missing: .*--set \"titles.missing='drop'\""),
        ({"path": "shop/titles", "split": "train+dev"}, "no split 'dev'. Set split= to one of train, validation, test"),
        ({"path": "shop/titles", "text": "body"}, r"no column 'body' for the text\. Columns: 'words', 'sort'"),
        (
            {"path": "shop/two"},
            r'2 configurations. Choose one, as in .*hf:shop/two\(config=english\)": english, french',
        ),
        ({"path": "shop/two", "config": "german"}, "no configuration 'german'. Set config= to one of english, french"),
        ({"path": "shop/broken"}, r"the client of the Hub cannot read 'shop/broken' \(.*download its files"),
    ],
)
def test_errors_name_the_problem_and_the_next_step(call_reader, params, message):
    assert re.search(message, call_reader("load_hf", **params)["error"])


def test_a_missing_client_raises_an_error_that_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DataError, match=naming("manyclass-harness[hf]")):
        find_commit("shop/titles", None)


def run(hub_environment, *more):
    command = ["run", "--learners", "sklearn.naive_bayes:MultinomialNB", "--trials", "1", *more]
    return subprocess.run(
        [sys.executable, "-m", "harness", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=hub_environment,
    )


def test_a_run_records_the_commit_and_repeats_offline(hub_environment, folder, server):
    ended = run(hub_environment, "--data", "hf:shop/run", "--out", "out")
    assert ended.returncode == 0, ended.stderr
    (record,) = read_records(folder / "out")
    assert record.dataset_revision == f"{server.url}/datasets/shop/run@{COMMIT}"
    away = {**hub_environment, "HF_ENDPOINT": "http://127.0.0.1:1"}
    again = run(away, "--data", "hf:shop/run", "--out", "out")
    assert again.returncode == 0, again.stderr
    other = run(away, "--data", "hf:shop/never")
    assert other.returncode == 2
    assert_names(other.stderr, "http://127.0.0.1:1/datasets/shop/never")
