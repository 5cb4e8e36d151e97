"""The folder of a model is replaced in one step: killed writers, readers at work, two writers, links."""

import os
import shutil
import signal
import sys
import traceback

import pytest

import harness
from harness.errors import ModelError
from internals import next_version, write_model
from messages import naming
from small_titles import titles

TEXTS, _ = titles(20, seed=3)
STEPS = ("open", "os.mkdir", "os.link", "os.rename", "os.remove", "os.rmdir", "ctypes.dlsym")
"""Audit events of a writer: it is killed before one of them."""


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Return two models that differ, in folders."""
    folder = tmp_path_factory.mktemp("versions")
    for name, seed in (("old", 0), ("new", 1)):
        harness.fit("pa", titles(seed=seed), representation="words", out=folder / name)
    return folder


def manifest(folder):
    return (folder / "manifest.json").read_bytes()


def replace_with(model, place):
    with next_version(place, manifest(place), keeps_previous=True) as folder:
        write_model(model, folder)


def forked(work):
    """Run a function in a forked process, and return the process id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def test_a_writer_killed_at_any_moment_leaves_a_readable_model(versions, tmp_path):
    new = harness.load_model(versions / "new")

    def work(kill_at):
        seen = 0

        def count(event, _):
            nonlocal seen
            if event not in STEPS:
                return
            seen += 1
            if seen == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        replace_with(new, place)

    found, kill_at, status = [], 0, 1
    while status:  # until a writer is not killed
        kill_at += 1
        place = shutil.copytree(versions / "old", tmp_path / str(kill_at))
        status = os.waitpid(forked(lambda n=kill_at: work(n)), 0)[1]
        assert status in (0, signal.SIGKILL)
        assert len(harness.load_model(place).predict(TEXTS)) == len(TEXTS)
        found.append(manifest(place))
    assert found[0] == manifest(versions / "old")
    assert len(set(found)) == 2  # some were killed before the exchange, some after it
    assert kill_at > 10


def test_a_reader_finds_the_old_or_the_new_version(versions, tmp_path):
    place = shutil.copytree(versions / "old", tmp_path / "m")
    models = [harness.load_model(versions / name) for name in ("new", "old")]
    expected = {tuple(model.predict(TEXTS)) for model in models}

    def work():
        for number in range(10_000):
            replace_with(models[number % 2], place)

    child = forked(work)
    try:
        for _ in range(30):
            assert tuple(harness.load_model(place).predict(TEXTS)) in expected
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_model_that_another_process_has_replaced_meanwhile_stays(versions, tmp_path):
    place = shutil.copytree(versions / "old", tmp_path / "m")
    new = harness.load_model(versions / "new")
    refused = pytest.raises(ModelError, match=naming("another process", "Repeat"))
    with refused, next_version(place, b"an earlier manifest", keeps_previous=True) as folder:
        write_model(new, folder)
    assert manifest(place) == manifest(versions / "old")
    assert os.listdir(tmp_path) == ["m"]


def test_a_link_to_a_model_stays_a_link_and_the_previous_version_is_kept_once(versions, tmp_path):
    place = shutil.copytree(versions / "old", tmp_path / "m")
    (tmp_path / "link").symlink_to(place)
    new = harness.load_model(versions / "new")
    for _ in range(2):
        replace_with(new, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "m"]
    assert harness.load_model(place / "previous").predict(TEXTS).tolist() == new.predict(TEXTS).tolist()
    assert not (place / "previous" / "previous").exists()
