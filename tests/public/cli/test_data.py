"""`harness data` with a test plugin, a server and a data home."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time

import click
import pytest

from harness.errors import HarnessError
from internals import Manifest, RawEntry, cli, expand_imports, write_manifest
from messages import assert_names, naming

PLUGIN = """
import re
import numpy as np
from scipy.sparse import csr_array
from harness import Dataset, DatasetSpec, RawFile, hookimpl
from internals import RawFiles

RAW = RawFiles(dataset="lines", needed="lines.txt from nobody", wanted=re.compile(r"(?:^|/)lines\\.txt$"))

def load(*, source=None):
    ((_, content),) = RAW.read(source)
    rows = [line.split() for line in content.decode().splitlines()]
    names, y = np.unique([row[0] for row in rows], return_inverse=True)
    X = csr_array(np.array([[float(value) for value in row[1:]] for row in rows]))
    return Dataset(X, y, tuple(names), found=f"{len(rows)} lines")

def stamp(*, source=None):
    return RAW.stamp(source)

@hookimpl
def harness_datasets():
    return [
        DatasetSpec(
            name="lines", load="lines_plugin:load", stamp="lines_plugin:stamp", representation="raw",
            licence="none needed", citation="Nobody: Lines, 2001", summary="lines of numbers",
            files=(RawFile(name="lines.txt", urls=URLS, sha256=HASH),), obtain="lines.txt, which nobody wrote",
            facts={"rows": 4000, "classes": 2},
        )
    ]
"""
LINES = b"".join(b"%s %d %d\n" % (b"ab"[i % 2 : i % 2 + 1], i % 2, i % 7) for i in range(4000))
HASH = hashlib.sha256(LINES).hexdigest()


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def data(harness, web, home, tmp_path):
    """Runs `harness data WORDS` with the plugin and the data home of the test."""
    (tmp_path / "plugins").mkdir()
    urls = f"URLS = ({web.url('/gone')!r}, {web.url('/lines.txt')!r})\nHASH = {HASH!r}\n"
    (tmp_path / "plugins" / "lines_plugin.py").write_text(expand_imports(urls + PLUGIN))
    web["/gone"] = lambda request: request.send(b"", 404)

    def data(*words):
        """Run `harness data WORDS` with the plugin and the data home of the test."""
        return harness("data", *words, "--plugins-dir", "plugins", "--data-home", home)

    return data


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "mine" / "lines.txt"
    path.parent.mkdir()
    path.write_bytes(LINES)
    return path


@pytest.fixture
def here(home, capsys, monkeypatch):
    """Return a function that runs `harness data WORDS` in this process."""

    def here(*words, answer=""):
        """Run `harness data WORDS` in this process with a user's input; return exit code and output."""
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        code = cli.main(["data", *map(str, words), "--data-home", str(home)], standalone_mode=False)
        return code or 0, capsys.readouterr().out

    return here


@pytest.fixture
def laid(home):
    """Write a raw file with its manifest into the data home."""
    path = home / "raw" / "digits" / "lines.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(LINES)
    write_manifest(path.parent, Manifest("digits", (RawEntry("lines.txt", len(LINES), HASH, "imported", "now"),)))
    return path


def ok(ended):
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_a_dataset_is_listed_fetched_described_verified_run_and_cleared(data, web, behaviours, home, harness):
    web["/lines.txt"] = behaviours.ranged(LINES)
    listed = {row["name"]: row for row in json.loads(ok(data("list", "--json")))}
    assert list(listed["lines"].values()) == ["lines", "to fetch", 0, "none needed", "lines of numbers"]
    assert listed["icd10cm"]["state"] == "built in"

    fetched = data("fetch", "lines")
    assert ok(fetched) == f"lines: 1 file, {len(LINES) / 1000:.1f} kB; 4000 lines\n"
    assert_names(fetched.stderr, "404")  # the first address, reported
    assert "is already in" in ok(data("fetch", "lines"))

    message = ok(data("info", "lines"))
    for words in (
        "Nobody: Lines, 2001",
        HASH,
        web.url("/lines.txt"),
        "which nobody wrote",
        "4,000 (described as 4,000)",
    ):
        assert words in message

    words = ("--learners", "sklearn.dummy:DummyClassifier", "--datasets", "lines", "--trials", "1")
    assert "lines" in ok(harness("run", *words, "--plugins-dir", "plugins", "--data-home", home))
    assert ok(data("verify")) == "lines: ok (3 files)\n"  # the file, its parsed form, the facts
    assert str(home / "raw" / "lines") in ok(data("clear", "--yes"))
    assert not any((home / "raw").iterdir())
    assert not any((home / "parsed").iterdir())


def test_user_files_are_imported_with_the_data_home_option_in_any_position(data, lines, harness, tmp_path):
    ended = harness("--data-home", tmp_path / "other", "data", "import", "lines", lines, "--plugins-dir", "plugins")
    assert "4000 lines" in ok(ended)
    (file,) = (tmp_path / "other" / "raw").glob("lines-*/lines.txt")
    assert file.read_bytes() == LINES


def test_wrong_files_are_rejected_and_can_be_accepted_explicitly(data, lines, home):
    lines.write_bytes(LINES[: len(LINES) // 2])
    refused = data("import", "lines", lines)
    assert refused.returncode == 2
    assert "rows 4,000 expected, 2,000 found" in refused.stderr
    assert not any((home / "raw").iterdir())
    accepted = data("import", "lines", lines.parent, "--accept-differences")
    assert "2000 lines" in ok(accepted)
    assert_names(accepted.stderr, "4,000", "2,000")
    assert_names(accepted.stderr, "lines.txt")


def test_a_run_on_missing_data_shows_how_to_get_it(data, harness, home, web):
    words = ("--learners", "sklearn.dummy:DummyClassifier", "--datasets", "lines")
    ended = harness("run", *words, "--plugins-dir", "plugins", "--data-home", home)
    assert ended.returncode == 2
    absent = f"dataset 'lines': it is not in the data home {home}. It is made from lines.txt, which nobody"
    assert absent in ended.stderr
    assert f"lines.txt from {web.url('/lines.txt')}" in ended.stderr
    assert_names(ended.stderr, "harness data fetch lines")
    assert_names(ended.stderr, "harness data import lines FILE...")


def test_without_a_network_the_error_names_the_files_and_the_import_command(data, web):
    web.close()
    ended = data("fetch", "lines", "--attempts", "1", "--timeout", "1")
    assert ended.returncode == 2
    assert "Connection refused" in ended.stderr
    assert web.url("/lines.txt") in ended.stderr
    assert_names(ended.stderr, "harness data import lines FILE...")


def test_a_killed_download_resumes(data, web, behaviours, home, tmp_path):
    content, over = LINES * 8, threading.Event()
    plugin = tmp_path / "plugins" / "lines_plugin.py"
    plugin.write_text(plugin.read_text().replace(HASH, hashlib.sha256(content).hexdigest()).replace("4000", "32000"))

    def stalling(request):
        request.send(content[:150_000], length=len(content), ETag='"1"')
        over.wait(60)

    web["/lines.txt"] = stalling
    words = ["data", "fetch", "lines", "--plugins-dir", "plugins", "--data-home", str(home)]
    running = subprocess.Popen([sys.executable, "-m", "harness", *words], cwd=tmp_path, stderr=subprocess.DEVNULL)
    part = home / "downloads" / "lines" / "lines.txt.part"
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    over.set()
    arrived = part.stat().st_size
    assert 0 < arrived < len(content)
    web["/lines.txt"] = behaviours.ranged(content)
    assert "32000 lines" in ok(data("fetch", "lines"))
    assert web.requests_of("/lines.txt")[-1]["Range"] == f"bytes={arrived}-"


def test_a_users_file_is_described(harness, tmp_path, home):
    (tmp_path / "titles.csv").write_text("text,label\n" + "a red fruit,apple\na yellow fruit,banana\n" * 3)
    message = ok(harness("data", "info", "titles.csv", "--data-home", home))
    assert "rows            6\n" in message
    assert "classes         2\n" in message
    assert "repeated texts  4 rows (66.7%)" in message
    assert "highest R1      1.0000" in message
    assert "largest         apple, 3 rows" in message
    assert "features" not in message  # texts have none before they are counted
    assert "0 bytes in the data home" not in message  # it exists when it is reported


def test_nodes_with_several_parents_are_counted(harness, tmp_path, home):
    (tmp_path / "titles.csv").write_text("text,label\n" + "a red fruit,apple\na yellow fruit,banana\n" * 3)
    (tmp_path / "tree.csv").write_text("all,red\nall,yellow\nred,apple\nyellow,apple\nyellow,banana\n")
    message = ok(harness("data", "info", "titles.csv(taxonomy=tree.csv)", "--data-home", home))
    assert "taxonomy        5 nodes, depth 2, 1 node with several parents\n" in message


def test_a_changed_byte_makes_verify_fail(here, laid):
    assert here("verify", "digits") == (0, "digits: ok (1 file)\n")
    laid.write_bytes(LINES.replace(b"6", b"5", 1))
    code, message = here("verify")
    assert code == 1
    assert_names(message, f"{laid}", "SHA-256")


def test_verify_reports_data_that_it_cannot_read(here, laid, home):
    (home / "raw" / "letter-0123456789abcdef").mkdir()  # of an import that was killed before they became current
    (home / "raw" / "letter.current").write_text("letter-00000000000000aa\n")  # of a clearing that was
    assert here("verify") == (0, "digits: ok (1 file)\n")
    assert here("verify", "letter") == (0, "letter: not in the data home\n")


def test_clear_removes_leftovers_of_killed_imports_and_parses(here, laid, home):
    left = [home / "raw" / ".digits-abcd1234", home / "parsed" / ".digits-0123456789abcdef-abcd1234"]
    for path in left:
        path.mkdir(parents=True)
    message = here("clear", "digits", "--yes")[1]
    for path in [*left, laid.parent]:
        assert str(path) in message
        assert not path.exists()


def test_clear_asks_first_and_removes_only_the_named_data(here, laid, home):
    (home / "raw" / "photos").mkdir()
    with pytest.raises(HarnessError, match="nothing removed"):
        here("clear", "digits", answer="n\n")
    with pytest.raises(click.Abort):
        here("clear", "digits")  # nobody answers
    assert "nothing to remove" in here("clear", "--parsed", "--yes")[1]
    assert laid.exists()
    assert str(laid.parent) in here("clear", answer="y\n")[1]
    assert [path.name for path in (home / "raw").iterdir()] == ["photos"]


@pytest.mark.parametrize("words", ["info digitz", "fetch digitz", "import digitz x", "verify digitz", "clear digitz"])
def test_unknown_names_are_errors(here, words):
    with pytest.raises(HarnessError, match=naming("digits")):
        here(*words.split())


def test_the_data_home_of_one_command_does_not_affect_the_next(here, laid, home):
    before = os.environ["HARNESS_DATA_HOME"]
    here("verify")
    assert os.environ["HARNESS_DATA_HOME"] == before != str(home)
