"""The machine: facts and an id that are the same each time, and neither host nor user in them."""

import getpass
import json
import platform
from importlib.metadata import version

from harness.machine import describe_machine, describe_versions, read_commit


def test_the_facts_of_a_machine_stay_the_same_and_can_be_written_down():
    first, second = describe_machine(), describe_machine()
    assert first == second == json.loads(json.dumps(first))
    assert first.keys() == {"id", "processor", "cores", "memory_bytes", "system"}
    assert len(first["id"]) == 8
    assert first["cores"] >= 1
    assert first["memory_bytes"] > 2**20


def test_neither_the_host_nor_the_user_is_named():
    words = json.dumps(describe_machine()).lower()
    assert platform.node().lower() not in words
    assert f"/{getpass.getuser().lower()}" not in words


def test_versions_are_those_installed():
    versions = describe_versions()
    assert versions["python"] == platform.python_version()
    assert versions["manyclass-harness"] == version("manyclass-harness")
    assert versions["numpy"] == version("numpy")


def test_the_commit_is_a_short_hash_or_nothing():
    commit = read_commit()
    assert commit is None or (len(commit.removesuffix("+")) == 12 and int(commit.removesuffix("+"), 16) >= 0)
