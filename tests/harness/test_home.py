"""The data home: where it is, manifests that come back whole, and the words that say how data is to be had."""

import pytest

from harness import DatasetSpec
from harness.contract import RawFile
from harness.errors import DataError
from harness.home import (
    MANIFEST,
    Manifest,
    RawEntry,
    current_file,
    data_home,
    download_folder,
    missing_data,
    owner_of,
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


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    return tmp_path


def test_the_raw_files_are_those_of_the_folder_that_is_said_to_be_current(home):
    for name in ("toy-00000000000000aa", "toy-00000000000000bb", "toy"):
        (home / "raw" / name).mkdir(parents=True)
    for name in ("toy-00000000000000aa", "toy-00000000000000bb"):
        current_file("toy").write_text(f"{name}\n")
        assert raw_folder("toy") == home / "raw" / name
    current_file("toy").unlink()
    assert raw_folder("toy") == home / "raw" / "toy"  # as releases before 0.2 kept them


@pytest.mark.parametrize("text", ["", "toy", "../../etc", "other-00000000000000aa", "\n\n"])
def test_what_names_no_folder_of_the_data_set_leads_nowhere(home, text):
    (home / "raw" / "other-00000000000000aa").mkdir(parents=True)
    current_file("toy").write_text(text)
    assert raw_folder("toy") == home / "raw" / "toy"


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("raw/.toy-abcd_123", "toy"),
        ("raw/.toy-0123456789abcdef-abcd_123", "toy"),
        ("raw/toy-0123456789abcdef", "toy"),
        ("raw/toy.current", "toy"),
        ("raw/.toy-more-abcd_123", "toy-more"),
        ("raw/.toy-settings-abcd_123", "toy-settings"),
        ("raw/toy-more-0123456789abcdef", "toy-more"),
        ("raw/.hidden", None),
        ("parsed/.toy-0123456789abcdef-abcd_123", "toy"),
        ("parsed/toy-0123456789abcdef", "toy"),
        ("parsed/toy-more-0123456789abcdef", "toy-more"),
        ("parsed/toy", None),
        ("parsed/thesis", None),
        ("downloads/toy", "toy"),
        # What releases before 0.2 left:
        ("raw/toy", "toy"),
        ("raw/toy-settings", "toy-settings"),
        ("raw/.toy.before", "toy"),
        ("raw/.toy.lock", "toy"),
        ("parsed/toy-0123456789abcdefabcd_123", "toy"),
    ],
)
def test_to_whom_something_belongs_is_told_by_its_name(home, path, owner):
    assert owner_of(home / path) == owner


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
    error = missing_data(DatasetSpec(name="toy", load="m:f", files=files, obtain="two files of nobody's"), "it is gone")
    assert str(error) == (
        "data set 'toy': it is gone: it is made from two files of nobody's\n"
        "  a from https://one/a\n  a from https://two/a\n  b from https://one/b\n"
        "`harness data fetch toy` downloads them, `harness data import toy FILE...` takes files that you have"
    )
    assert error.command == "harness data fetch toy"


@pytest.mark.parametrize(("obtain", "told"), [("a CD-ROM", "a CD-ROM"), ("", "these files:")])
def test_what_only_the_user_can_bring_is_said_so(obtain, told):
    files = (RawFile(name="a"), RawFile(name="b", urls=("https://one/b",)))
    error = missing_data(DatasetSpec(name="toy", load="m:f", files=files, obtain=obtain), "it is gone")
    assert str(error) == (
        f"data set 'toy': it is gone: it is made from {told}\n  a\n  b from https://one/b\n"
        "`harness data import toy FILE...` takes files that you have"
    )
    assert error.command == "harness data import toy FILE..."
