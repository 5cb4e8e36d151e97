"""What all tests share: a data home of their own, away from the user's, and properties without a clock."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("house", deadline=None, max_examples=50)  # a busy machine is no failure, and CI has a limit
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HARNESS_TEST_PROFILE", "house"))


TESTS = Path(__file__).resolve().parent
LONG_ONES = (
    "house/test_docs.py",
    "plugins/test_learners.py",
    "house/test_rules.py",
    "harness/cluster",
    "harness/executors",
    "harness/cli",
    "harness/environments",
    "harness/api",
)
"""Files and folders that take long, the longest first."""


def pytest_collection_modifyitems(config, items):
    """Where several processes share the files, the long ones begin first: else one would run alone in the end."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place_in_line(item.path))


def place_in_line(path):
    for place, long in enumerate(LONG_ONES):
        if path.is_relative_to(TESTS / long):
            return place
    return len(LONG_ONES)


@pytest.fixture(scope="session", autouse=True)
def data_home(tmp_path_factory):
    """The data home of all tests; HARNESS_TEST_DATA_HOME names one that outlives them."""
    with pytest.MonkeyPatch.context() as patch:
        home = os.environ.get("HARNESS_TEST_DATA_HOME") or str(tmp_path_factory.mktemp("data-home"))
        patch.setenv("HARNESS_DATA_HOME", home)
        yield home


@pytest.fixture
def lay(tmp_path):
    """Writes files into a folder: name -> bytes."""

    def lay(files, folder="laid"):
        for name, content in files.items():
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return tmp_path / folder

    return lay


@pytest.fixture(scope="session")
def make_record():
    """Makes records by hand: `make_record("pa", 0, r1=0.9, train=1.5)` is a finished trial with these scores.

    Fields may be plain values, as in a file: `split="kfold:5"`, `curve=[{"passes": 1, "scores": {"r1": 0.5}}]`.
    """
    from pydantic import TypeAdapter

    from harness.record import Record
    from harness.split import parse_split

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
