"""Test labels stay outside of the learner's process: five ways to search for them find nothing.

The features are independent of the classes, so a learner without the labels is only right by chance.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Dataset
from internals import SYSTEM, TRIALS, LocalExecutor, Workplace, keep, read_header
from trial_runs import hides_folders, run

ROWS, CLASSES = 900, 10
CHANCE = 1 / CLASSES
WAYS = ("StackFrames", "CollectedObjects", "OwnMemory", "OpenFiles", "GivenPaths")
THIEVES = Path(__file__).parents[2] / "parts" / "label_thieves.py"


def noise():
    """Return rows whose only feature is their position, with random classes."""
    X = np.column_stack([np.arange(1, ROWS + 1), np.ones(ROWS)]).astype(np.float32)
    y = np.random.default_rng(11).integers(0, CLASSES, ROWS)
    return Dataset(csr_array(X), y, tuple(f"c{number}" for number in range(CLASSES)))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with the files of a trial: the data home and the module of its learner."""
    place = tmp_path_factory.mktemp("place")
    (place / "learners").mkdir()
    (place / "learners" / "label_thieves.py").write_text(THIEVES.read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_DATA_HOME", str(place / "home"))
        patch.setenv("PLACE_OF_TEST", str(place))
        yield place


@pytest.fixture(scope="module")
def header(place):
    folder = place / "home" / "parsed" / f"noise-{'0' * 16}"
    folder.parent.mkdir(parents=True)
    keep(noise(), folder)
    return read_header(folder)


@pytest.fixture(scope="module")
def executor(place, marked):
    with LocalExecutor(Workplace({"": TRIALS}, path=(str(place / "learners"),))) as executor:
        yield executor


def r1_of(executor, header, way, **params):
    params = {"n_rows": ROWS, **params}
    measured, _ = run(executor, f"label_thieves:{way}", header, representation="raw", params=params)
    assert measured.status == "ok", measured.message
    return measured.scores["r1"]


@pytest.mark.skipif(SYSTEM.NAME != "linux", reason="the searches read /proc")
@pytest.mark.parametrize("way", WAYS)
def test_a_learner_that_searches_for_test_labels_is_right_by_chance(executor, header, way):
    if way == "GivenPaths" and not hides_folders():
        pytest.skip("this kernel has no user namespaces for this user: the data home can be read")
    assert r1_of(executor, header, way) < 2 * CHANCE


@pytest.mark.skipif(SYSTEM.NAME != "linux", reason="the searches read /proc")
@pytest.mark.parametrize("way", WAYS)
def test_the_same_learner_is_always_right_if_labels_are_in_its_reach(executor, header, place, way):
    np.save(place / "planted.npy", noise().y)
    assert r1_of(executor, header, way, planted=str(place / "planted.npy")) == 1.0
    (place / "planted.npy").unlink()
