"""The task of Cai and Hofmann: the class is the best path, margins hold, and the tree is complete."""

import hashlib
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import DataError
from harness_synthetic import hsvm
from harness_synthetic.normals import normals, on_grid
from harness_synthetic.plugin import harness_datasets
from messages import assert_names


def digest(data):
    parts = [data.X.indices.astype("<i4"), data.X.data.astype("<f4"), data.y.astype("<i4")]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def path_scores(X, tree, node_weights):
    """Return the sum of <w_z, x> over the nodes of each class's path, for each row."""
    scores = np.zeros((len(X), len(tree.class_node)))
    for position, node in enumerate(tree.class_node):
        while node != 0:
            scores[:, position] += X @ node_weights[node]
            node = tree.parent[node]  # noqa: PLW2901 (climbs)
    return scores


def node_weights(children, depth, features, scale, decay, seed):
    """Return the weight vector of each node as the loader draws them; the root's is zero."""
    bits = np.random.PCG64(seed)
    weights = [np.zeros((1, features))]
    for level in range(1, depth + 1):
        deviation = np.sqrt(scale**2 * decay ** (level - 1) / features)
        weights.append(on_grid(normals(bits, children**level * features) * deviation).reshape(-1, features))
    return np.concatenate(weights)


def test_seed_0_gives_pinned_data():
    assert (
        digest(hsvm.make_hsvm_synthetic(n_train=300, n_test=100))
        == "38b5f6b03aca42660aeebcd42593f99b1aef719ba48154bdcd63c7dc735463b2"
    )


def test_another_seed_gives_other_data():
    assert digest(hsvm.make_hsvm_synthetic(seed=1)) != digest(hsvm.make_hsvm_synthetic())


@settings(max_examples=25)
@given(
    st.integers(2, 5),
    st.integers(1, 3),
    st.floats(0, 0.1),
    st.integers(2, 24),
    st.floats(0.5, 3),
    st.sampled_from([0.25, 0.5, 1.0]),
    st.integers(0, 2**32 - 1),
)
def test_the_class_is_the_best_path_with_a_lead_above_rho(children, depth, rho, features, scale, decay, seed):
    given_ = {"children": children, "depth": depth, "features": features, "scale": scale, "decay": decay, "seed": seed}
    data = hsvm.make_hsvm_synthetic(**given_, rho=rho, n_train=60, n_test=20)
    X = data.X.toarray().astype(np.float64)
    scores = path_scores(X, data.taxonomy, node_weights(**given_))
    assert data.y.tolist() == scores.argmax(axis=1).tolist()
    ordered = np.sort(scores, axis=1)
    assert (ordered[:, -1] - ordered[:, -2]).min() > rho
    assert np.linalg.norm(X, axis=1) == pytest.approx(1, abs=1e-5)
    assert X.shape == (80, features)


@given(st.integers(2, 6), st.integers(1, 4))
def test_the_tree_is_complete_and_the_classes_are_its_leaves(children, depth):
    tree = hsvm.complete_tree(children, depth)
    assert tree.depth == depth
    assert len(tree.parent) == len(tree.node_names) == len(set(tree.node_names))
    offspring = np.bincount(tree.parent[1:], minlength=len(tree.parent))
    leaves = np.flatnonzero(offspring == 0)
    assert tree.class_node.tolist() == leaves.tolist()
    assert len(leaves) == children**depth
    assert set(offspring[offspring > 0]) == {children}
    assert tree.node_names[tree.class_node[-1]] == ".".join([str(children - 1)] * depth)


def test_weights_shrink_from_level_to_level():
    def spread(depth):
        return hsvm.leaf_weights(np.random.PCG64(3), 20, depth, 20, 1.6, 0.5).var()

    assert spread(1) == pytest.approx(1.6**2 / 20, rel=0.2)
    assert spread(3) == pytest.approx(1.6**2 / 20 * (1 + 0.5 + 0.25), rel=0.2)


def test_a_larger_margin_makes_the_task_easier():
    def accuracy(rho):
        """Of the nearest class mean, over a few seeds."""
        hits = []
        for seed in range(4):
            data = hsvm.make_hsvm_synthetic(rho=rho, seed=seed)
            (train, test), X = data.splits["made"], data.X.toarray()
            means = np.stack([X[train][data.y[train] == c].sum(axis=0) for c in range(27)])
            means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
            hits.append(((X[test] @ means.T).argmax(axis=1) == data.y[test]).mean())
        return np.mean(hits)

    assert 0.3 < accuracy(0.001) < accuracy(0.1) - 0.05


def test_the_fixed_split_trains_on_the_first_rows():
    data = hsvm.make_hsvm_synthetic(n_train=30, n_test=12)
    train, test = data.splits["made"]
    assert train.tolist() == list(range(30))
    assert test.tolist() == list(range(30, 42))
    assert_names(data.found, "30", "12", "20", "27")


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"rho": 5}, "rho=5: only 0 of [0-9,]+ rows have such a margin; choose a smaller rho or a larger scale"),
        ({"children": 1}, "children=1; allowed: a whole number from 2"),
        ({"children": 10, "depth": 6}, "children=10, depth=6 make 1,000,000 classes; allowed: at most 100,000"),
        ({"n_train": 0}, "n_train=0; allowed: a whole number from 1"),
        ({"features": 1}, "features=1; allowed: a whole number from 2"),
        ({"scale": 0}, r"scale=0; allowed: a number from 0\.001 to 16"),
        ({"decay": 2}, "decay=2; allowed: a number from 0 to 1"),
        ({"rho": "small"}, "rho='small'; allowed: a number from 0 to 8"),
        ({"seed": -1}, "seed=-1; allowed: a whole number from 0"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(given_, message):
    with pytest.raises(DataError, match=message):
        hsvm.make_hsvm_synthetic(**given_)


def test_the_defaults_match_the_published_table():
    assert {name: parameter.default for name, parameter in signature(hsvm.make_hsvm_synthetic).parameters.items()} == {
        "children": 3,
        "depth": 3,
        "rho": 0.001,
        "n_train": 1000,
        "n_test": 1000,
        "features": 20,
        "scale": 1.6,
        "decay": 0.5,
        "seed": 0,
    }


def test_the_registered_facts_match_the_default_data():
    (spec,) = [spec for spec in harness_datasets() if spec.name == "hsvm-synthetic"]
    data = hsvm.make_hsvm_synthetic()
    assert spec.representation == "raw"
    assert spec.facts == {
        "rows": data.X.shape[0],
        "features": data.X.shape[1],
        "classes": np.unique(data.y).size,
        "taxonomy_depth": data.taxonomy.depth,
    }
