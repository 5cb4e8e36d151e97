"""Experiments beyond the size limits are rejected before planning, with the limit."""

import os

import pytest

from harness.errors import DataError, HarnessError, SpecError
from internals import (
    Session,
    build,
    discover,
    find_file_format,
    load_experiment,
    parse_duration,
    parse_memory,
    read_experiment,
    read_file,
)
from messages import naming


@pytest.fixture(scope="module")
def session():
    return Session()


def read(session, **keys):
    return read_experiment(load_experiment(None, {"datasets": "digits", **keys}, session.catalog), session)


@pytest.mark.parametrize(
    ("keys", "trouble"),
    [
        ({"learners": "pa", "trials": 10**8}, "trials: expected 100,000 or less (got 100000000)"),
        ({"learners": "pa", "trials": 10**30}, "trials: expected 100,000 or less"),
        (
            {"learners": f"pa(C={list(range(1, 300))}, passes={list(range(1, 300))})"},
            "894,010 trials, and at most 100,000",
        ),
        ({"learners": "pa", "split": "kfold:1000000"}, "1,000,000 trials, and at most 100,000"),
        (
            {"learners": "pa", "datasets": f"topics(rows={list(range(1, 20_000))})"},
            "a grid of 19,999 datasets, more than 10,000",
        ),
        ({"learners": f"pa(C={'[' * 60}1{']' * 60})"}, "brackets more than 50 deep"),
        ({"learners": "pa", "memory": "9" * 300 + "GB"}, "is not a size such as"),
        ({"learners": "pa", "timeout": "9" * 308 + "h"}, "is not a time such as"),
        ({"learners": "pa", "datasets": "9" * 3000 + ".csv"}, "there is no such file"),
        ({"learners": "pa", "datasets": "~nobody-of-this-name/x.csv"}, "there is no such file"),
    ],
)
def test_an_experiment_beyond_a_limit_is_rejected(session, keys, trouble):
    with pytest.raises(HarnessError) as refused:
        read(session, **keys)
    assert trouble in str(refused.value)


def test_a_grid_of_the_maximum_size_is_accepted(session):
    resolved = read(session, learners=f"pa(C={list(range(1, 101))})", trials=1000)
    assert resolved.experiment.trials == 1000


def test_a_duplicate_is_found_among_many_thousands_of_learners():
    names = [f"a{number}" for number in range(9_000)]
    with pytest.raises(SpecError, match=naming("a8999")):
        build({"learners": ",".join([*names, names[-1]])}, "command line")


@pytest.mark.parametrize("content", ["x = " + "[" * 60 + "]" * 60, "x = " + "[" * 30_000, "trials = " + "9" * 5000])
def test_a_file_too_deep_or_with_too_large_numbers_is_rejected(tmp_path, content):
    path = tmp_path / "mine.toml"
    path.write_text(f'learners = "pa"\n{content}\n')
    with pytest.raises(SpecError, match=r"mine.toml: (not valid TOML|nested more than 50 deep|cannot be read)"):
        build(read_file(path), str(path))


def test_a_pipe_is_rejected_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(DataError, match="a pipe or a device"):
        find_file_format(str(tmp_path / "pipe.csv"), discover())
    with pytest.raises(SpecError, match=naming("file")):
        read_file(tmp_path / "pipe.toml")


def test_large_limits_are_accepted():
    assert parse_duration("9" * 15) == 10**15 - 1
    assert parse_memory("1" + "0" * 8 + "GB") == 10**17
