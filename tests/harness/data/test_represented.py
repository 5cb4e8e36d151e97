"""What is represented once is mapped by every trial, only if it is what was kept, and makes room when there is none."""

import os

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness.data.represented import Represented, keep_represented, make_room, open_represented
from harness.home import owner_of, represented_name, represented_root

PARTS = Represented(csr_array(np.eye(3, 5, dtype=np.float32)), csr_array(np.eye(2, 5, dtype=np.float32)), 1.5, 0.5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))

    def name(seed=0):
        return represented_root() / represented_name("titles", "f" * 64, "holdout:0.1", seed, "words")

    return name


def test_both_parts_come_back_with_what_they_took(folder):
    assert open_represented(folder()) is None
    keep_represented(PARTS, folder())
    keep_represented(PARTS, folder())  # another run was as far
    found = open_represented(folder())
    assert (found.train != PARTS.train).nnz == 0
    assert (found.test != PARTS.test).nnz == 0
    assert (found.seconds, found.cpu_seconds) == (1.5, 0.5)
    assert owner_of(folder()) == "titles"


def test_a_learner_that_writes_changes_its_own_copy_alone(folder):
    keep_represented(PARTS, folder())
    open_represented(folder()).train.data[:] = 7
    assert (open_represented(folder()).train != PARTS.train).nnz == 0


@pytest.mark.parametrize("file", ["train_data.npy", "test_indices.npy", "header.json"])
def test_what_was_changed_is_not_used(folder, file):
    keep_represented(PARTS, folder())
    path = folder() / file
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
    assert open_represented(folder()) is None


def test_what_was_used_longest_ago_makes_room(folder):
    for seed in range(3):
        keep_represented(PARTS, folder(seed))
        os.utime(folder(seed), (seed, seed))
    open_represented(folder(0))  # used again
    one = sum(file.stat().st_size for file in folder(0).iterdir())
    make_room(2 * one)
    assert [folder(seed).exists() for seed in range(3)] == [True, False, True]
    make_room(0)
    assert not any(folder(seed).exists() for seed in range(3))


def test_every_decisive_thing_has_a_folder_of_its_own(folder):
    base = ("titles", "f" * 64, "holdout:0.1", 0, "words")
    others = [("titles", "e" * 64, *base[2:]), (*base[:2], "holdout:0.2", *base[3:]), (*base[:4], "chars")]
    assert len({represented_name(*one) for one in (base, *others, (*base[:3], 1, "words"))}) == 5
