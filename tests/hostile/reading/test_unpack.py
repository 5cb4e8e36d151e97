"""Compressed files and archives: detected by content, and unsafe ones rejected."""

import bz2
import gzip
import io
import lzma
import random
import stat
import tarfile
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compressed import zstd_compress
from harness.errors import DataError
from internals import examine, kind_of, open_raw, patch_internal, without_suffix
from internals import members_of_archive as members_of
from messages import naming

PACKINGS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd_compress,
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
def test_every_compression_round_trips_in_one_or_several_frames(write, packing, parts):
    path = write(b"".join(map(PACKINGS[packing], parts)))
    assert read(path) == b"".join(parts)


def test_the_file_name_does_not_matter(write):
    assert read(write(gzip.compress(TEXT, mtime=0), "file.txt")) == TEXT
    assert read(write(TEXT, "file.gz")) == TEXT


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_truncated_file_is_an_error_that_names_it(write, packing):
    path = write(PACKINGS[packing](TEXT)[:-9])
    with pytest.raises(DataError, match=f"{path}: cannot be read"):
        read(path)


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_large_file_truncated_in_the_middle_is_an_error(write, packing):
    packed = PACKINGS[packing](random.Random(0).randbytes(2**21))
    path = write(packed[: len(packed) // 2])
    with pytest.raises(DataError, match=f"{path}: cannot be read"):
        read(path)


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_changed_byte_is_an_error(write, packing):
    content = bytearray(PACKINGS[packing](TEXT))
    content[len(content) * 2 // 3] ^= 0x40
    with pytest.raises(DataError, match="cannot be read"):
        read(write(bytes(content)))


def test_a_missing_file_raises_an_error_that_names_it(tmp_path):
    with pytest.raises(DataError, match=naming(f"{tmp_path / 'none'}", "FileNotFoundError")):
        read(tmp_path / "none")


@pytest.mark.parametrize("packing", PACKINGS)
def test_more_bytes_than_allowed_are_rejected(write, packing):
    path = write(PACKINGS[packing](bytes(10_000)))
    assert read(path, most_bytes=10_000) == bytes(10_000)
    with pytest.raises(DataError, match=naming("9,999")):
        read(path, most_bytes=9_999)


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_decompression_bomb_is_rejected_by_its_ratio(write, packing, monkeypatch):
    patch_internal(monkeypatch, "FREE_BYTES", 2**20)
    path = write(PACKINGS[packing](bytes(2**22)))
    with pytest.raises(DataError, match=naming("500")):
        read(path)


def test_a_plain_file_has_no_limit(write):
    assert read(write(TEXT), most_bytes=1) == TEXT


def test_a_stream_is_decompressed_like_a_file():
    with open_raw(io.BytesIO(gzip.compress(TEXT, mtime=0)), name="inner") as stream:
        assert stream.read() == TEXT


def test_the_compression_extension_is_removed_from_a_name():
    assert [without_suffix(name) for name in ("a.txt.gz", "a.txt.zst", "a.txt", "gz")] == [
        "a.txt",
        "a.txt",
        "a.txt",
        "gz",
    ]


# -- archives --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, *PACKINGS.values()])
def test_members_of_a_tar_are_read_with_any_compression(write, pack):
    path = write(pack(tar_of({"a/b.txt": TEXT, "c": b""})))
    assert kind_of(path) == "tar"
    assert contents(path) == {"a/b.txt": TEXT, "c": b""}


def test_members_of_a_zip_are_read(write):
    path = write(zip_of({"a/b.txt": TEXT, "c/": b"", "d": b""}))
    assert kind_of(path) == "zip"
    assert contents(path) == {"a/b.txt": TEXT, "d": b""}


@pytest.mark.parametrize("content", [b"", b"PK", b"plain text", gzip.compress(b"plain text", mtime=0)], ids=range(4))
def test_other_content_is_plain(write, content):
    assert kind_of(write(content)) == "plain"


@pytest.mark.parametrize("name", ["/etc/passwd", "../out", "a/../../out", "..", "a\\..\\..\\out", "C:/out"])
@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_members_outside_the_folder_are_rejected(write, make, name):
    with pytest.raises(DataError, match=naming("folder")):
        contents(write(make({"fine": b"x", name: b"x"})))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_rejected(write, kind):
    with pytest.raises(DataError, match=naming("bad", "link")):
        contents(write(tar_of({"bad": special("bad", kind)})))


def test_links_in_a_zip_are_rejected(write):
    link = zipfile.ZipInfo("bad")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(DataError, match=naming("bad", "link")):
        contents(write(zip_of({link: b"/etc/passwd"})))


def test_a_decompression_bomb_in_a_zip_is_rejected(write, monkeypatch):
    patch_internal(monkeypatch, "FREE_BYTES", 2**20)
    path = write(zip_of({"zeros": bytes(2**24)}))
    with pytest.raises(DataError, match=naming("500")):
        contents(path)


def test_many_small_bombs_in_a_zip_count_together(write, monkeypatch):
    patch_internal(monkeypatch, "FREE_BYTES", 2**20)
    path = write(zip_of({str(i): bytes(2**19) for i in range(60)}))
    with pytest.raises(DataError, match=naming(f"{path}", "500")):
        contents(path)


# -- examining -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [b"", TEXT, gzip.compress(TEXT, mtime=0), tar_of({"a": TEXT}), zip_of({"a": TEXT})], ids=range(5)
)
def test_valid_files_pass(write, content):
    examine(write(content))


def test_an_archive_that_unpacks_to_too_much_is_rejected(write, monkeypatch):
    path = write(zip_of({str(i): bytes(1000) for i in range(10)}))
    patch_internal(monkeypatch, "MOST_UNPACKED_BYTES", 9_999)
    with pytest.raises(DataError, match=naming("9,999")):
        examine(path)


@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_a_truncated_archive_is_detected(write, make):
    path = write(make({"a": random.Random(0).randbytes(25_600)})[:2000])
    with pytest.raises(DataError, match="cannot be read"):
        examine(path)


def test_a_changed_byte_in_a_zip_is_detected(write):
    content = bytearray(zip_of({"a": bytes(range(256))}))
    content[100] ^= 1
    with pytest.raises(DataError, match="cannot be read"):
        examine(write(bytes(content)))


def test_an_encrypted_zip_raises_an_error(write):
    content = bytearray(zip_of({"a": TEXT}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    content[6] |= 1
    with pytest.raises(DataError, match=naming("encrypted")):
        examine(write(bytes(content)))
