"""What all learners of this plugin do alike, and what the plugin says of them."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import harness_tree
from harness.checks import learner_checks
from harness.contract import HasIndexBytes, HasIndexSize, Ranks, TouchesEdges
from harness_tree import OAA, FilterTree, LOMtree, RandomTree, plugin

LEARNERS = [
    LOMtree(random_state=0, passes=10),
    LOMtree(random_state=0, passes=10, T=14, resistance=2.0, store="hashed", bits=16, refit=False, ranking="nodes"),
    RandomTree(random_state=0, passes=10),
    FilterTree(random_state=0, passes=10, store="hashed", bits=16),
    OAA(random_state=0, passes=10),
]
SPECS = {spec.name: spec for spec in plugin.harness_learners()}
CHECKS = [(spec.name, check) for spec in SPECS.values() for check in learner_checks(spec)]

every = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
trees = pytest.mark.parametrize("learner", LEARNERS[:-1], ids=repr)
in_batches = pytest.mark.parametrize("learner", [LEARNERS[0], LEARNERS[1], LEARNERS[-1]], ids=repr)


def data(seed: int = 0, n: int = 200, n_features: int = 30, n_classes: int = 12) -> tuple[csr_array, np.ndarray]:
    """Instances with most features of their class and some others, of length 1."""
    rng = np.random.default_rng(seed)
    prototypes = (0.5 + rng.random((n_classes, n_features))) * (rng.random((n_classes, n_features)) < 0.3)
    y = rng.integers(0, n_classes, n)
    noise = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.1)
    X = prototypes[y] * (rng.random((n, n_features)) < 0.8) + noise
    X[:, 0] += 0.01
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return csr_array(X.astype(np.float32)), y


def learned(learner):
    """All that a fitted learner holds, by name."""
    return {name: value for name, value in vars(learner).items() if name.endswith("_")}


def assert_same(one, other):
    assert learned(one).keys() == learned(other).keys()
    for name, value in learned(one).items():
        assert_array_equal(value, learned(other)[name], err_msg=name)


@parametrize_with_checks([LOMtree(), RandomTree(), FilterTree(), OAA()])
def test_it_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("name", "check"), CHECKS, ids=lambda value: str(value).replace(" ", "_"))
def test_it_keeps_the_contract(name, check):
    check()


@every
def test_it_learns(learner):
    X, y = data(n=1500)
    assert clone(learner).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.8


@every
def test_it_has_what_the_contract_rewards(learner):
    fitted = clone(learner).fit(*data())
    for ability in (Ranks, HasIndexSize, HasIndexBytes, TouchesEdges):
        assert isinstance(fitted, ability)
    assert 0 < fitted.index_size_ <= fitted.index_bytes_ / 4


@every
def test_equal_seeds_give_equal_bits_and_other_seeds_do_not(learner):
    X, y = data()
    one, two, other = (clone(learner).set_params(random_state=seed).fit(X, y) for seed in (3, 3, 4))
    assert_same(one, two)
    weights = "W_" if hasattr(one, "W_") else "table_"
    assert not np.array_equal(getattr(one, weights), getattr(other, weights))


@every
def test_ranks_are_positions_in_classes_whatever_the_labels(learner):
    X, y = data()
    names = np.array([f"class {c:02}" for c in range(12)])
    by_name, by_number = clone(learner).fit(X, names[y]), clone(learner).fit(X, 10 * y - 7)
    assert_array_equal(by_name.rank(X, 3), by_number.rank(X, 3))
    assert_array_equal(by_name.predict(X), by_name.classes_[by_name.rank(X, 1)[:, 0]])


@every
def test_more_ranks_than_classes_are_padded_and_all_classes_of_training_are_found(learner):
    X, y = data(n_classes=4)
    ranked = clone(learner).fit(X, np.where(y == 2, 1, y)).rank(X, 7)
    assert_array_equal(np.sort(ranked[:, :3], axis=1), np.tile(np.arange(3), (200, 1)))
    assert np.all(ranked[:, 3:] == -1)


@every
def test_a_row_without_features_goes_where_the_biases_send_it(learner):
    X, y = data()
    fitted = clone(learner).fit(X, y)
    nothing = csr_array((2, 30), dtype=np.float32)
    ranked = fitted.rank(nothing, 4)
    assert_array_equal(ranked[0], ranked[1])
    assert np.all(ranked >= 0)
    assert fitted.edges_touched(nothing) == 0.0


@every
@pytest.mark.parametrize("kind", [csr_array, csr_matrix, lambda X: X.toarray(), lambda X: X.astype(np.float64)])
def test_every_kind_of_matrix_gives_the_same_ranks(learner, kind):
    X, y = data()
    assert_array_equal(clone(learner).fit(kind(X), y).rank(kind(X), 4), clone(learner).fit(X, y).rank(X, 4))


@every
def test_after_each_pass_the_learner_can_be_used(learner):
    X, y = data()
    fitted, seen = clone(learner).set_params(passes=3), []
    fitted.fit(X, y, after_pass=lambda n: seen.append((n, fitted.rank(X, 3), fitted.index_size_)))
    assert [n for n, *_ in seen] == [1, 2, 3]
    for n, ranked, size in seen:
        alone = clone(learner).set_params(passes=n).fit(X, y)
        assert_array_equal(ranked, alone.rank(X, 3))
        assert size == alone.index_size_


@every
def test_fitting_again_forgets_and_a_pickled_learner_ranks_alike(learner):
    X, y = data()
    fresh, again = clone(learner).fit(X, y), clone(learner).fit(X[:50], y[:50]).fit(X, y)
    assert_same(fresh, again)
    assert_array_equal(pickle.loads(pickle.dumps(fresh)).rank(X, 5), fresh.rank(X, 5))


@in_batches
def test_batches_add_up_to_one_pass_and_bring_classes_and_features_as_they_come(learner):
    X, y = data(n=600, n_classes=6)
    whole, parts = clone(learner), clone(learner)
    known = np.arange(6)
    whole.partial_fit(X, y, known)
    for at in range(0, 600, 150):
        parts.partial_fit(X[at : at + 150], y[at : at + 150], known)
    assert_array_equal(whole.rank(X, 6), parts.rank(X, 6))
    wider = csr_array(np.pad(X.toarray(), ((0, 0), (0, 5))))
    parts.partial_fit(wider, np.where(y == 0, 9, y))
    assert parts.classes_.tolist() == [0, 1, 2, 3, 4, 5, 9]
    assert parts.n_features_in_ == 35
    for _ in range(5):
        parts.partial_fit(wider, np.where(y == 0, 9, y))
    assert parts.score(wider, np.where(y == 0, 9, y)) > 0.8


@in_batches
def test_a_batch_after_fit_learns_on_and_a_class_only_announced_is_never_ranked(learner):
    X, y = data(n=400)
    fitted = clone(learner).fit(X[:200], y[:200])
    before = fitted.rank(X, 3)
    fitted.partial_fit(X[200:], y[200:], classes=np.arange(13))
    assert not np.array_equal(fitted.rank(X, 3), before)
    assert fitted.classes_.size == 13
    assert not (fitted.rank(X, 13) == 12).any()


@every
def test_a_saved_learner_ranks_and_learns_on_like_the_one_that_was_saved(learner, tmp_path):
    X, y = data()
    names = np.array([f"class {c}" for c in range(12)], object)[y]
    fitted = clone(learner).fit(X, names)
    fitted.save(tmp_path / "model")
    back = type(learner).load(tmp_path / "model")
    assert back.get_params() == fitted.get_params()
    assert_same(fitted, back)
    assert_array_equal(back.rank(X, 5), fitted.rank(X, 5))
    if hasattr(back, "partial_fit"):
        assert_same(fitted.partial_fit(X, names), back.partial_fit(X, names))


def test_a_saved_learner_ranks_in_a_process_that_has_seen_no_other(tmp_path):
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


@every
def test_a_damaged_or_foreign_file_is_refused(learner, tmp_path):
    X, y = data()
    path = tmp_path / "model"
    clone(learner).fit(X, y).save(path)
    other = OAA if not isinstance(learner, OAA) else LOMtree
    with pytest.raises(ValueError, match="holds a model of"):
        other.load(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged"):
        type(learner).load(path)


def tamper(path, name, change):
    """Change one array of a saved model."""
    with np.load(path) as archive:
        arrays = {key: archive[key] for key in archive.files}
    header, arrays[name] = json.loads(arrays["arr_0"][0]), change(arrays[name].copy())
    assert header["format"] == "harness model"
    with open(path, "wb") as file:
        np.savez(file, *[arrays.pop("arr_0")], **arrays)


def broken(field, value):
    def change(nodes):
        nodes[field][0] = value
        return nodes

    return change


@trees
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("nodes_", broken("left", 10_000)),
        ("nodes_", broken("left", 0)),
        ("nodes_", broken("right", -1)),
        ("nodes_", broken("slot", 10_000)),
        ("nodes_", broken("parent", 1)),
        ("nodes_", lambda nodes: nodes[:-1]),
        ("table_", lambda table: table[:-1]),
        ("table_", lambda table: table.astype(np.float64)),
        ("classes_", lambda classes: classes[:3]),
        ("n_features_in_", lambda _: np.array(10**6)),
    ],
)
def test_a_model_that_would_be_read_beyond_its_arrays_is_refused(learner, name, change, tmp_path):
    if name == "n_features_in_" and learner.store == "hashed":
        pytest.skip("a hashed table has a place for any feature")
    X, y = data()
    clone(learner).fit(X, y).save(tmp_path / "model")
    tamper(tmp_path / "model", name, change)
    with pytest.raises(ValueError, match="damaged"):
        type(learner).load(tmp_path / "model")


@every
@pytest.mark.parametrize("k", [0, -1, 1.5, "3"])
def test_a_bad_k_is_named_with_its_value(learner, k):
    with pytest.raises(ValueError, match=rf"^k={k!r}: must be an integer of at least 1"):
        clone(learner).fit(*data()).rank(data()[0], k)


@every
@pytest.mark.parametrize("ask", [lambda p: p.rank(data()[0], 1), lambda p: p.index_size_, lambda p: p.index_bytes_])
def test_an_unfitted_learner_says_so(learner, ask):
    with pytest.raises(NotFittedError):
        ask(clone(learner))


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
def test_a_bad_parameter_is_named_with_its_value_and_what_is_allowed(learner, name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        clone(learner).set_params(**{name: value}).fit(np.eye(3), [0, 1, 2])


@pytest.mark.parametrize("learner", [LOMtree(step="plain"), OAA()], ids=repr)
def test_weights_beyond_float32_are_refused(learner):
    rng = np.random.default_rng(0)
    X, y = (3e38 * rng.random((60, 3))).astype(np.float32), rng.integers(0, 3, 60)
    with pytest.raises(ValueError, match="outgrew float32: scale X down, or lower eta"):
        learner.set_params(loss="logistic", eta=10.0, random_state=0).fit(X, y)


@every
def test_one_class_is_predicted_always(learner):
    X, _ = data()
    fitted = clone(learner).fit(X, np.full(200, 7))
    assert fitted.predict(X).tolist() == [7] * 200
    assert_array_equal(fitted.rank(X, 2), np.tile([0, -1], (200, 1)))


def test_the_plugin_names_the_learners_it_brings():
    kinds = {"lomtree": "tree", "random-tree": "tree", "filter-tree": "tree", "oaa": "flat"}
    assert {spec.name: spec.kind for spec in SPECS.values()} == kinds
    for spec in SPECS.values():
        module, name = spec.load.split(":")
        assert (spec.preload, getattr(harness_tree, name).__module__) == ((module,), module)
        assert not spec.needs


def test_listing_the_plugin_imports_no_learner():
    heavy = "[name for name in ('numba', 'numpy', 'scipy', 'sklearn') if name in sys.modules]"
    code = f"import sys, harness_tree.plugin; print({heavy}, *sorted(harness_tree.__all__))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["[]", "FilterTree", "LOMtree", "OAA", "RandomTree"]
