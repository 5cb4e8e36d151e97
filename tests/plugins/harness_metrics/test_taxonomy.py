"""Taxonomy metrics, compared with paths followed node by node, and identities between them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness import Outcome, Taxonomy
from harness_metrics.ranking import accuracy
from harness_metrics.taxonomy import hf, hp, hr, level_accuracy, parent_accuracy, tree_error, tree_loss
from internals import class_paths
from messages import naming


def outcome(true_sets, predicted, taxonomy):
    n_classes = len(taxonomy.class_node)
    dense = np.zeros((len(true_sets), n_classes), np.int8)
    for row, true in enumerate(true_sets):
        dense[row, list(true)] = 1
    ranks = np.array(predicted, np.int32).reshape(-1, 1)
    return Outcome(
        csr_array(dense), ranks, n_classes, np.ones(n_classes, np.int64), 9, 1.0, 1.0, 1.0, taxonomy=taxonomy
    )


@st.composite
def cases(draw, fewest=0):
    """Draw a tree with classes at any node, sets of true classes, and a predicted class or none per row."""
    n_nodes = draw(st.integers(2, 12))
    parent = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, n_nodes))]
    class_node = draw(st.lists(st.integers(0, n_nodes - 1), min_size=2, max_size=8, unique=True))
    classes = st.integers(0, len(class_node) - 1)
    true_sets = draw(st.lists(st.sets(classes, min_size=fewest, max_size=3), min_size=1, max_size=8))
    predicted = [draw(classes | st.just(-1)) for _ in true_sets]
    return Taxonomy(np.array(parent), np.array(class_node)), true_sets, predicted


def path(taxonomy, class_):
    """Return the nodes from below the root to the class."""
    node, found = int(taxonomy.class_node[class_]), []
    while taxonomy.parent[node] >= 0:
        found.insert(0, node)
        node = int(taxonomy.parent[node])
    return found


def naive_loss(taxonomy, true, guess, costs):
    def cost(nodes, of):
        return sum(costs[min(of.index(node), len(costs) - 1)] for node in nodes)

    losses = []
    for class_ in true:
        right, other = path(taxonomy, class_), path(taxonomy, guess) if guess >= 0 else None
        if other is None:
            losses.append(2 * cost(right, right))
        else:
            losses.append(cost(set(right) - set(other), right) + cost(set(other) - set(right), other))
    return min(losses)


def mean_of(values):
    return pytest.approx(sum(values) / len(values)) if values else None


@given(cases(), st.sampled_from([[0.5], [1.0], [4.0, 2.0, 1.0], [0.0, 1.0]]))
def test_the_tree_loss_matches_paths_followed_node_by_node(case, costs):
    taxonomy, true_sets, predicted = case
    expected = [naive_loss(taxonomy, t, p, costs) for t, p in zip(true_sets, predicted, strict=True) if t]
    known = outcome(true_sets, predicted, taxonomy)
    assert tree_loss(known, costs=costs) == mean_of(expected)
    if len(costs) == 1:
        assert tree_loss(known, costs=costs[0]) == mean_of(expected)


@given(cases(fewest=1))
def test_the_tree_induced_error_is_twice_the_loss(case):
    taxonomy, true_sets, predicted = case
    known = outcome(true_sets, predicted, taxonomy)
    assert tree_error(known) == pytest.approx(2 * tree_loss(known))


@given(cases())
def test_parent_accuracy_matches_the_definition(case):
    taxonomy, true_sets, predicted = case
    above = taxonomy.parent[taxonomy.class_node]
    rows = [(t, p) for t, p in zip(true_sets, predicted, strict=True) if t]
    expected = mean_of([p >= 0 and any(above[p] == above[c] for c in t) for t, p in rows])
    flat = all(node in (-1, 0) for node in above)
    assert parent_accuracy(outcome(true_sets, predicted, taxonomy)) == (None if flat else expected)


@given(cases(), st.integers(1, 12))
def test_level_accuracy_matches_truncated_paths(case, level):
    taxonomy, true_sets, predicted = case
    deepest = max(len(path(taxonomy, c)) for c in range(len(taxonomy.class_node)))
    rows = [(t, p) for t, p in zip(true_sets, predicted, strict=True) if t]
    cut = {c: path(taxonomy, c)[:level][-1:] for c in range(len(taxonomy.class_node))}
    expected = mean_of([p >= 0 and any(cut[p] == cut[c] for c in t) for t, p in rows])
    assert level_accuracy(outcome(true_sets, predicted, taxonomy), level=level) == (
        None if level > deepest else expected
    )


@given(cases(fewest=1))
def test_accuracy_at_the_deepest_level_equals_accuracy(case):
    taxonomy, true_sets, predicted = case
    known, depth = outcome(true_sets, predicted, taxonomy), class_paths(taxonomy).shape[1]
    assert depth >= 1  # of two classes at two nodes, one is below the root
    assert level_accuracy(known, level=depth) == pytest.approx(accuracy(known))


@given(cases())
def test_hierarchical_precision_and_recall_match_sets_of_nodes(case):
    taxonomy, true_sets, predicted = case
    shared = said = true = 0
    for labels, guess in zip(true_sets, predicted, strict=True):
        nodes = set().union(*(path(taxonomy, c) for c in labels))
        guessed = set(path(taxonomy, guess)) if guess >= 0 and labels else set()
        shared, said, true = shared + len(nodes & guessed), said + len(guessed), true + len(nodes)
    known = outcome(true_sets, predicted, taxonomy)
    if not true:
        assert (hp(known), hr(known), hf(known)) == (None, None, None)
        return
    precision, recall = shared / said if said else 0.0, shared / true
    both = 2 * precision * recall / (precision + recall) if shared else 0.0
    assert (hp(known), hr(known), hf(known)) == (mean_of([precision]), mean_of([recall]), mean_of([both]))


def test_values_on_a_small_tree_match_a_manual_calculation():
    # root 0, inner 1 and 2, leaves 3, 4 below 1 and 5 below 2: classes 0, 1, 2 at the leaves.
    taxonomy = Taxonomy(np.array([-1, 0, 0, 1, 1, 2]), np.array([3, 4, 5]))
    known = outcome([{0}, {0}, {0}, {0}], [0, 1, 2, -1], taxonomy)
    assert tree_loss(known) == (0 + 1 + 2 + 2) / 4
    assert tree_error(known) == (0 + 2 + 4 + 4) / 4
    assert parent_accuracy(known) == 0.5
    assert level_accuracy(known, level=1) == 0.5
    assert level_accuracy(known, level=2) == 0.25
    assert level_accuracy(known, level=3) is None
    assert (hp(known), hr(known)) == (3 / 6, 3 / 8)


@st.composite
def lattices(draw):
    """Draw nodes with one to three parents and costs, sets of true classes, and a predicted class or none per row."""
    taxonomy, true_sets, predicted = draw(cases())
    n_nodes = len(taxonomy.parent)
    pairs = [(node, above) for node in range(2, n_nodes) for above in range(node) if above != taxonomy.parent[node]]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=8, unique=True)) if pairs else []
    numbers = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=2 * n_nodes, max_size=2 * n_nodes)
    more = np.array(chosen, np.int64).reshape(-1, 2)
    costs = np.reshape(draw(numbers), (n_nodes, 2)) if draw(st.booleans()) else None
    return replace(taxonomy, more_parents=more, costs=costs), true_sets, predicted


def parents_of(taxonomy, node):
    first = [int(taxonomy.parent[node])] if taxonomy.parent[node] >= 0 else []
    return first + [above for below, above in taxonomy.more_parents.tolist() if below == node]


def nodes_of(taxonomy, class_):
    """Return the node of a class and its ancestors, without the root, by following every parent."""
    found, waiting = set(), [int(taxonomy.class_node[class_])]
    while waiting:
        node = waiting.pop()
        if taxonomy.parent[node] >= 0:
            found.add(node)
            waiting += parents_of(taxonomy, node)
    return found


def level_of(taxonomy, node):
    """Return the length of the longest path from the root."""
    return max((1 + level_of(taxonomy, above) for above in parents_of(taxonomy, node)), default=0)


@given(lattices())
def test_the_loss_in_a_lattice_is_the_cost_of_the_symmetric_difference_of_ancestors(case):
    taxonomy, true_sets, predicted = case
    missed, entered = (np.full((len(taxonomy.parent), 2), 0.5) if taxonomy.costs is None else taxonomy.costs).T
    expected, errors = [], []
    for true, guess in zip(true_sets, predicted, strict=True):
        losses, differences = [], []
        for right in [nodes_of(taxonomy, class_) for class_ in true]:
            other = nodes_of(taxonomy, guess) if guess >= 0 else None
            lost, wrong = (right, right) if other is None else (right - other, other - right)
            losses.append(missed[list(lost)].sum() + entered[list(wrong)].sum())
            differences.append(len(lost) + len(wrong))
        if true:
            expected.append(min(losses))
            errors.append(min(differences))
    known = outcome(true_sets, predicted, taxonomy)
    assert tree_loss(known) == mean_of(expected)
    assert tree_error(known) == mean_of(errors)
    assert tree_loss(known, costs=[1.0, 1.0]) == tree_error(known)  # given costs come before those of the taxonomy


@given(lattices(), st.integers(1, 12))
def test_classes_of_a_lattice_agree_at_a_level_or_in_their_parents_if_they_share_a_node(case, level):
    taxonomy, true_sets, predicted = case
    assert taxonomy.levels().tolist() == [level_of(taxonomy, node) for node in range(len(taxonomy.parent))]
    assert taxonomy.depth == max(taxonomy.levels())
    at, above = [], []
    for class_, node in enumerate(taxonomy.class_node.tolist()):
        nodes = {z for z in nodes_of(taxonomy, class_) if level_of(taxonomy, z) == level}
        at.append(nodes if level_of(taxonomy, node) >= level else {node})
        above.append(set(parents_of(taxonomy, node)) or {-1})
    rows = [(t, p) for t, p in zip(true_sets, predicted, strict=True) if t]
    known, deepest = outcome(true_sets, predicted, taxonomy), max(taxonomy.levels()[taxonomy.class_node])
    by_level = mean_of([p >= 0 and any(at[p] & at[c] for c in t) for t, p in rows])
    assert level_accuracy(known, level=level) == (None if level > deepest else by_level)
    flat = all(nodes <= {-1, 0} for nodes in above)
    by_parent = mean_of([p >= 0 and any(above[p] & above[c] for c in t) for t, p in rows])
    assert parent_accuracy(known) == (None if flat else by_parent)


@given(lattices())
def test_hierarchical_precision_and_recall_count_each_ancestor_once(case):
    taxonomy, true_sets, predicted = case
    shared = said = true = 0
    for labels, guess in zip(true_sets, predicted, strict=True):
        nodes = set().union(*(nodes_of(taxonomy, c) for c in labels))
        guessed = nodes_of(taxonomy, guess) if guess >= 0 and labels else set()
        shared, said, true = shared + len(nodes & guessed), said + len(guessed), true + len(nodes)
    known = outcome(true_sets, predicted, taxonomy)
    expected = (shared / said if said else 0.0, shared / true) if true else (None, None)
    assert (hp(known), hr(known)) == expected


def test_the_nearest_of_several_true_classes_counts():
    taxonomy = Taxonomy(np.array([-1, 0, 0, 1, 1, 2]), np.array([3, 4, 5]))
    assert tree_loss(outcome([{1, 2}], [0], taxonomy)) == 1.0


def test_the_value_is_none_without_a_taxonomy_or_a_true_class():
    taxonomy = Taxonomy(np.array([-1, 0, 0]), np.array([1, 2]))
    known = outcome([set()], [0], taxonomy)
    for metric in (tree_loss, tree_error, parent_accuracy, level_accuracy, hp, hr, hf):
        assert metric(known) is None
        assert metric(replace(known, taxonomy=None)) is None


@pytest.mark.parametrize("costs", [-1.0, [], [1.0, float("nan")]])
def test_invalid_costs_are_rejected(costs):
    taxonomy = Taxonomy(np.array([-1, 0, 0]), np.array([1, 2]))
    with pytest.raises(ValueError, match=naming("costs")):
        tree_loss(outcome([{0}], [0], taxonomy), costs=costs)
