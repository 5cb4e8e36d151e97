"""Datasets fetched from an unreliable server: verified and installed like an import, or an error with instructions."""

import threading
from dataclasses import replace

import pytest

from harness import RawFile
from harness.errors import DataError, MissingData
from internals import Patience, Watcher, default_form, download_folder, fetch_dataset, raw_folder
from line_data import SOUND
from messages import assert_names, naming

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def fetched(entry, executor, web):
    """Fetches the dataset from /lines.txt, with what hash it must have."""

    def fetched(sha256=None, *paths):
        """Fetch the dataset from /lines.txt, with an expected hash."""
        file = RawFile(name="lines.txt", urls=tuple(map(web.url, paths or ["/lines.txt"])), sha256=sha256)
        own = replace(entry, spec=replace(entry.spec, files=(file,)))
        return fetch_dataset(own, executor, patience=Patience(attempts=1, silence_seconds=5), watcher=Watcher())

    return fetched


def test_fetched_data_is_verified_and_installed_like_an_import(fetched, web, behaviours, home, entry):
    web["/lines.txt"] = behaviours.ranged(SOUND)
    intake = fetched()
    assert intake.manifest.files[0].origin == web.url("/lines.txt")
    assert (raw_folder("lines") / "lines.txt").read_bytes() == SOUND
    assert not download_folder("lines").exists()
    assert default_form(entry).rows == 3


def test_a_failed_download_raises_an_error_with_files_sources_and_the_import_command(fetched, web, behaviours):
    web["/lines.txt"] = behaviours.breaking_off(SOUND, times=1)
    with pytest.raises(DataError) as caught:
        fetched("0" * 64)
    text = str(caught.value)
    assert_names(text, "lines", "lines.txt")
    assert web.url("/lines.txt") in text
    assert_names(text, "harness data import lines FILE...")
    assert_names(text, f"{download_folder('lines')}")
    assert (download_folder("lines") / "lines.txt.part").read_bytes() == SOUND[:6]


def test_fetched_data_that_differs_from_its_description_is_set_aside_and_fetched_again(fetched, web, behaviours):
    web["/lines.txt"] = behaviours.ranged(b"<html>please log in</html>")
    with pytest.raises(DataError, match=r"every line must be(?s:.*)kept in .* as lines\.txt\.refused"):
        fetched()
    assert not raw_folder("lines").exists()
    web["/lines.txt"] = behaviours.ranged(SOUND)
    assert fetched().header.rows == 3


def test_a_dataset_without_automatic_download_raises_an_error_with_instructions(entry, executor):
    with pytest.raises(MissingData, match=naming("lines", "lines.txt")):
        fetch_dataset(entry, executor)


def test_two_concurrent_fetches_do_not_mix(fetched, web, behaviours):
    started, go_on = threading.Event(), threading.Event()

    def waiting(request):
        started.set()
        go_on.wait(20)
        behaviours.ranged(SOUND)(request)

    web["/lines.txt"] = waiting
    first = threading.Thread(target=fetched)
    first.start()
    assert started.wait(20)
    with pytest.raises(DataError, match=naming("fetched", "process")):
        fetched()
    go_on.set()
    first.join()
    assert (raw_folder("lines") / "lines.txt").read_bytes() == SOUND
