"""Machine facts and id: stable, and without host or user name."""

import getpass
import json
import platform
from dataclasses import asdict
from importlib.metadata import version

import pytest

from internals import Machine, describe_machine, describe_versions, read_commit, read_machine
from messages import assert_names


def test_machine_facts_are_stable_and_can_be_saved():
    first, second = describe_machine(), describe_machine()
    assert first == second == read_machine(json.loads(json.dumps(asdict(first))))
    assert len(first.id) == 8
    assert first.cores >= 1
    assert first.memory_bytes > 2**20


def test_facts_contain_neither_host_nor_user_name():
    words = json.dumps(asdict(describe_machine())).lower()
    assert platform.node().lower() not in words
    assert f"/{getpass.getuser().lower()}" not in words


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (Machine("m1", "Fast", 8), "Fast, 8 cores (m1)"),
        (Machine("m1", "Old", 1), "Old, 1 core (m1)"),
        (Machine("m1"), "unknown processor, ? cores (m1)"),
    ],
)
def test_a_machine_is_identified_by_processor_cores_and_id(machine, words):
    assert str(machine) == words


@pytest.mark.parametrize("facts", [None, "m1", {}, {"id": 3, "cores": 2}])
def test_facts_without_an_id_are_rejected(facts):
    assert read_machine(facts) is None


@pytest.mark.parametrize(
    ("facts", "machine"),
    [
        ({"id": "a"}, Machine("a")),
        ({"id": "a", "cores": "two", "memory_bytes": None, "processor": None, "system": 3}, Machine("a", system="3")),
        ({"id": "a", "cores": 2, "colour": "grey"}, Machine("a", cores=2)),
        ({"id": "a\nb", "processor": "Fast\n\\input{x}"}, Machine("a b", "Fast \\input{x}")),
        ({"cores": 2}, None),
        ({"id": 3}, None),
        (["a"], None),
        (None, None),
    ],
)
def test_invalid_facts_become_unknown(facts, machine):
    assert read_machine(facts) == machine


def test_a_machine_is_described_in_one_line():
    assert str(Machine("ab", "Fast", 8, 2**33, "Linux")) == "Fast, 8 cores (ab)"
    assert str(Machine("ab", "Fast", 1)) == "Fast, 1 core (ab)"
    assert_names(str(Machine("ab")), "processor")


def test_versions_are_those_installed():
    versions = describe_versions()
    assert versions["python"] == platform.python_version()
    assert versions["manyclass-harness"] == version("manyclass-harness")
    assert versions["numpy"] == version("numpy")


def test_the_commit_is_a_short_hash_or_nothing():
    commit = read_commit()
    assert commit is None or (len(commit.removesuffix("+")) == 12 and int(commit.removesuffix("+"), 16) >= 0)
