"""Artifacts: found where they exist, otherwise sent in pieces, complete or not at all."""

import asyncio
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness import Dataset
from internals import (
    ABANDONED_SECONDS,
    COPIES_VARIABLE,
    LIMIT_VARIABLE,
    Artifact,
    Represented,
    _transfers,
    begin_transfer,
    code_artifact,
    data_artifact,
    files_of,
    find_artifact,
    finish_transfer,
    keep,
    keep_represented,
    patch_internal,
    pieces_of,
    read_header,
    receive_piece,
    representation_artifact,
)
from internals import checksum_of_artifact as checksum_of
from messages import assert_names


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """Return a function that switches between the data homes "host" and "worker"."""

    def go(name):
        monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / name))
        return tmp_path / name

    return go


@pytest.fixture
def kept(homes):
    """Return a dataset as stored by the host."""
    folder = homes("host") / "parsed" / "small-0123456789abcdef"
    X = csr_array(np.eye(4, dtype=np.float32)[np.arange(40) % 4])
    keep(Dataset(X, np.arange(40) % 4, ("a", "b", "c", "d")), folder)
    return data_artifact(str(folder), read_header(folder).fingerprint)


def send(parcel, *, piece_bytes=64, shuffle=0, spoil=lambda piece: piece):
    """Send an artifact to the current data home with pieces in some order; return the first error."""
    source = parcel.source
    pieces, checksums = [], {}
    for file in files_of(parcel):
        offset = 0
        for piece in pieces_of(f"{source}/{file}", piece_bytes):
            pieces.append((str(file), offset, piece))
            checksums[str(file), offset] = checksum_of(piece)
            offset += len(piece)
    random.Random(shuffle).shuffle(pieces)

    async def all_of_it():
        trouble = await begin_transfer("delivery", parcel, 1)
        for name, offset, piece in pieces:
            trouble = trouble or await receive_piece("delivery", name, offset, spoil(piece))
        return trouble or await finish_transfer("delivery", checksums)

    return asyncio.run(all_of_it())


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_data_of_the_host_is_read_in_place_where_visible(homes, kept, monkeypatch):
    homes("worker")
    assert str(find_artifact(kept)) == kept.source
    monkeypatch.setenv(COPIES_VARIABLE, "1")
    assert find_artifact(kept) is None


def test_data_in_the_workers_home_takes_precedence(homes, kept):
    homes("worker")
    assert send(kept) == ""
    assert find_artifact(kept) == kept.place
    assert content(kept.place) == content(find_artifact(kept))


@pytest.mark.parametrize("chance", range(3))
def test_pieces_in_any_order_give_the_sent_folder(homes, kept, chance, tmp_path):
    homes("worker")
    assert send(kept, piece_bytes=[50, 7, 10_000][chance], shuffle=chance) == ""
    assert content(kept.place) == content(tmp_path / "host" / "parsed" / kept.name)
    assert [path.name for path in kept.place.parent.iterdir()] == [kept.name]


@given(data=st.binary(max_size=300), piece_bytes=st.integers(1, 50))
def test_the_pieces_of_a_file_contain_all_of_it(tmp_path_factory, data, piece_bytes):
    file = tmp_path_factory.mktemp("pieces") / "file"
    file.write_bytes(data)
    pieces = list(pieces_of(file, piece_bytes))
    assert b"".join(pieces) == data
    assert pieces
    assert all(len(piece) <= piece_bytes for piece in pieces)


def test_a_corrupted_piece_is_detected_and_nothing_is_stored(homes, kept):
    homes("worker")
    trouble = send(kept, spoil=lambda piece: bytes(piece[:-1]) + bytes([piece[-1] ^ 1]))
    assert_names(trouble, f"{kept.name}")
    assert not list(kept.place.parent.iterdir())
    assert not _transfers


def test_modified_data_is_not_found_and_is_replaced(homes, kept, monkeypatch):
    monkeypatch.setenv(COPIES_VARIABLE, "1")
    homes("worker")
    assert send(kept) == ""
    file = kept.place / "labels" / "y.npy"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1] + b"\7")
    patch_internal(monkeypatch, "_verified", {})  # as another process sees it
    assert find_artifact(kept) is None
    assert send(kept) == ""
    assert find_artifact(kept) == kept.place


def test_two_hosts_may_send_the_same_artifact_concurrently(homes, kept):
    homes("worker")

    async def both():
        return await begin_transfer("first", kept, 1), await begin_transfer("second", kept, 1)

    assert asyncio.run(both()) == ("", "")
    assert send(kept) == ""
    for delivery in ("first", "second"):
        assert asyncio.run(finish_transfer(delivery, {})) == ""
    assert find_artifact(kept) == kept.place
    assert [path.name for path in kept.place.parent.iterdir()] == [kept.name]


def test_abandoned_transfers_are_removed(homes, kept, monkeypatch):
    homes("worker")
    assert asyncio.run(begin_transfer("forgotten", kept, 1)) == ""
    _transfers["forgotten"].last_piece -= ABANDONED_SECONDS + 1
    assert send(kept) == ""
    assert "forgotten" not in _transfers
    assert asyncio.run(receive_piece("forgotten", "y.npy", 0, b"late")) == "the transfer was interrupted"


def test_an_artifact_larger_than_the_disk_is_rejected_before_sending(homes, kept):
    homes("worker")
    trouble = asyncio.run(begin_transfer("large", kept, 10**18))
    assert_names(trouble, "1e+09", "GB")
    assert not list(kept.place.parent.iterdir())


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "inside/../../outside"])
def test_a_file_outside_the_folder_is_rejected(homes, kept, name):
    homes("worker")
    asyncio.run(begin_transfer("bad", kept, 1))
    assert_names(asyncio.run(receive_piece("bad", name, 0, b"x")), "below")
    assert "bad" not in _transfers


def test_a_representation_is_sent_like_data(homes, monkeypatch):
    monkeypatch.setenv(COPIES_VARIABLE, "1")
    folder = homes("host") / "represented" / "small-0123456789abcdef"
    rows = csr_array(np.eye(3, dtype=np.float32))
    keep_represented(Represented(rows, rows, 1.0, 0.5), folder)
    parcel = representation_artifact(str(folder))
    assert representation_artifact(str(folder.parent / "absent")) is None
    homes("worker")
    monkeypatch.setenv(
        LIMIT_VARIABLE, "1"
    )  # a single artifact over the limit is kept: it would be sent again each time
    assert find_artifact(parcel) is None
    assert send(parcel) == ""
    assert content(find_artifact(parcel)) == content(folder)


def test_code_is_identified_by_its_content(homes, tmp_path, monkeypatch):
    monkeypatch.setenv(COPIES_VARIABLE, "1")
    folder = tmp_path / "mine"
    (folder / "package").mkdir(parents=True)
    (folder / "package" / "__init__.py").write_text("one = 1\n")
    (folder / "other.txt").write_text("not sent\n")
    parcel = code_artifact(folder, [folder / "package" / "__init__.py"])
    homes("worker")
    assert send(parcel) == ""
    assert (find_artifact(parcel) / "package" / "__init__.py").read_text() == "one = 1\n"
    assert not (find_artifact(parcel) / "other.txt").exists()
    (folder / "package" / "__init__.py").write_text("one = 2\n")
    edited = code_artifact(folder, [folder / "package" / "__init__.py"])
    assert edited.name != parcel.name
    assert find_artifact(edited) is None


def test_a_missing_artifact_is_not_found(homes):
    homes("worker")
    assert find_artifact(Artifact("data", "absent-0123456789abcdef", "f00d", "/absent")) is None
