"""Online learners in files: a loaded learner is the same, and damaged or foreign files are rejected."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from harness_prototype import PA
from online_learners import assert_same, every
from problems import near_prototypes as data


@every
@pytest.mark.parametrize("name", [lambda y: y, lambda y: 7 - y, lambda y: np.array([f"class {c}" for c in y])])
def test_a_loaded_learner_ranks_and_continues_training_as_the_saved_one(learner, name, tmp_path):
    X, y = data()
    saved = clone(learner).fit(X, name(y))
    saved.save(tmp_path / "model")
    loaded = type(learner).load(tmp_path / "model")
    assert_same(loaded, saved)
    assert loaded.get_params() == saved.get_params()
    assert_array_equal(loaded.rank(X, 5), saved.rank(X, 5))
    assert_array_equal(loaded.predict(X), saved.predict(X), strict=True)
    wider, more = csr_array((X.data, X.indices, X.indptr), shape=(200, 40)), name(y + 3)
    assert_same(loaded.partial_fit(wider, more), saved.partial_fit(wider, more))


@every
def test_text_classes_in_an_object_array_are_restored_as_such(learner, tmp_path):
    X, y = data()
    names = np.array([f"class {c}" for c in y], object)
    saved = clone(learner).fit(X, names)
    saved.save(tmp_path / "model")
    assert_same(type(learner).load(tmp_path / "model"), saved)


def content(path):
    with np.load(path) as archive:
        return dict(archive)


@every
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("rows_.classes", lambda a: a + 12, "a class that is not there"),
        ("rows_.classes", lambda a: a * 0, "a class twice"),
        ("rows_.classes", lambda a: a[1:], "edges missing"),
        ("rows_.classes", lambda a: a.astype(np.int64), "another type"),
        ("rows_.weights", lambda a: a * np.inf, "zero or no number"),
        ("rows_.weights", lambda a: a * 0, "zero or no number"),
        ("rows_.indptr", lambda a: a[::-1].copy(), "rows out of order"),
        ("rows_.indptr", lambda a: a[:-1], "rows out of order"),
        ("base_", lambda a: a[:-1], "base_ does not fit"),
        ("classes_", lambda a: a[:-1], "a class that is not there|does not fit"),
        ("n_features_in_", lambda a: a + 1, "rows out of order"),
    ],
)
def test_an_archive_with_inconsistent_arrays_is_rejected(learner, name, change, message, tmp_path):
    clone(learner).fit(*data()).save(tmp_path / "model")
    arrays = content(tmp_path / "model")
    header = arrays.pop("arr_0")
    np.savez(tmp_path / "changed.npz", header, **{**arrays, name: change(arrays[name])})
    with pytest.raises(ValueError, match=f"changed.npz: damaged .*({message})"):
        type(learner).load(tmp_path / "changed.npz")


@every
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "another"}, "not a model file"),
        ({"version": 99}, "version 99 of the format, this reads 2"),
        ({"learner": "somewhere:Else"}, "holds a model of somewhere:Else, not of"),
        ({"parameters": {"passes": 0}}, "passes=0: must be"),
        ({"parameters": {"surprise": 1}}, "surprise"),
    ],
)
def test_a_modified_header_is_rejected(learner, change, message, tmp_path):
    clone(learner).fit(*data()).save(tmp_path / "model")
    arrays = content(tmp_path / "model")
    header = json.loads(str(arrays.pop("arr_0")[0]))
    np.savez(tmp_path / "changed.npz", np.array([json.dumps({**header, **change})]), **arrays)
    with pytest.raises(ValueError, match=message):
        type(learner).load(tmp_path / "changed.npz")


def test_a_foreign_file_is_rejected_and_a_missing_one_raises_file_not_found(tmp_path):
    (tmp_path / "text").write_text("not a model")
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    np.save(tmp_path / "array.npy", np.zeros(3))
    for name in ("text", "arrays.npz", "array.npy"):
        with pytest.raises(ValueError, match=f"{name}: not a model file"):
            PA.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        PA.load(tmp_path / "nowhere")


def test_a_random_state_instance_is_not_saved(tmp_path):
    PA(random_state=np.random.RandomState(1), passes=np.int64(2)).fit(*data()).save(tmp_path / "model")
    loaded = PA.load(tmp_path / "model")
    assert (loaded.random_state, loaded.passes) == (None, 2)
