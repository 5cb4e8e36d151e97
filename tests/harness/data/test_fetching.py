"""Data fetched from a server that may fail: checked and put in place like an import, or told how to be had."""

import threading
from dataclasses import replace

import pytest

from harness.contract import RawFile
from harness.data.downloading import Patience, Watcher
from harness.data.importing import fetch_dataset
from harness.data.inventory import default_form
from harness.errors import DataError, MissingData
from harness.home import download_folder, raw_folder
from line_data import SOUND

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def fetched(entry, executor, web):
    """Fetches the data set from /lines.txt, with what hash it must have."""

    def fetched(sha256=None, *paths):
        file = RawFile(name="lines.txt", urls=tuple(map(web.url, paths or ["/lines.txt"])), sha256=sha256)
        own = replace(entry, spec=replace(entry.spec, files=(file,)))
        return fetch_dataset(own, executor, patience=Patience(attempts=1, silence_seconds=5), watcher=Watcher())

    return fetched


def test_what_is_fetched_is_checked_and_put_in_place_like_an_import(fetched, web, behaviours, home, entry):
    web["/lines.txt"] = behaviours.ranged(SOUND)
    intake = fetched()
    assert intake.manifest.files[0].origin == web.url("/lines.txt")
    assert (raw_folder("lines") / "lines.txt").read_bytes() == SOUND
    assert not download_folder("lines").exists()
    assert default_form(entry).rows == 3


def test_a_failed_download_says_what_to_get_where_from_and_how_to_bring_it(fetched, web, behaviours):
    web["/lines.txt"] = behaviours.breaking_off(SOUND, times=1)
    with pytest.raises(DataError) as caught:
        fetched("0" * 64)
    text = str(caught.value)
    assert text.startswith("data set 'lines': lines.txt could not be downloaded:\n")
    assert f"lines.txt from {web.url('/lines.txt')}" in text
    assert "`harness data import lines FILE...` takes files that you have" in text
    assert f"What has arrived is kept in {download_folder('lines')}; the same command goes on from there" in text
    assert (download_folder("lines") / "lines.txt.part").read_bytes() == SOUND[:6]


def test_fetched_data_that_is_not_as_described_is_kept_aside_and_fetched_anew(fetched, web, behaviours):
    web["/lines.txt"] = behaviours.ranged(b"<html>please log in</html>")
    with pytest.raises(DataError, match=r"every line must be(?s:.*)kept in .* as lines\.txt\.refused"):
        fetched()
    assert not raw_folder("lines").exists()
    web["/lines.txt"] = behaviours.ranged(SOUND)
    assert fetched().header.rows == 3


def test_what_cannot_be_downloaded_by_a_program_says_how_to_get_it(entry, executor):
    with pytest.raises(MissingData, match=r"'lines': it cannot be downloaded by a program: it is made from lines\.txt"):
        fetch_dataset(entry, executor)


def test_two_fetches_at_once_do_not_mix(fetched, web, behaviours):
    started, go_on = threading.Event(), threading.Event()

    def waiting(request):
        started.set()
        go_on.wait(20)
        behaviours.ranged(SOUND)(request)

    web["/lines.txt"] = waiting
    first = threading.Thread(target=fetched)
    first.start()
    assert started.wait(20)
    with pytest.raises(DataError, match="is being fetched by another process: wait for it"):
        fetched()
    go_on.set()
    first.join()
    assert (raw_folder("lines") / "lines.txt").read_bytes() == SOUND
