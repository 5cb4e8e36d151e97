"""Wrappers are saved without pickle together with their inner learners, and learn in batches where supported."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import MultinomialNB

from harness.sdk import saving
from harness_committee import Committee, Oversample, Sparsify
from harness_index import OOZ
from harness_prototype import PA
from messages import naming

WRAPPERS = [
    Committee(PA(passes=2), members=2, random_state=0),
    Committee(PA(), members=2, passes="1:2", vote="minfreq", random_state=0),
    Committee(Sparsify(OOZ(beta=0.1, delta=0.5, d=25, passes=2), share=0.5), members=2, random_state=0),
    Sparsify(OOZ(beta=0.1, delta=0.5, d=25, passes=2), share=np.float64(0.4), random_state=1),
    Oversample(Committee(PA(), members=2), least=9, random_state=np.random.RandomState(3)),
]
every = pytest.mark.parametrize("wrapper", WRAPPERS, ids=range(len(WRAPPERS)))


def data(seed=0, n=200, n_features=30, n_classes=8):
    rng = np.random.default_rng(seed)
    prototypes = rng.random((n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.3)
    y = rng.permutation(np.arange(n) % n_classes)
    X = (prototypes[y] + 0.4 * rng.random((n, n_features))) * (rng.random((n, n_features)) < 0.7)
    return csr_array(X.astype(np.float32)), np.array([f"class {c}" for c in range(n_classes)])[y]


@every
def test_a_loaded_wrapper_ranks_as_before_and_has_its_inner_learner(wrapper, tmp_path):
    X, y = data()
    wrapper.fit(X, y).save(tmp_path / "model")
    back = type(wrapper).load(tmp_path / "model")
    assert_array_equal(back.rank(X, 5), wrapper.rank(X, 5))
    assert_array_equal(back.predict(X), wrapper.predict(X))
    assert (back.index_size_, back.n_features_in_) == (wrapper.index_size_, wrapper.n_features_in_)
    assert str(back.learner) == str(wrapper.learner)
    assert back.set_params(random_state=0).get_params().keys() == wrapper.get_params().keys()
    assert back.fit(X, y).rank(X, 5).shape == (200, 5)


def test_feature_names_are_restored(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X.toarray(), columns=[f"f{i}" for i in range(X.shape[1])])
    Oversample(PA(), least=2).fit(frame, y).save(tmp_path / "model")
    assert Oversample.load(tmp_path / "model").feature_names_in_.tolist() == list(frame.columns)


def test_a_learner_that_needs_pickle_raises_an_error_and_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match=naming("Perceptron")):
        Committee(Perceptron(), members=2).fit(*data()).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def saved_with_changes(tmp_path, change):
    """Save a committee, change its header and arrays, and return the path."""
    path = tmp_path / "model"
    Committee(PA(passes=1), members=2, random_state=0).fit(*data()).save(path)
    header, arrays = saving.read_model(path)
    change(header, arrays)
    saving.write_model(path, header, arrays)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, arrays: header.update(learner="harness_prototype.pa:PA"), "holds a model of .*PA"),
        (lambda header, arrays: arrays.pop("model_kinds_"), "damaged"),
        (
            lambda header, arrays: arrays.update(model_kinds_=np.array(["antigravity:x"] * 2)),
            "import antigravity first",
        ),
        (
            lambda header, arrays: arrays.update(model_kinds_=np.array(["json:dumps"] * 2)),
            "json:dumps is not an estimator",
        ),
        (lambda header, arrays: arrays.pop("model_1_"), "damaged"),
        (lambda header, arrays: arrays.update(model_0_=arrays["model_0_"][:-9]), "damaged"),
        (lambda header, arrays: arrays.update(class_counts_=np.ones(3, np.int64)), "do not belong together"),
        (lambda header, arrays: arrays.update(classes_=arrays["classes_"][::-1]), "do not belong together"),
        (lambda header, arrays: arrays.pop("seeds_"), "do not belong together"),
    ],
)
def test_a_modified_model_file_is_rejected(change, message, tmp_path):
    path = saved_with_changes(tmp_path, change)
    with pytest.raises(ValueError, match=message):
        Committee.load(path)


def test_model_files_of_other_classes_and_foreign_files_are_rejected(tmp_path):
    Sparsify(PA()).fit(*data()).save(tmp_path / "model")
    with pytest.raises(ValueError, match=naming("harness_committee.oversample:Oversample")):
        Oversample.load(tmp_path / "model")
    (tmp_path / "other").write_text(json.dumps({"learner": "me"}))
    with pytest.raises(ValueError, match="not a model file"):
        Sparsify.load(tmp_path / "other")


# -- batches ---------------------------------------------------------------------------------------------------------


def test_each_member_learns_a_batch_in_its_own_order_and_seeds_are_reproducible():
    X, y = data()
    one, two = (Committee(PA(), members=3, random_state=5) for _ in range(2))
    for part in (slice(0, 90), slice(90, 200)):
        one.partial_fit(X[part], y[part])
        two.partial_fit(X[part], y[part])
    assert_array_equal(one.rank(X, 4), two.rank(X, 4))
    assert len({model.rank(X, 4).tobytes() for model in one.models_}) == 3
    assert one.class_counts_.sum() == 200
    assert one.score(X, y) > 0.8


def test_a_batch_may_bring_new_classes_and_features():
    X, y = data(n_features=30)
    known = y < "class 5"
    committee = Committee(PA(), members=2, vote="minfreq", random_state=0).partial_fit(X[known][:, :20], y[known])
    committee.partial_fit(X, y)
    assert committee.n_features_in_ == 30
    assert committee.classes_.tolist() == [f"class {c}" for c in range(8)]
    assert_array_equal(committee.class_counts_, [50] * 5 + [25] * 3)
    assert committee.rank(X, 8).max() == 7


def test_a_batch_after_fit_equals_a_batch_after_loading(tmp_path):
    X, y = data()
    committee = Committee(PA(passes=1), members=2, random_state=0).fit(X[:100], y[:100])
    committee.save(tmp_path / "model")
    back = Committee.load(tmp_path / "model").partial_fit(X[100:], y[100:])
    assert_array_equal(back.rank(X, 3), committee.partial_fit(X[100:], y[100:]).rank(X, 3))


def test_a_rejected_wider_batch_changes_nothing():
    X, y = data(n_features=30)
    committee = Committee(Perceptron(), members=2).partial_fit(X[:, :20], y, np.unique(y))
    with pytest.raises(ValueError, match="features"):
        committee.partial_fit(X, y)
    assert committee.predict(X[:, :20]).shape == (200,)


def test_sparsify_keeps_the_share_after_each_batch():
    X, y = data()
    thin = Sparsify(PA(random_state=0), share=0.5).partial_fit(X[:100], y[:100])
    full = PA(random_state=0).partial_fit(X[:100], y[:100])
    assert thin.index_size_ == full.index_size_ // 2
    full.keep_largest(0.5).partial_fit(X[100:], y[100:]).keep_largest(0.5)
    assert_array_equal(thin.partial_fit(X[100:], y[100:]).rank(X, 8), full.rank(X, 8))


@pytest.mark.parametrize(
    "wrapper",
    [Committee(PA(), passes="1:2"), Committee(Committee(PA(), passes=2)), Oversample(PA())],
    ids=["passes", "inside", "oversample"],
)
def test_partial_fit_is_missing_where_batches_are_not_supported(wrapper):
    assert not hasattr(wrapper, "partial_fit")
    assert hasattr(Sparsify(MultinomialNB()), "partial_fit")
