"""Raw files from the data home or a given source: folders, archives and single files are read alike."""

import gzip
import io
import re
import tarfile
import zipfile

import pytest

from harness.errors import DataError
from internals import Manifest, RawEntry, RawFiles, patch_internal, write_manifest
from messages import assert_names, naming

FILES = {"top/train/a.txt": b"alpha", "top/train/b.txt": b"beta", "top/test/a.txt": b"gamma", "top/readme": b"about"}
RAW = RawFiles(
    dataset="toy",
    needed="toy.tar.gz from nobody",
    wanted=re.compile(r"(?:^|/)(train|test)/(\w+)\.txt$"),
    archive="toy.tar.gz",
)
SINGLE = RawFiles(dataset="single", needed="single.txt from nobody", wanted=re.compile(r"^single\.txt$"))
FOUND = [(("test", "a"), b"gamma"), (("train", "a"), b"alpha"), (("train", "b"), b"beta")]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def tar_of(files, mode="w:gz"):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()


def zip_of(files):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def read(source, of=RAW):
    return [(match.groups(), content) for match, content in of.read(None if source is None else str(source))]


def refusal(source, of=RAW):
    with pytest.raises(DataError) as caught:
        of.read(None if source is None else str(source))
    text = str(caught.value)
    assert text.startswith(f"dataset '{of.dataset}': ")
    assert_names(text, f"{of.needed}")
    assert_names(text, f"harness data import {of.dataset} FILE...")
    assert f"--set \"{of.dataset}.source='PATH'\"" in text
    assert text.count("It is made from") == 1
    return text


def test_a_folder_its_archive_and_a_folder_with_the_archive_give_the_same_files(lay):
    assert read(lay(FILES)) == FOUND
    packed = lay({"anything.bin": tar_of(FILES)}, "packed")
    assert read(packed / "anything.bin") == FOUND
    assert read(packed) == FOUND
    assert read(lay({"toy.zip": zip_of(FILES)}, "zipped")) == FOUND
    assert read(lay({"toy.tar.xz": tar_of(FILES, "w:xz")}, "xz")) == FOUND


def test_single_files_may_be_compressed_with_any_name(lay):
    mixed = dict(FILES)
    mixed["top/train/a.txt.gz"] = gzip.compress(mixed.pop("top/train/a.txt"))
    mixed["top/train/b.txt"] = gzip.compress(b"beta")
    assert read(lay(mixed)) == FOUND
    assert read(lay({"toy.tar": tar_of(mixed, "w")}, "archive")) == FOUND
    assert read(lay({"toy.zip": zip_of(mixed)}, "zipped")) == FOUND


def test_a_single_file_is_read_by_its_name(lay):
    folder = lay({"single.txt.gz": gzip.compress(b"only"), "other.txt": b"no"})
    assert read(folder / "single.txt.gz", SINGLE) == [((), b"only")]
    assert read(folder, SINGLE) == [((), b"only")]


def test_hidden_files_are_ignored(lay):
    assert read(lay(FILES | {"top/train/.c.txt": b"x", "top/train/._a.txt": b"x"})) == FOUND


def test_streams_can_be_read_one_after_the_other(lay):
    path = lay({"toy.tar.gz": tar_of(FILES)}) / "toy.tar.gz"
    met = [(match[1], stream.read()) for match, stream in RAW.open_each(str(path))]
    assert met == [("train", b"alpha"), ("train", b"beta"), ("test", b"gamma")]


def test_without_a_source_the_data_home_is_read(lay, home):
    lay({"raw/toy/toy.tar.gz": tar_of(FILES), "raw/toy/manifest.json": b"{}"}, "home")
    assert read(None) == FOUND


def test_the_manifest_is_no_raw_file(lay):
    anything = RawFiles(dataset="toy", needed="json", wanted=re.compile(r"\.json$"))
    assert [match[0] for match, _ in anything.read(str(lay({"manifest.json": b"{}", "data.json": b"{}"})))] == [".json"]


# -- stamps ----------------------------------------------------------------------------------------------------------


def test_a_source_is_stamped_by_size_and_time(lay):
    folder = lay(FILES)
    before = RAW.stamp(str(folder))
    assert RAW.stamp(str(folder)) == before
    lay({"top/readme": b"not wanted"})
    assert RAW.stamp(str(folder)) == before
    lay({"top/train/a.txt": b"longer than before"})
    assert RAW.stamp(str(folder)) != before


def manifest(**hashes):
    entries = [RawEntry(name, len(FILES[name]), sha256, "imported", "now") for name, sha256 in hashes.items()]
    return Manifest("toy", tuple(entries))


def test_the_data_home_is_stamped_by_content_not_by_time(lay, home):
    folder = lay(FILES, "home/raw/toy")
    hashes = {name: f"{i}" for i, name in enumerate(FILES)}
    write_manifest(folder, manifest(**hashes))
    before = RAW.stamp(None)
    (folder / "top/train/a.txt").touch()
    write_manifest(folder, Manifest("toy", manifest(**hashes).files[::-1], ("rows 2 expected, 3 found",)))
    assert RAW.stamp(None) == before
    write_manifest(folder, manifest(**{**hashes, "top/train/a.txt": "other"}))
    assert RAW.stamp(None) != before


@pytest.mark.parametrize("change", ["shorter", "missing"])
def test_a_raw_file_that_differs_from_the_manifest_is_rejected(lay, home, change):
    folder = lay(FILES, "home/raw/toy")
    write_manifest(folder, manifest(**dict.fromkeys(FILES, "0")))
    if change == "shorter":
        (folder / "top/train/b.txt").write_bytes(b"b")
    else:
        (folder / "top/train/b.txt").unlink()
    with pytest.raises(DataError, match=naming("b.txt", "4", "harness data verify toy")):
        RAW.stamp(None)


# -- what is refused -------------------------------------------------------------------------------------------------


def test_a_missing_source_raises_an_error_with_instructions(lay, home, tmp_path):
    assert f"{home / 'raw' / 'toy'} does not exist" in refusal(None)
    assert f"{tmp_path / 'none'} does not exist" in refusal(tmp_path / "none")
    assert_names(refusal(lay({"readme": b"x"})), "files")
    assert_names(refusal(lay({"toy.tar": tar_of({"x": b""})}, "other") / "toy.tar"), "files")


def test_a_file_of_the_wrong_format_is_rejected(lay):
    folder = lay({"notes.md": b"no archive"})
    assert_names(refusal(folder / "notes.md"), "ReadError")
    assert_names(refusal(folder / "notes.md", SINGLE), "file", "folder")


def test_a_source_that_is_neither_file_nor_folder_is_rejected():
    assert_names(refusal("/dev/null"), "/dev/null")


def test_an_unsafe_member_invalidates_the_archive(lay):
    path = lay({"toy.tar.gz": tar_of(FILES | {"../readme": b"x"})}) / "toy.tar.gz"
    assert_names(refusal(path), "../readme")


def test_a_truncated_archive_or_member_is_rejected(lay):
    content = tar_of(FILES)
    assert_names(refusal(lay({"toy.tar.gz": content[: len(content) // 2]}) / "toy.tar.gz"), "EOFError")
    torn = FILES | {"top/train/b.txt": gzip.compress(bytes(range(256)))[:-12]}
    text = refusal(lay({"toy.tar": tar_of(torn, "w")}, "member") / "toy.tar")
    assert_names(text, "toy.tar", "top/train/b.txt", "EOFError")


def test_files_that_are_too_large_in_total_are_rejected(lay, monkeypatch):
    patch_internal(monkeypatch, "raw_files.MOST_BYTES", 10)
    assert_names(refusal(lay(FILES)), "10")


@pytest.mark.parametrize("archive", [zip_of, tar_of])
def test_compressed_members_share_the_limit_of_their_archive(lay, monkeypatch, archive):
    patch_internal(monkeypatch, "FREE_BYTES", 2**20)
    bombs = {f"train/{i}.txt": gzip.compress(bytes(2**19), mtime=0) for i in range(40)}
    path = lay({"toy.packed": archive(bombs)}) / "toy.packed"
    assert_names(refusal(path), "500")
