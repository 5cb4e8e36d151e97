"""The data home: its location, manifests, and instructions for obtaining data."""

import pytest

from harness import DatasetSpec, RawFile
from harness.errors import DataError
from internals import DATA_MANIFEST as MANIFEST
from internals import (
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
from messages import naming

WHOLE = Manifest("toy", (RawEntry("a/b.txt", 4, "f00d", "https://example.org/b", "2001-01-01"),), ("rows: other",))


def test_everything_is_below_the_data_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    assert data_home() == tmp_path
    assert {raw_folder("toy").parent, download_folder("toy").parent, parsed_root()} == {
        tmp_path / name for name in ("raw", "downloads", "parsed")
    }


def test_the_default_location_depends_on_the_platform(monkeypatch):
    monkeypatch.delenv("HARNESS_DATA_HOME")
    assert data_home().is_absolute()
    assert data_home().name == "harness"


def test_a_data_home_that_is_a_file_is_rejected(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "home").touch()
    for ask in (data_home, parsed_root, lambda: raw_folder("toy")):
        with pytest.raises(DataError, match=naming("--data-home", "HARNESS_DATA_HOME")):
            ask()


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    return tmp_path


def test_the_raw_files_are_those_of_the_current_folder(home):
    for name in ("toy-00000000000000aa", "toy-00000000000000bb", "toy"):
        (home / "raw" / name).mkdir(parents=True)
    for name in ("toy-00000000000000aa", "toy-00000000000000bb"):
        current_file("toy").write_text(f"{name}\n")
        assert raw_folder("toy") == home / "raw" / name
    current_file("toy").unlink()
    assert raw_folder("toy") == home / "raw" / "toy"  # as releases before 0.2 kept them


@pytest.mark.parametrize("text", ["", "toy", "../../etc", "other-00000000000000aa", "\n\n"])
def test_an_invalid_current_folder_gives_no_raw_files(home, text):
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
def test_the_owner_of_a_folder_is_read_from_its_name(home, path, owner):
    assert owner_of(home / path) == owner


def test_a_manifest_round_trips(tmp_path):
    assert read_manifest(tmp_path) is None
    write_manifest(tmp_path, WHOLE)
    assert read_manifest(tmp_path) == WHOLE


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"dataset": "toy", "files": [{"file": "x"}], "differences": []}'])
def test_a_damaged_manifest_raises_an_error_that_names_it(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(DataError, match=naming("manifest.json")):
        read_manifest(tmp_path)


def test_a_downloadable_dataset_is_described_with_every_address():
    files = (RawFile(name="a", urls=("https://one/a", "https://two/a")), RawFile(name="b", urls=("https://one/b",)))
    error = missing_data(
        DatasetSpec(name="toy", load="m:f", files=files, obtain="two files of the makers"), "it is gone"
    )
    assert str(error) == (
        "dataset 'toy': it is gone. It is made from two files of the makers\n"
        "  a from https://one/a\n  a from https://two/a\n  b from https://one/b\n"
        "`harness data fetch toy` downloads them; `harness data import toy FILE...` reads files that you have."
    )
    assert error.command == "harness data fetch toy"


@pytest.mark.parametrize(("obtain", "message"), [("a CD-ROM", "a CD-ROM"), ("", "these files:")])
def test_a_dataset_that_the_user_must_provide_is_described(obtain, message):
    files = (RawFile(name="a"), RawFile(name="b", urls=("https://one/b",)))
    error = missing_data(DatasetSpec(name="toy", load="m:f", files=files, obtain=obtain), "it is gone")
    assert str(error) == (
        f"dataset 'toy': it is gone. It is made from {message}\n  a\n  b from https://one/b\n"
        "`harness data import toy FILE...` reads files that you have."
    )
    assert error.command == "harness data import toy FILE..."
