"""Fixtures for all tests: a separate data home, marked processes, a web server with programmable faults."""

import os
import uuid
from pathlib import Path

import pytest
from hypothesis import settings

from marked_processes import MARK, Marked
from snapshots import VARIABLE, check_snapshot
from web_server import Web, breaking_off, ranged

settings.register_profile("house", deadline=None, max_examples=50)  # slow machines must not fail; CI has a time limit
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HARNESS_TEST_PROFILE", "house"))


TESTS = Path(__file__).resolve().parent
LONG_ONES = (
    "public/test_docs.py",
    "plugins/test_learners.py",
    "house/test_rules.py",
    "hostile/cluster",
    "hostile/executors",
    "public/cli",
    "hostile/environments",
    "public/python",
)
"""Files and folders that take long, the longest first."""


def pytest_addoption(parser):
    parser.addoption("--update-snapshots", action="store_true", help="write tests/public/snapshots anew")


def pytest_configure(config):
    if config.getoption("--update-snapshots"):
        os.environ[VARIABLE] = "1"


def pytest_collection_modifyitems(config, items):
    """Start long tests first: workers then finish at about the same time."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place_in_line(item.path))


def place_in_line(path):
    for place, long in enumerate(LONG_ONES):
        if path.is_relative_to(TESTS / long):
            return place
    return len(LONG_ONES)


@pytest.fixture(scope="session", autouse=True)
def data_home(tmp_path_factory):
    """Use one data home for all tests; HARNESS_TEST_DATA_HOME names one to keep."""
    with pytest.MonkeyPatch.context() as patch:
        home = os.environ.get("HARNESS_TEST_DATA_HOME") or str(tmp_path_factory.mktemp("data-home"))
        patch.setenv("HARNESS_DATA_HOME", home)
        yield home


@pytest.fixture(scope="session")
def marked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, uuid.uuid4().hex)
        yield Marked(os.environ[MARK])


@pytest.fixture
def nothing_left(marked):
    """Check that the test leaves no process behind."""
    known = set(marked.alive())
    yield
    assert marked.left_behind(known) == {}


@pytest.fixture(scope="module")
def catalog():
    """Return the catalog of installed plugins; a broken plugin is not an error."""
    from internals import discover

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HARNESS_STRICT_PLUGINS", raising=False)
        yield discover()


@pytest.fixture
def web(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    web = Web()
    yield web
    web.close()


@pytest.fixture
def behaviours():
    """Return the behaviours of the web server by path."""
    from types import SimpleNamespace

    return SimpleNamespace(ranged=ranged, breaking_off=breaking_off)


@pytest.fixture
def snapshot(request):
    """Compare a text with the file of a command: `snapshot("table", text)`; the case is named after the test."""
    count = 0

    def check(command, text, case=None):
        nonlocal count
        count += 1
        title = case or f"{request.node.path.stem}: {request.node.name}"
        check_snapshot(command, title if count == 1 or case else f"{title} {count}", text)

    return check


@pytest.fixture
def lay(tmp_path):
    """Writes files into a folder: name -> bytes."""

    def lay(files, folder="laid"):
        """Write files into a folder from `{name: bytes}`."""
        for name, content in files.items():
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return tmp_path / folder

    return lay


@pytest.fixture(scope="session")
def make_record():
    """Make a record: `make_record("pa", 0, r1=0.9, train=1.5)` is a finished trial with these scores.

    Fields may be plain values, as in a file: `split="kfold:5"`, `curve=[{"passes": 1, "scores": {"r1": 0.5}}]`.
    """
    from pydantic import TypeAdapter

    from internals import Record, parse_split

    adapter = TypeAdapter(Record)

    def make(label, seed, *, status="ok", params=None, **fields):
        scores = {name: fields.pop(name) for name in list(fields) if name not in Record.__dataclass_fields__}
        ended = {"n_train": 900, "n_test": 100, "n_features": 5000, "n_classes": 20} if status == "ok" else {}
        whole = {
            "key": f"{label}-{seed}-{params}-{sorted(fields.items())}",
            "family": label.partition("(")[0],
            "learner": "pa",
            "learner_kind": "flat",
            "learner_distribution": "dist",
            "learner_version": "1.0",
            "params": {"random_state": seed} if params is None else params,
            "dataset": "digits",
            "dataset_family": fields.get("dataset", "digits").partition("(")[0],
            "dataset_params": {},
            "fingerprint": "f00d" * 16,
            "representation": "tf",
            "split": "holdout:0.1",
            "number": seed,
            "depth": 10,
            "machine": "m1",
        }
        measured = {"status": status, "scores": scores} | ended
        plain = {"label": label, "seed": seed} | whole | measured | fields
        return adapter.validate_python(plain | {"split": parse_split(plain["split"])})

    return make
