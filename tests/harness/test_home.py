"""The data home: where it is, manifests that come back whole, and the words that say how data is to be had."""

import pytest

from harness import DatasetSpec
from harness.contract import RawFile
from harness.errors import DataError
from harness.home import (
    MANIFEST,
    Manifest,
    RawEntry,
    data_home,
    download_folder,
    how_to_get,
    parsed_root,
    raw_folder,
    read_manifest,
    write_manifest,
)

WHOLE = Manifest("toy", (RawEntry("a/b.txt", 4, "f00d", "https://example.org/b", "2001-01-01"),), ("rows: other",))


def test_everything_lies_below_the_data_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    assert data_home() == tmp_path
    assert {raw_folder("toy").parent, download_folder("toy").parent, parsed_root()} == {
        tmp_path / name for name in ("raw", "downloads", "parsed")
    }


def test_without_a_word_the_platform_decides(monkeypatch):
    monkeypatch.delenv("HARNESS_DATA_HOME")
    assert data_home().is_absolute()
    assert data_home().name == "harness"


def test_a_data_home_that_is_a_file_is_refused_by_everyone_who_asks_for_it(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "home").touch()
    for ask in (data_home, parsed_root, lambda: raw_folder("toy")):
        with pytest.raises(DataError, match=r"home is a file: --data-home or HARNESS_DATA_HOME must name a folder"):
            ask()


def test_files_that_cannot_be_put_back_count_as_absent_until_they_can(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    (tmp_path / "raw" / ".toy.before").mkdir(parents=True)
    (tmp_path / "raw" / ".toy.lock").mkdir()  # not even root can open it for writing
    assert not raw_folder("toy").exists()
    (tmp_path / "raw" / ".toy.lock").rmdir()
    assert raw_folder("toy").exists()


def test_a_manifest_comes_back_as_it_was_written(tmp_path):
    assert read_manifest(tmp_path) is None
    write_manifest(tmp_path, WHOLE)
    assert read_manifest(tmp_path) == WHOLE


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"dataset": "toy", "files": [{"file": "x"}], "differences": []}'])
def test_a_damaged_manifest_is_named(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(DataError, match=r"manifest\.json is damaged \(\w+: .*`harness data clear .* --raw`"):
        read_manifest(tmp_path)


def test_what_can_be_fetched_is_said_so_with_every_address():
    files = (RawFile(name="a", urls=("https://one/a", "https://two/a")), RawFile(name="b", urls=("https://one/b",)))
    text = how_to_get(DatasetSpec(name="toy", load="m:f", files=files, obtain="two files of nobody's"))
    assert text == (
        "it is made from two files of nobody's\n"
        "  a from https://one/a\n  a from https://two/a\n  b from https://one/b\n"
        "`harness data fetch toy` downloads them, `harness data import toy FILE...` takes files that you have"
    )


def test_what_only_the_user_can_bring_is_said_so():
    text = how_to_get(DatasetSpec(name="toy", load="m:f", files=(RawFile(name="a"),), obtain="a CD-ROM"))
    assert text == "it is made from a CD-ROM\n  a\n`harness data import toy FILE...` takes files that you have"
