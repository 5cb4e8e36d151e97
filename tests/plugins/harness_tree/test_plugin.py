"""Behaviour common to all learners of this plugin, and their registered specs."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

from harness_tree import OAA, FilterTree, LOMtree, RandomTree
from harness_tree.plugin import harness_learners
from messages import naming
from plugin_specs import assert_specs_match
from problems import parts_of_prototypes as data

LEARNERS = [
    LOMtree(random_state=0, passes=10),
    LOMtree(random_state=0, passes=10, T=14, resistance=2.0, store="hashed", bits=16, refit=False, ranking="nodes"),
    RandomTree(random_state=0, passes=10),
    FilterTree(random_state=0, passes=10, store="hashed", bits=16),
    OAA(random_state=0, passes=10),
]

every = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
trees = pytest.mark.parametrize("learner", LEARNERS[:-1], ids=repr)
in_batches = pytest.mark.parametrize("learner", [LEARNERS[0], LEARNERS[1], LEARNERS[-1]], ids=repr)


def learned(learner):
    """Return all fitted attributes by name."""
    return {name: value for name, value in vars(learner).items() if name.endswith("_")}


def assert_same(one, other):
    assert learned(one).keys() == learned(other).keys()
    for name, value in learned(one).items():
        assert_array_equal(value, learned(other)[name], err_msg=name)


@every
def test_a_row_without_features_follows_the_biases(learner):
    X, y = data()
    fitted = clone(learner).fit(X, y)
    nothing = csr_array((2, 30), dtype=np.float32)
    ranked = fitted.rank(nothing, 4)
    assert_array_equal(ranked[0], ranked[1])
    assert np.all(ranked >= 0)
    assert fitted.edges_touched(nothing) == 0.0


@pytest.mark.parametrize("kind", [LOMtree, RandomTree, FilterTree, OAA])
@pytest.mark.parametrize(("passes", "moved"), [(1, 0.1), (2, 0.1 + 0.05), (3, 0.1 + 0.05 + 0.025)])
def test_the_rate_is_multiplied_by_decay_after_each_pass(kind, passes, moved):
    learner = kind(loss="absolute", eta=0.1, decay=0.5, passes=passes, random_state=0)
    if kind is not OAA:
        learner.set_params(step="plain")
    learner.fit(np.array([[1.0, 0.0], [0.0, 1.0]]), [0, 1])
    weights = learner.W_ if kind is OAA else learner.table_[:, 0]
    assert np.abs(weights).max() == pytest.approx(moved, rel=1e-6)


def test_only_a_filter_tree_stops_a_row_at_the_first_wrong_decision():
    features = np.eye(4)
    full = RandomTree(passes=1, random_state=0).fit(features, range(4))
    halted = FilterTree(passes=1, random_state=0).fit(features, range(4))
    n_nodes, n_on_a_way = 3, 2
    assert full.index_size_ == n_nodes + 4 * n_on_a_way  # every bias, and one weight per node for each row's feature
    assert halted.index_size_ < full.index_size_


@in_batches
def test_batches_equal_one_pass_and_may_bring_new_classes_and_features(learner):
    X, y = data(n=600, n_classes=6)
    full, parts = clone(learner), clone(learner)
    known = np.arange(6)
    full.partial_fit(X, y, known)
    for at in range(0, 600, 150):
        parts.partial_fit(X[at : at + 150], y[at : at + 150], known)
    assert_array_equal(full.rank(X, 6), parts.rank(X, 6))
    wider = csr_array(np.pad(X.toarray(), ((0, 0), (0, 5))))
    parts.partial_fit(wider, np.where(y == 0, 9, y))
    assert parts.classes_.tolist() == [0, 1, 2, 3, 4, 5, 9]
    assert parts.n_features_in_ == 35
    for _ in range(5):
        parts.partial_fit(wider, np.where(y == 0, 9, y))
    assert parts.score(wider, np.where(y == 0, 9, y)) > 0.8


@in_batches
def test_new_features_leave_learned_weights_unchanged(learner):
    X, y = data(n=400)
    early, late = X[:200], csr_array(np.pad(X[200:].toarray(), ((0, 0), (0, 3)), constant_values=0.5))
    known_at_once, widened = clone(learner), clone(learner)
    known_at_once.partial_fit(csr_array(np.pad(early.toarray(), ((0, 0), (0, 3)))), y[:200], np.arange(12))
    widened.partial_fit(early, y[:200], np.arange(12))
    for each in (known_at_once, widened):
        each.partial_fit(late, y[200:])
    assert_array_equal(widened.rank(late, 12), known_at_once.rank(late, 12))
    assert widened.index_bytes_ == known_at_once.index_bytes_


@in_batches
def test_a_batch_after_fit_continues_and_an_unseen_declared_class_is_never_ranked(learner):
    X, y = data(n=400)
    fitted = clone(learner).fit(X[:200], y[:200])
    before = fitted.rank(X, 3)
    fitted.partial_fit(X[200:], y[200:], classes=np.arange(13))
    assert not np.array_equal(fitted.rank(X, 3), before)
    assert fitted.classes_.size == 13
    assert not (fitted.rank(X, 13) == 12).any()


def test_a_saved_learner_ranks_in_a_new_process(tmp_path):
    X, y = data()
    fitted = {type(learner).__name__: clone(learner).fit(X, y) for learner in LEARNERS}
    np.save(tmp_path / "X", X.toarray())
    for name, learner in fitted.items():
        learner.save(tmp_path / name)
    code = """if True:
        import sys, numpy, harness_tree
        X = numpy.load("X.npy")
        for name in sys.argv[1:]:
            numpy.save(name + "-ranks", getattr(harness_tree, name).load(name).rank(X, 3))
    """
    subprocess.run([sys.executable, "-c", code, *fitted], cwd=tmp_path, check=True)
    for name, learner in fitted.items():
        assert_array_equal(np.load(tmp_path / f"{name}-ranks.npy"), learner.rank(X, 3))


def tamper(path, name, change):
    """Change one array of a saved model."""
    with np.load(path) as archive:
        arrays = {key: archive[key] for key in archive.files}
    header, arrays[name] = json.loads(arrays["arr_0"][0]), change(arrays[name].copy())
    assert header["format"] == "harness learner"
    with open(path, "wb") as file:
        np.savez(file, *[arrays.pop("arr_0")], **arrays)


def broken(field, value):
    def change(nodes):
        nodes[field][0] = value
        return nodes

    return change


def one_beyond(nodes, field):
    """Point the root's link to one position past the last."""
    last = nodes["slot"].max() if field == "slot" else len(nodes) - 1
    return broken(field, last + 1)(nodes)


@trees
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("nodes_", broken("left", 10_000)),
        ("nodes_", broken("left", 0)),
        ("nodes_", broken("right", -1)),
        ("nodes_", broken("slot", 10_000)),
        ("nodes_", broken("slot", -1)),
        ("nodes_", lambda nodes: one_beyond(nodes, "slot")),
        ("nodes_", lambda nodes: one_beyond(nodes, "right")),
        ("nodes_", broken("parent", 1)),
        ("nodes_", lambda nodes: nodes[:-1]),
        ("table_", lambda table: table[:-1]),
        ("table_", lambda table: table.astype(np.float64)),
        ("classes_", lambda classes: classes[:3]),
        ("n_features_in_", lambda _: np.array(10**6)),
        ("block_", lambda _: np.array(3)),
    ],
)
def test_a_model_with_links_beyond_its_arrays_is_rejected(learner, name, change, tmp_path):
    if name == "n_features_in_" and learner.store == "hashed":
        pytest.skip("a hashed table has a place for any feature")
    X, y = data()
    clone(learner).fit(X, y).save(tmp_path / "model")
    tamper(tmp_path / "model", name, change)
    with pytest.raises(ValueError, match="damaged"):
        type(learner).load(tmp_path / "model")


def as_first(values, value):
    """Return the array with this value in front."""
    return np.array([value, *values[1:]], values.dtype)


@pytest.mark.parametrize(
    ("learner", "name", "change"),
    [
        (LOMtree(), "list_classes_", lambda classes: as_first(classes, 12)),
        (LOMtree(), "list_classes_", lambda classes: as_first(classes, -1)),
        (LOMtree(), "list_starts_", lambda starts: as_first(starts, 1)),
        (LOMtree(), "list_starts_", lambda starts: starts[:-1]),
        (LOMtree(), "list_counts_", lambda counts: counts[:-1]),
        (FilterTree(), "leaf_of_", lambda leaves: as_first(leaves, leaves[1])),
        (FilterTree(), "leaf_of_", lambda leaves: leaves[::-1]),
        (FilterTree(), "leaf_of_", lambda leaves: leaves.astype(np.int32)),
        (FilterTree(), "places_", lambda places: as_first(places, places[1])),
    ],
)
def test_lists_that_do_not_match_their_tree_are_rejected(learner, name, change, tmp_path):
    X, y = data()
    learner.set_params(passes=1, random_state=0).fit(X, y).save(tmp_path / "model")
    tamper(tmp_path / "model", name, change)
    with pytest.raises(ValueError, match="damaged"):
        type(learner).load(tmp_path / "model")


@trees
@pytest.mark.parametrize("bits", [0, 33])
def test_a_table_of_impossible_size_is_rejected(learner, bits):
    with pytest.raises(ValueError, match=naming(f"bits={bits}", "auto", "1", "32")):
        clone(learner).set_params(bits=bits).fit(np.eye(3), [0, 1, 2])


@every
@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("loss", "log", "one of hinge, absolute, squared, logistic"),
        ("eta", 0, "above 0"),
        ("decay", 0.0, "above 0, at most 1"),
        ("decay", 1.5, "above 0, at most 1"),
        ("passes", 0, "at least 1"),
        ("random_state", "seven", "None, an integer"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(learner, name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        clone(learner).set_params(**{name: value}).fit(np.eye(3), [0, 1, 2])


@pytest.mark.parametrize("learner", [LOMtree(step="plain"), OAA()], ids=repr)
def test_weights_beyond_float32_raise_an_error(learner):
    rng = np.random.default_rng(0)
    X, y = (3e38 * rng.random((60, 3))).astype(np.float32), rng.integers(0, 3, 60)
    with pytest.raises(ValueError, match=naming("float32")):
        learner.set_params(loss="logistic", eta=10.0, random_state=0).fit(X, y)


def test_registered_specs_match_the_learners():
    kinds = {"lomtree": "tree", "random-tree": "tree", "filter-tree": "tree", "oaa": "flat"}
    assert_specs_match(harness_learners(), kinds)
