"""Raw files: found in the data home or where one says, read alike from folders, archives and single files."""

import gzip
import io
import re
import tarfile
import zipfile

import pytest

from harness.errors import DataError
from harness.home import Manifest, RawEntry, write_manifest
from harness.sdk.reading import raw, unpack
from harness.sdk.reading.raw import RawFiles

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
    assert text.startswith(f"data set '{of.dataset}': ")
    assert f"it is made from {of.needed}" in text
    assert f"`harness data import {of.dataset} FILE...`" in text
    assert f"--set \"{of.dataset}.source='PATH'\"" in text
    assert text.count("it is made from") == 1
    return text


def test_a_folder_its_archive_and_a_folder_with_the_archive_give_the_same(lay):
    assert read(lay(FILES)) == FOUND
    packed = lay({"anything.bin": tar_of(FILES)}, "packed")
    assert read(packed / "anything.bin") == FOUND
    assert read(packed) == FOUND
    assert read(lay({"toy.zip": zip_of(FILES)}, "zipped")) == FOUND
    assert read(lay({"toy.tar.xz": tar_of(FILES, "w:xz")}, "xz")) == FOUND


def test_files_may_be_packed_one_by_one_whether_their_names_say_so_or_not(lay):
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


def test_hidden_files_are_passed_over(lay):
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
def test_a_raw_file_that_is_not_what_the_manifest_says_is_refused(lay, home, change):
    folder = lay(FILES, "home/raw/toy")
    write_manifest(folder, manifest(**dict.fromkeys(FILES, "0")))
    if change == "shorter":
        (folder / "top/train/b.txt").write_bytes(b"b")
    else:
        (folder / "top/train/b.txt").unlink()
    with pytest.raises(
        DataError, match=r"b\.txt is not the file of 4 bytes that was put there: `harness data verify toy`"
    ):
        RAW.stamp(None)


# -- what is refused -------------------------------------------------------------------------------------------------


def test_what_is_missing_is_said_with_the_way_to_get_it(lay, home, tmp_path):
    assert f"{home / 'raw' / 'toy'} does not exist" in refusal(None)
    assert f"{tmp_path / 'none'} does not exist" in refusal(tmp_path / "none")
    assert "holds none of the files" in refusal(lay({"readme": b"x"}))
    assert "holds none of the files" in refusal(lay({"toy.tar": tar_of({"x": b""})}, "other") / "toy.tar")


def test_a_file_of_the_wrong_format_is_refused(lay):
    folder = lay({"notes.md": b"no archive"})
    assert "cannot be read (ReadError: " in refusal(folder / "notes.md")
    assert "is a file, expected a folder or an archive" in refusal(folder / "notes.md", SINGLE)


def test_what_is_neither_file_nor_folder_is_refused():
    assert "/dev/null is neither a file nor a folder" in refusal("/dev/null")


def test_an_unfit_member_spoils_the_archive_also_where_it_is_not_wanted(lay):
    path = lay({"toy.tar.gz": tar_of(FILES | {"../readme": b"x"})}) / "toy.tar.gz"
    assert "its member '../readme' would leave the folder" in refusal(path)


def test_a_torn_archive_and_a_torn_member_are_refused(lay):
    content = tar_of(FILES)
    assert "cannot be read (EOFError: " in refusal(lay({"toy.tar.gz": content[: len(content) // 2]}) / "toy.tar.gz")
    torn = FILES | {"top/train/b.txt": gzip.compress(bytes(range(256)))[:-12]}
    text = refusal(lay({"toy.tar": tar_of(torn, "w")}, "member") / "toy.tar")
    assert "toy.tar, top/train/b.txt cannot be read (EOFError" in text


def test_files_that_come_to_too_much_in_all_are_refused(lay, monkeypatch):
    monkeypatch.setattr(raw, "MOST_BYTES", 10)
    assert "unpacks to more than 10 bytes" in refusal(lay(FILES))


@pytest.mark.parametrize("archive", [zip_of, tar_of])
def test_packed_members_share_the_budget_of_their_archive(lay, monkeypatch, archive):
    monkeypatch.setattr(unpack, "FREE_BYTES", 2**20)
    bombs = {f"train/{i}.txt": gzip.compress(bytes(2**19), mtime=0) for i in range(40)}
    path = lay({"toy.packed": archive(bombs)}) / "toy.packed"
    assert "is refused: it unpacks to more than 500 times its size" in refusal(path)
