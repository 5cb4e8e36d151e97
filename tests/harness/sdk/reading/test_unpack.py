"""Packed files and archives: each packing is told by its content, and what no honest file has is refused."""

import bz2
import gzip
import io
import lzma
import random
import stat
import tarfile
import zipfile

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import DataError
from harness.sdk.reading import unpack
from harness.sdk.reading.unpack import examine, kind_of, members_of, open_raw, without_suffix

PACKINGS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
TEXT = b"one two three\n" * 1000


def read(path, **more):
    with open_raw(path, **more) as stream:
        return stream.read()


def tar_of(members, mode="w"):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as archive:
        for name, content in members.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = 0 if content is info else len(content)
            archive.addfile(info, None if content is info else io.BytesIO(content))
    return target.getvalue()


def zip_of(members):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def special(name, kind):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "/etc/passwd"
    return info


def contents(path):
    return {name: stream.read() for name, stream in members_of(path, kind_of(path))}


@pytest.fixture
def write(tmp_path):
    def write(content, name="file"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


# -- single files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packing", PACKINGS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=3))
def test_every_packing_gives_back_what_went_in_also_in_several_pieces(write, packing, parts):
    path = write(b"".join(map(PACKINGS[packing], parts)))
    assert read(path) == b"".join(parts)


def test_the_name_tells_nothing(write):
    assert read(write(gzip.compress(TEXT, mtime=0), "file.txt")) == TEXT
    assert read(write(TEXT, "file.gz")) == TEXT


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_torn_file_is_an_error_that_names_it(write, packing):
    path = write(PACKINGS[packing](TEXT)[:-9])
    with pytest.raises(DataError, match=f"{path} cannot be read"):
        read(path)


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_changed_byte_is_an_error(write, packing):
    content = bytearray(PACKINGS[packing](TEXT))
    content[len(content) * 2 // 3] ^= 0x40
    with pytest.raises(DataError, match="cannot be read"):
        read(write(bytes(content)))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=f"{tmp_path / 'none'} cannot be read \\(FileNotFoundError"):
        read(tmp_path / "none")


@pytest.mark.parametrize("packing", PACKINGS)
def test_more_bytes_than_allowed_are_refused(write, packing):
    path = write(PACKINGS[packing](bytes(10_000)))
    assert read(path, most_bytes=10_000) == bytes(10_000)
    with pytest.raises(DataError, match="is refused: it unpacks to more than 9,999 bytes"):
        read(path, most_bytes=9_999)


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_bomb_is_refused_by_its_ratio(write, packing, monkeypatch):
    monkeypatch.setattr(unpack, "FREE_BYTES", 2**20)
    path = write(PACKINGS[packing](bytes(2**22)))
    with pytest.raises(DataError, match="is refused: it unpacks to more than 500 times its size"):
        read(path)


def test_a_plain_file_has_no_limit(write):
    assert read(write(TEXT), most_bytes=1) == TEXT


def test_a_stream_is_unpacked_like_a_file():
    with open_raw(io.BytesIO(gzip.compress(TEXT, mtime=0)), name="inner") as stream:
        assert stream.read() == TEXT


def test_the_ending_of_a_packing_is_taken_off_a_name():
    assert [without_suffix(name) for name in ("a.txt.gz", "a.txt.zst", "a.txt", "gz")] == [
        "a.txt",
        "a.txt",
        "a.txt",
        "gz",
    ]


# -- archives --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, *PACKINGS.values()])
def test_members_of_a_tar_come_out_whatever_packs_it(write, pack):
    path = write(pack(tar_of({"a/b.txt": TEXT, "c": b""})))
    assert kind_of(path) == "tar"
    assert contents(path) == {"a/b.txt": TEXT, "c": b""}


def test_members_of_a_zip_come_out(write):
    path = write(zip_of({"a/b.txt": TEXT, "c/": b"", "d": b""}))
    assert kind_of(path) == "zip"
    assert contents(path) == {"a/b.txt": TEXT, "d": b""}


@pytest.mark.parametrize("content", [b"", b"PK", b"plain text", gzip.compress(b"plain text", mtime=0)], ids=range(4))
def test_anything_else_is_plain(write, content):
    assert kind_of(write(content)) == "plain"


@pytest.mark.parametrize("name", ["/etc/passwd", "../out", "a/../../out", "..", "a\\..\\..\\out", "C:/out"])
@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_members_that_would_leave_the_folder_are_refused(write, make, name):
    with pytest.raises(DataError, match="would leave the folder"):
        contents(write(make({"fine": b"x", name: b"x"})))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(write, kind):
    with pytest.raises(DataError, match="its member 'bad' is a link or device"):
        contents(write(tar_of({"bad": special("bad", kind)})))


def test_links_in_a_zip_are_refused(write):
    link = zipfile.ZipInfo("bad")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(DataError, match="its member 'bad' is a link or device"):
        contents(write(zip_of({link: b"/etc/passwd"})))


def test_a_bomb_in_a_zip_is_refused(write, monkeypatch):
    monkeypatch.setattr(unpack, "FREE_BYTES", 2**20)
    path = write(zip_of({"zeros": bytes(2**24)}))
    with pytest.raises(DataError, match="is refused: it unpacks to more than 500 times its size"):
        contents(path)


def test_many_small_bombs_in_a_zip_are_as_one_large_one(write, monkeypatch):
    monkeypatch.setattr(unpack, "FREE_BYTES", 2**20)
    path = write(zip_of({str(i): bytes(2**19) for i in range(60)}))
    with pytest.raises(DataError, match=f"{path} is refused: it unpacks to more than 500 times its size"):
        contents(path)


# -- examining -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [b"", TEXT, gzip.compress(TEXT, mtime=0), tar_of({"a": TEXT}), zip_of({"a": TEXT})], ids=range(5)
)
def test_sound_files_pass(write, content):
    examine(write(content))


def test_an_archive_that_unpacks_to_too_much_in_all_is_refused(write, monkeypatch):
    path = write(zip_of({str(i): bytes(1000) for i in range(10)}))
    monkeypatch.setattr(unpack, "MOST_BYTES", 9_999)
    with pytest.raises(DataError, match="is refused: it unpacks to more than 9,999 bytes"):
        examine(path)


@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_a_torn_archive_is_found(write, make):
    path = write(make({"a": random.Random(0).randbytes(25_600)})[:2000])
    with pytest.raises(DataError, match="cannot be read"):
        examine(path)


def test_a_changed_byte_in_a_zip_is_found(write):
    content = bytearray(zip_of({"a": bytes(range(256))}))
    content[100] ^= 1
    with pytest.raises(DataError, match="cannot be read"):
        examine(write(bytes(content)))


def test_an_encrypted_zip_is_told_so(write):
    content = bytearray(zip_of({"a": TEXT}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    content[6] |= 1
    with pytest.raises(DataError, match=r"cannot be read .*encrypted"):
        examine(write(bytes(content)))
