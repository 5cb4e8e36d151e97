"""Parcels: found where they are, sent in pieces where they are not, whole or not at all."""

import asyncio
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness import Dataset
from harness.cluster.parcels import (
    COPIES_VARIABLE,
    Parcel,
    checksum_of,
    code_parcel,
    data_parcel,
    files_of,
    find,
    pieces_of,
    representation_parcel,
)
from harness.cluster.receiving import FORGOTTEN_SECONDS, _coming, finish_parcel, take_parcel, take_piece
from harness.data.arrays import keep, read_header
from harness.data.represented import LIMIT_VARIABLE, Represented, keep_represented


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """Two data homes; `homes("host")` goes to the one, `homes("worker")` to the other."""

    def go(name):
        monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / name))
        return tmp_path / name

    return go


@pytest.fixture
def kept(homes):
    """A data set as the host keeps it."""
    folder = homes("host") / "parsed" / "small-0123456789abcdef"
    X = csr_array(np.eye(4, dtype=np.float32)[np.arange(40) % 4])
    keep(Dataset(X, np.arange(40) % 4, ("a", "b", "c", "d")), folder)
    return data_parcel(str(folder), read_header(folder).fingerprint)


def send(parcel, *, piece_bytes=64, shuffle=0, spoil=lambda piece: piece):
    """Send a parcel to the data home of now, its pieces in some order; gives the first complaint."""
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
        trouble = await take_parcel("delivery", parcel, 1)
        for name, offset, piece in pieces:
            trouble = trouble or await take_piece("delivery", name, offset, spoil(piece))
        return trouble or await finish_parcel("delivery", checksums)

    return asyncio.run(all_of_it())


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_data_of_the_host_is_read_in_place_where_it_can_be_seen(homes, kept, monkeypatch):
    homes("worker")
    assert str(find(kept)) == kept.source
    monkeypatch.setenv(COPIES_VARIABLE, "1")
    assert find(kept) is None


def test_data_in_the_workers_own_home_comes_first(homes, kept):
    homes("worker")
    assert send(kept) == ""
    assert find(kept) == kept.place
    assert content(kept.place) == content(find(kept))


@pytest.mark.parametrize("chance", range(3))
def test_pieces_in_any_order_make_the_folder_that_was_sent(homes, kept, chance, tmp_path):
    homes("worker")
    assert send(kept, piece_bytes=[50, 7, 10_000][chance], shuffle=chance) == ""
    assert content(kept.place) == content(tmp_path / "host" / "parsed" / kept.name)
    assert [path.name for path in kept.place.parent.iterdir()] == [kept.name]


@given(data=st.binary(max_size=300), piece_bytes=st.integers(1, 50))
def test_pieces_of_a_file_are_all_of_it(tmp_path_factory, data, piece_bytes):
    file = tmp_path_factory.mktemp("pieces") / "file"
    file.write_bytes(data)
    pieces = list(pieces_of(file, piece_bytes))
    assert b"".join(pieces) == data
    assert pieces
    assert all(len(piece) <= piece_bytes for piece in pieces)


def test_a_piece_that_changed_on_the_way_is_noticed_and_nothing_stays(homes, kept):
    homes("worker")
    trouble = send(kept, spoil=lambda piece: bytes(piece[:-1]) + bytes([piece[-1] ^ 1]))
    assert f"what came of {kept.name} is not what was sent" in trouble
    assert not list(kept.place.parent.iterdir())
    assert not _coming


def test_data_that_was_changed_since_is_not_found_and_is_replaced(homes, kept, monkeypatch):
    monkeypatch.setenv(COPIES_VARIABLE, "1")
    homes("worker")
    assert send(kept) == ""
    file = kept.place / "y.npy"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1] + b"\7")
    monkeypatch.setattr("harness.cluster.parcels._seen_whole", {})  # as another process sees it
    assert find(kept) is None
    assert send(kept) == ""
    assert find(kept) == kept.place


def test_two_hosts_may_send_the_same_at_once(homes, kept):
    homes("worker")

    async def both():
        return await take_parcel("first", kept, 1), await take_parcel("second", kept, 1)

    assert asyncio.run(both()) == ("", "")
    assert send(kept) == ""
    for delivery in ("first", "second"):
        assert asyncio.run(finish_parcel(delivery, {})) == ""
    assert find(kept) == kept.place
    assert [path.name for path in kept.place.parent.iterdir()] == [kept.name]


def test_what_a_host_began_and_forgot_is_cleared_away(homes, kept, monkeypatch):
    homes("worker")
    assert asyncio.run(take_parcel("forgotten", kept, 1)) == ""
    _coming["forgotten"].heard -= FORGOTTEN_SECONDS + 1
    assert send(kept) == ""
    assert "forgotten" not in _coming
    assert asyncio.run(take_piece("forgotten", "y.npy", 0, b"late")) == "broken off"


def test_more_than_the_disk_holds_is_refused_before_it_is_sent(homes, kept):
    homes("worker")
    trouble = asyncio.run(take_parcel("large", kept, 10**18))
    assert "free, and 1e+09 GB are to come" in trouble
    assert not list(kept.place.parent.iterdir())


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "inside/../../outside"])
def test_a_file_beside_the_folder_is_refused(homes, kept, name):
    homes("worker")
    asyncio.run(take_parcel("bad", kept, 1))
    assert "does not lie below" in asyncio.run(take_piece("bad", name, 0, b"x"))
    assert "bad" not in _coming


def test_a_representation_is_sent_as_data_is(homes, monkeypatch):
    monkeypatch.setenv(COPIES_VARIABLE, "1")
    folder = homes("host") / "represented" / "small-0123456789abcdef"
    rows = csr_array(np.eye(3, dtype=np.float32))
    keep_represented(Represented(rows, rows, 1.0, 0.5), folder)
    parcel = representation_parcel(str(folder))
    assert representation_parcel(str(folder.parent / "absent")) is None
    homes("worker")
    monkeypatch.setenv(LIMIT_VARIABLE, "1")  # one that alone is over the limit is kept: it would be sent again for ever
    assert find(parcel) is None
    assert send(parcel) == ""
    assert content(find(parcel)) == content(folder)


def test_code_is_known_by_its_content(homes, tmp_path, monkeypatch):
    monkeypatch.setenv(COPIES_VARIABLE, "1")
    folder = tmp_path / "mine"
    (folder / "package").mkdir(parents=True)
    (folder / "package" / "__init__.py").write_text("one = 1\n")
    (folder / "other.txt").write_text("not sent\n")
    parcel = code_parcel(folder, [folder / "package" / "__init__.py"])
    homes("worker")
    assert send(parcel) == ""
    assert (find(parcel) / "package" / "__init__.py").read_text() == "one = 1\n"
    assert not (find(parcel) / "other.txt").exists()
    (folder / "package" / "__init__.py").write_text("one = 2\n")
    edited = code_parcel(folder, [folder / "package" / "__init__.py"])
    assert edited.name != parcel.name
    assert find(edited) is None


def test_a_parcel_that_is_nowhere_is_found_nowhere(homes):
    homes("worker")
    assert find(Parcel("data", "absent-0123456789abcdef", "f00d", "/absent")) is None
