"""The base class of all learners, shown on a small one: validation, reset, growth, and saving."""

from __future__ import annotations

import json
import threading
from typing import ClassVar, NamedTuple

import numpy as np
import pandas
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.exceptions import NotFittedError

from harness.sdk import Classifier, rules, saving
from messages import naming
from problems import near_prototypes as data


class Sums(NamedTuple):
    """The array record of the example learner."""

    weights: np.ndarray
    counts: np.ndarray


class Small(Classifier):
    """Score a class by the product of the row with the sum of the class's rows."""

    learned: ClassVar[str] = "sums_"
    records: ClassVar = {"sums_": Sums}

    def __init__(self, *, scale=1.0, shape=(1, 2), random_state=None):
        self.scale = scale
        self.shape = shape
        self.random_state = random_state

    def fit(self, X, y):
        rows, labels = self._begin(X, y)
        if self.scale == 13:
            raise RuntimeError("it went wrong halfway")
        self.drawn_ = float(self._generator().random())
        self._add(rows, labels, Sums(np.zeros((0, 0)), np.zeros(0)))
        return self

    def partial_fit(self, X, y, classes=None):
        rows, labels, first = self._begin_batch(X, y, classes)
        self._add(rows, labels, Sums(np.zeros((0, 0)), np.zeros(0)) if first else self.sums_)
        return self

    def _add(self, rows, labels, known):
        weights, counts = np.zeros((self.classes_.size, self.n_features_in_)), np.zeros(self.classes_.size)
        weights[: known.weights.shape[0], : known.weights.shape[1]] = known.weights
        counts[: known.counts.size] = known.counts
        np.add.at(weights, labels.indices, self.scale * rows.toarray())
        np.add.at(counts, labels.indices, 1)
        self.sums_ = Sums(weights, counts)

    def _rank(self, X, k):
        assert isinstance(X, csr_array)
        assert X.dtype == np.float32
        order = np.argsort(-(X @ self.sums_.weights.T), axis=1, kind="stable")[:, :k].astype(np.int32)
        order[np.diff(X.indptr) == 0] = -1
        return np.pad(order, ((0, 0), (0, k - order.shape[1])), constant_values=-1)

    def _rules(self):
        return {"scale": rules.positive(self.scale)}


class Plain(Small):
    """A learner without randomness."""

    def __init__(self, *, scale=1.0):
        self.scale = scale


def test_predictions_are_first_ranks_and_a_row_without_ranks_gets_the_first_class():
    X, y = data()
    learner = Small().fit(X, y + 3)
    assert_array_equal(learner.predict(X), learner.classes_[learner.rank(X, 1)[:, 0]])
    assert learner.predict(csr_array((2, 30))).tolist() == [3, 3]


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, lambda X: X.toarray(), lambda X: X.toarray().tolist()])
def test_a_learner_gets_float32_rows_for_every_matrix_type(kind):
    X, y = data()
    assert_array_equal(Small().fit(kind(X), y).rank(kind(X), 3), Small().fit(X, y).rank(X, 3))


def test_duplicate_features_of_a_row_are_summed_and_the_input_is_unchanged():
    twice = csr_array((np.ones(3, np.float32), [1, 0, 1], [0, 3]), shape=(1, 3))
    learner = Small().fit(twice, ["a"])
    assert_array_equal(learner.sums_.weights, [[1, 2, 0]])
    assert_array_equal(twice.indices, [1, 0, 1])


class InThreads(Small):
    """Records the rows and the thread of each call."""

    def _get_ready(self):
        self.calls = []

    def _rank(self, X, k):
        self.calls.append((X.shape[0], threading.current_thread().name))
        return super()._rank(X, k)


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, lambda X: X.toarray()])
def test_rows_are_distributed_to_threads_with_the_same_ranks(kind, monkeypatch):
    X, y = data()
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    learner = InThreads().fit(X, y)
    assert_array_equal(learner.rank(kind(X), 3), Small().fit(X, y).rank(X, 3))
    assert sorted(rows for rows, _ in learner.calls) == [72, 128]
    assert threading.main_thread().name not in {thread for _, thread in learner.calls}


def test_few_rows_and_single_threaded_learners_use_one_thread(monkeypatch):
    X, y = data()
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    learner = InThreads().fit(X, y)
    learner.rank(X[:64], 3)
    assert learner.calls == [(64, threading.main_thread().name)]
    monkeypatch.setattr(InThreads, "ranks_in_threads", False)
    learner.rank(X, 3)
    assert learner.calls == [(200, threading.main_thread().name)]


def test_a_bad_parameter_raises_an_error_before_the_fitted_state_is_lost():
    X, y = data()
    learner = Small().fit(X, y)
    for wrong in ({"scale": 0}, {"random_state": "seven"}):
        (name,) = wrong
        with pytest.raises(ValueError, match=rf"^{name}="):
            Small(**wrong).fit(X, y)
        with pytest.raises(ValueError, match=rf"^{name}="):
            Small(**wrong).partial_fit(X, y)
    with pytest.raises(ValueError, match=naming("scale=-1", "0")):
        learner.set_params(scale=-1).fit(X, y)
    assert learner.rank(X, 1).shape == (200, 1)


def test_a_learner_without_a_seed_needs_no_rule_for_it():
    assert Plain()._shared_rules() == {}
    assert Small()._shared_rules().keys() == {"random_state"}


def test_a_fit_that_fails_leaves_an_unfitted_learner():
    X, y = data()
    learner = Small().fit(X, y).set_params(scale=13)
    with pytest.raises(RuntimeError, match="halfway"):
        learner.fit(X, y)
    with pytest.raises(NotFittedError):
        learner.rank(X, 1)


def test_fit_resets_the_learner_and_equal_seeds_draw_equally():
    X, y = data()
    learner = Small(random_state=3).fit(X[:, :9], y + 20)
    learner.note_ = 1
    learner.fit(X, y)
    assert not hasattr(learner, "note_")
    assert learner.n_features_in_ == 30
    assert learner.drawn_ == Small(random_state=3).fit(X, y).drawn_ != Small(random_state=4).fit(X, y).drawn_


def test_continuous_or_multiple_labels_are_rejected():
    X, y = data()
    with pytest.raises(ValueError, match="Unknown label type"):
        Small().fit(X, np.linspace(0, 1, 200))
    with pytest.raises(ValueError, match="1d array"):
        Small().fit(X, np.eye(12, dtype=int)[y])


def test_a_multilabel_learner_gets_all_labels_of_a_row():
    class Several(Small):
        takes_several = True

        def fit(self, X, y):
            self.labels = self._begin(X, y)[1]
            return self

    indicator = csr_array(np.array([[1, 0, 1], [0, 0, 0]]))
    labels = Several().fit(np.ones((2, 2)), indicator).labels
    assert (labels.indptr.tolist(), labels.indices.tolist()) == ([0, 2, 2], [0, 2])


# -- batches


def test_new_classes_and_features_follow_the_known_ones():
    X, y = data()
    names = np.array(list("mackzbxefghi"))[y]
    late = np.isin(names, ["a", "z"])
    learner = Small().partial_fit(X[~late][:, :20], names[~late], classes=["y"])
    known = sorted({*names[~late]})
    assert learner.classes_.tolist() == ["y", *known]
    learner.partial_fit(X, names)
    assert learner.classes_.tolist() == ["y", *known, "a", "z"]
    assert learner.n_features_in_ == 30
    assert learner.sums_.counts.sum() == 200 + (~late).sum()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((2, 4)), ["x", "y"], "are of another kind than"),
        (np.ones((2, 2)), [0, 1], "2 features"),
        (np.full((2, 4), np.nan), [0, 1], "NaN"),
        (np.ones((2, 4)), [0.5, 1.5], "Unknown label type"),
        (np.ones((2, 4)), [0], "inconsistent"),
    ],
)
def test_a_rejected_batch_changes_nothing(X, y, message):
    learner, same = (Small().partial_fit(np.eye(3), [0, 1, 2]) for _ in range(2))
    with pytest.raises(ValueError, match=message):
        learner.partial_fit(X, y)
    assert learner.n_features_in_ == 3
    assert learner.classes_.tolist() == [0, 1, 2]
    assert_array_equal(learner.sums_.weights, same.sums_.weights)


def test_new_named_features_must_follow_the_known_ones():
    frame = pandas.DataFrame(np.eye(3), columns=["one", "two", "three"])
    learner = Small().partial_fit(frame[["one", "two"]], [0, 1, 2])
    with pytest.raises(ValueError, match=naming("behind")):
        learner.partial_fit(frame[["three", "one", "two"]], [0, 1, 2])
    assert learner.feature_names_in_.tolist() == ["one", "two"]
    assert learner.partial_fit(frame, [0, 1, 2]).feature_names_in_.tolist() == ["one", "two", "three"]


# -- files


@pytest.mark.parametrize(
    "names", [np.arange(12), -np.arange(12), np.array(list("abcdefghijkl")), np.array(list("abcdefghijkl"), object)]
)
def test_a_loaded_learner_has_its_dtypes_parameters_and_feature_names(names, tmp_path):
    X, y = data()
    frame = pandas.DataFrame(X.toarray(), columns=[f"word {f}" for f in range(30)])
    saved = Small(shape=(3, (4, [5])), random_state=np.random.RandomState(0), scale=np.float32(2)).fit(frame, names[y])
    saved.save(tmp_path / "model")
    loaded = Small.load(tmp_path / "model")
    assert loaded.get_params() == {"shape": (3, (4, [5])), "random_state": None, "scale": 2.0}
    assert_array_equal(loaded.classes_, saved.classes_, strict=True)
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    assert (loaded.drawn_, loaded.n_features_in_, type(loaded.sums_)) == (saved.drawn_, 30, Sums)
    assert_array_equal(loaded.rank(frame, 5), saved.rank(frame, 5))
    assert_array_equal(
        loaded.partial_fit(frame, names[y]).sums_.weights, saved.partial_fit(frame, names[y]).sums_.weights
    )


def changed(tmp_path, change):
    """Save a learner, change the header and arrays of the file, and return the path."""
    path = tmp_path / "model"
    Small().fit(*data()).save(path)
    header, arrays = saving.read_model(path)
    change(header, arrays)
    saving.write_model(path, header, arrays)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, arrays: header.update(learner="somewhere:Else"), "holds a model of somewhere:Else, not of"),
        (lambda header, arrays: header.update(version=1), "written in version 1 of the format, this reads 2: train it"),
        (lambda header, arrays: header.update(format="other"), "not a model file"),
        (lambda header, arrays: header.update(parameters={"scale": -1}), r"damaged \(scale=-1: must be"),
        (lambda header, arrays: header.update(parameters={"surprise": 1}), "damaged .*surprise"),
        (lambda header, arrays: header.pop("parameters"), "damaged"),
        (lambda header, arrays: arrays.pop("sums_.counts"), "damaged"),
        (lambda header, arrays: arrays.pop("classes_"), "damaged"),
        (lambda header, arrays: arrays.update(classes_=np.eye(2)), "damaged .*classes_ does not fit"),
        (lambda header, arrays: arrays.update(n_features_in_=np.array(2.5)), "damaged .*classes_ does not fit"),
        (lambda header, arrays: arrays.update(rank=np.zeros(2)), "damaged .*rank does not fit"),
        (lambda header, arrays: arrays.update(__class__=np.zeros(2)), "damaged"),
    ],
)
def test_a_file_with_a_modified_header_or_arrays_is_rejected(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        Small.load(changed(tmp_path, change))


def test_an_unsaveable_attribute_raises_an_error_and_leaves_no_file(tmp_path):
    X, y = data()
    with pytest.raises(ValueError, match=naming("shape={1", "2")):
        Small(shape={1: 2}).fit(X, y).save(tmp_path / "model")
    learner = Small().fit(X, y)
    learner.names_ = np.array([1, "a"], object)
    with pytest.raises(ValueError, match=naming("names_")):
        learner.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_an_inner_learner_is_rebuilt_from_imported_classes_only(tmp_path):
    X, y = data()
    Small(shape=Plain(scale=3.0)).fit(X, y).save(tmp_path / "model")
    inside = Small.load(tmp_path / "model").shape
    assert (type(inside), inside.scale) == (Plain, 3.0)
    for name, message in (
        ("antigravity:x", "import antigravity first"),
        ("json:dumps", "json:dumps is not an estimator"),
    ):
        header, arrays = saving.read_model(tmp_path / "model")
        header["parameters"]["shape"] = {"learner": name, "parameters": {}}
        saving.write_model(tmp_path / "other", header, arrays)
        with pytest.raises(ValueError, match=message):
            Small.load(tmp_path / "other")


def test_the_header_is_plain_json(tmp_path):
    Small(scale=2.0).fit(*data()).save(tmp_path / "model")
    with np.load(tmp_path / "model") as file:
        header = json.loads(file["arr_0"][0])
    parameters = {"scale": 2.0, "shape": {"tuple": [1, 2]}, "random_state": None}
    assert header == {
        "format": "harness learner",
        "version": 2,
        "learner": f"{Small.__module__}:Small",
        "parameters": parameters,
    }
