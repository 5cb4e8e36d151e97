"""Cached representations: mapped by every trial, verified before use, and evicted when space is needed."""

import os

import numpy as np
import pytest
from scipy.sparse import csr_array

from internals import (
    Represented,
    keep_represented,
    make_room,
    open_represented,
    owner_of,
    represented_name,
    represented_root,
)

PARTS = Represented(csr_array(np.eye(3, 5, dtype=np.float32)), csr_array(np.eye(2, 5, dtype=np.float32)), 1.5, 0.5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))

    def name(seed=0):
        return represented_root() / represented_name("titles", "f" * 64, "holdout:0.1", seed, "words")

    return name


def test_both_parts_are_restored_with_their_cost(folder):
    assert open_represented(folder()) is None
    keep_represented(PARTS, folder())
    keep_represented(PARTS, folder())  # another run was as far
    found = open_represented(folder())
    assert (found.train != PARTS.train).nnz == 0
    assert (found.test != PARTS.test).nnz == 0
    assert (found.seconds, found.cpu_seconds) == (1.5, 0.5)
    assert owner_of(folder()) == "titles"


def test_a_learner_that_writes_changes_its_own_copy(folder):
    keep_represented(PARTS, folder())
    open_represented(folder()).train.data[:] = 7
    assert (open_represented(folder()).train != PARTS.train).nnz == 0


@pytest.mark.parametrize("file", ["train_data.npy", "test_indices.npy", "header.json"])
def test_modified_cache_files_are_not_used(folder, file):
    keep_represented(PARTS, folder())
    path = folder() / file
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
    assert open_represented(folder()) is None


def test_the_least_recently_used_entry_is_evicted(folder):
    for seed in range(3):
        keep_represented(PARTS, folder(seed))
        os.utime(folder(seed), (seed, seed))
    open_represented(folder(0))  # used again
    one = sum(file.stat().st_size for file in folder(0).iterdir())
    make_room(2 * one)
    assert [folder(seed).exists() for seed in range(3)] == [True, False, True]
    make_room(0)
    assert not any(folder(seed).exists() for seed in range(3))


def test_every_setting_that_changes_the_content_has_a_separate_folder(folder):
    base = ("titles", "f" * 64, "holdout:0.1", 0, "words")
    others = [("titles", "e" * 64, *base[2:]), (*base[:2], "holdout:0.2", *base[3:]), (*base[:4], "chars")]
    assert len({represented_name(*one) for one in (base, *others, (*base[:3], 1, "words"))}) == 5
