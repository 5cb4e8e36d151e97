"""Parsing in a separate process: valid data is stored, errors are returned with all their fields."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import small_data
from harness.errors import DataError, MissingData
from internals import (
    LocalExecutor,
    ParseJob,
    Workplace,
    checked,
    error_from,
    module_of,
    open_dataset,
    parse_in_process,
    parsed_root,
    run_parse_job,
)
from messages import naming
from small_data import assert_same, dataset, with_value


def load_sound():
    return dataset()


def load_unsound():
    return dataset(X=with_value(np.nan))


def load_refusing(rows=0):
    raise ValueError(f"rows={rows} is too few")


def load_failing():
    raise KeyError("gone")


def load_accusing(culprit, kind=DataError, **fields):
    raise kind("is torn", culprit=culprit, next_step="get it again", **fields)


@pytest.fixture
def parse(tmp_path):
    """Run the job on a loader of this file; return the error or None, and the folder."""

    def run(load, **params):
        job = ParseJob("mine", f"{__name__}:{load}", params, tmp_path / "kept")
        phases = []
        answer, blob = run_parse_job(pickle.loads(pickle.dumps(job)), phases.append)
        assert blob is None
        assert phases[0] == "loading"
        return answer and error_from(json.loads(json.dumps(answer))), job.folder

    return run


def test_valid_data_is_stored(parse):
    error, folder = parse("load_sound")
    assert error is None
    assert_same(open_dataset(folder), checked("mine", dataset()))


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        ("load_unsound", "dataset 'mine': row 1, feature 1 is nan"),
        ("load_refusing", "dataset 'mine': rows=3 is too few"),
        ("load_failing", "dataset 'mine': KeyError: 'gone'"),
        ("load_missing", "dataset 'mine': AttributeError: module"),
    ],
)
def test_a_failed_parse_returns_the_reason_and_stores_nothing(parse, load, reason):
    error, folder = parse(load, **({"rows": 3} if load == "load_refusing" else {}))
    assert str(error).startswith(reason)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("culprit", "expected"),
    [
        ("", "dataset 'mine'"),
        ("dataset 'mine'", "dataset 'mine'"),
        ("titles.csv, line 3", "dataset 'mine': titles.csv, line 3"),
    ],
)
def test_an_error_keeps_its_fields_and_names_the_dataset_once(parse, culprit, expected):
    error, _ = parse("load_accusing", culprit=culprit)
    assert (error.culprit, error.trouble, error.next_step) == (expected, "is torn", "get it again")


def test_an_error_keeps_its_type(parse):
    error, _ = parse("load_accusing", culprit="", kind=MissingData, command="harness data fetch mine")
    assert isinstance(error, MissingData)
    assert error.command == "harness data fetch mine"


LOADER = """
from pathlib import Path
from harness.errors import DataError

def load(source):
    raise DataError(f"{source} says {Path(source).read_text()}", next_step="write another")
"""


def test_a_loader_runs_in_the_executor_and_its_error_is_raised_in_the_caller(tmp_path):
    (tmp_path / "parsing_loader.py").write_text(LOADER)
    (tmp_path / "what was given").write_text("nothing")
    given = {"source": "what was given"}
    with LocalExecutor(Workplace(path=(str(tmp_path),))) as executor, pytest.raises(DataError) as caught:
        parse_in_process("mine", "parsing_loader:load", given, tmp_path / "kept", executor, run_in=tmp_path)
    assert caught.value.fields() == {
        "culprit": "dataset 'mine'",
        "trouble": "what was given says nothing",
        "next_step": "write another",
    }


KILLED = """
import os
from pathlib import Path
from importlib import import_module

def die(*_):
    os.kill(os.getpid(), 9)

import_module("{ARRAYS}").move_form = die  # the moment at which all is written and nothing is in its place

def load():
    from small_data import dataset
    return dataset()
"""


def test_leftovers_of_a_killed_parse_are_removed_by_the_next_parse(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "killed_loader.py").write_text(KILLED.replace("{ARRAYS}", module_of("keep")))
    folder = parsed_root() / f"mine-{'0' * 16}"
    other = parsed_root() / f".other-{'0' * 16}-abcd1234"
    other.mkdir(parents=True)
    with LocalExecutor(Workplace(path=(str(tmp_path), str(Path(small_data.__file__).parent)))) as executor:
        for _ in range(3):
            with pytest.raises(DataError, match=naming("loaded")):
                parse_in_process("mine", "killed_loader:load", {}, folder, executor)
            assert len(list(parsed_root().glob(".mine-*"))) == 1
        parse_in_process("mine", "small_data:dataset", {}, folder, executor)
    assert {path.name for path in parsed_root().iterdir()} == {folder.name, other.name}
