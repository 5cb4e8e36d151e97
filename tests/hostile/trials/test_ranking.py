"""Ranking from any output of a learner, compared with a naive reference; contract violations are named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from harness.errors import ContractError
from internals import (
    as_classes,
    check_ranks,
    patch_internal,
    places_in,
    rank_positions,
    rank_with_scores,
    top_k,
    worst_places,
)
from messages import naming

levels = st.sampled_from([-np.inf, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, np.inf])


def naive(row, k):
    """Sort by descending score, then by position, with padding at the right."""
    order = sorted(range(len(row)), key=lambda position: (-row[position], position))[:k]
    return order + [-1] * (k - len(order))


score_tables = st.tuples(st.integers(0, 6), st.integers(1, 9)).flatmap(
    lambda shape: arrays(st.sampled_from([np.float32, np.float64]), shape, elements=levels)
)


@given(score_tables, st.integers(1, 12))
def test_top_k_equals_the_naive_reference(scores, k):
    found = top_k(scores, k)
    assert found.shape == (len(scores), k)
    assert found.dtype == np.int32
    assert found.tolist() == [naive(row, k) for row in scores.tolist()]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.bool_, np.float16])
def test_scores_of_any_type_are_ranked(dtype):
    scores = np.array([[0, 1, 0, 1], [1, 0, 0, 0]]).astype(dtype)
    assert top_k(scores, 2).tolist() == [[1, 3], [0, 1]]


@given(score_tables, st.integers(1, 5))
def test_the_scores_are_not_modified(scores, k):
    before = scores.copy()
    top_k(scores, k)
    assert np.array_equal(before, scores)


@given(score_tables, st.integers(1, 12))
def test_the_worst_rank_is_the_number_of_classes_with_at_least_that_score(scores, k):
    ranks = top_k(scores, k)
    expected = [
        [int((row >= row[c]).sum()) if c >= 0 else 0 for c in line] for row, line in zip(scores, ranks, strict=True)
    ]
    assert worst_places(scores, ranks).tolist() == expected


# -- what a learner may have -----------------------------------------------------------------------------------------


class Scored:
    """A fitted learner with given scores per row, selected by the first feature."""

    def __init__(self, scores, classes, method="decision_function"):
        self.scores, self.classes_, self.calls = np.asarray(scores), np.asarray(classes), []
        setattr(self, method, self._answer)

    def _answer(self, X):
        rows = X[:, 0].astype(int) if isinstance(X, np.ndarray) else X[:, [0]].toarray().ravel().astype(int)
        self.calls.append(len(rows))
        return self.scores[rows]

    def predict(self, X):
        raise AssertionError("scores come first")


def numbered(rows):
    return np.arange(rows, dtype=np.float32)[:, np.newaxis]


def rank(learner, X, k, n_classes):
    answer, by = rank_positions(learner, X, k)
    return as_classes(learner, answer, by, X.shape[0], k, n_classes), by


@given(
    arrays(np.float64, (7, 4), elements=st.sampled_from([0.0, 1.0, 2.0])),
    st.sampled_from(["decision_function", "predict_proba"]),
    st.integers(1, 6),
    st.integers(1, 40),
    st.booleans(),
)
def test_block_size_does_not_change_ranks(scores, method, k, block, sparse):
    learner = Scored(scores, [3, 5, 6, 9], method)
    X = csr_array(numbered(7)) if sparse else numbered(7)
    with pytest.MonkeyPatch.context() as patch:
        patch_internal(patch, "BLOCK_VALUES", block)
        ranks, by = rank(learner, X, k, 10)
    assert by == method
    positions = np.array([naive(row, k) for row in scores.tolist()])
    assert ranks.tolist() == np.where(positions >= 0, np.array([3, 5, 6, 9])[positions], -1).tolist()
    assert max(learner.calls) <= max(1, block // 4)


@pytest.mark.parametrize(
    ("scores", "places"),
    [
        ([[3.0, 1.0, 2.0]], None),
        ([[1.0, 1.0, 0.0]], [[2, 2]]),
        ([[2.0, 1.0, 1.0]], [[1, 3]]),
        ([[5.0, 5.0, 5.0]], [[3, 3]]),
    ],
)
def test_ties_are_reported_only_where_scores_are_known(scores, places):
    answer, _ = rank_positions(Scored(scores, [0, 1, 2]), numbered(1), 2)
    found = places_in(answer)
    assert (None if found is None else found.tolist()) == places
    assert places_in(np.array([[0, 1]])) is None


def test_no_block_has_more_scores_than_the_limit(monkeypatch):
    patch_internal(monkeypatch, "BLOCK_VALUES", 10)
    learner = Scored(np.zeros((7, 4)), [0, 1, 2, 3])
    rank(learner, numbered(7), 1, 4)
    assert learner.calls == [2, 2, 2, 1]


def test_no_rows_give_no_ranks():
    ranks, _ = rank(Scored(np.zeros((1, 2)), [0, 1]), np.zeros((0, 1)), 3, 2)
    assert ranks.shape == (0, 3)


def test_rank_takes_precedence_over_scores_and_scores_over_predict():
    class All(Scored):
        def rank(self, X, k):
            return np.zeros((len(X), k), np.int64)

    assert rank_positions(All([[0, 1]], [0, 1]), numbered(1), 1)[1] == "rank"
    both = Scored([[0, 1]], [0, 1], "predict_proba")
    both.decision_function = lambda X: np.array([[5, 1]])
    assert rank(both, numbered(1), 1, 2)[1] == "decision_function"


def test_two_classes_with_one_column_of_scores():
    learner = Scored([-0.5, 2.0, 0.0], [4, 7])
    ranks, _ = rank(learner, numbered(3), 2, 8)
    assert ranks.tolist() == [[4, 7], [7, 4], [4, 7]]


@pytest.mark.parametrize("learner", [LogisticRegression(), MultinomialNB(), LinearSVC()])
@pytest.mark.parametrize("classes", [[2, 5], [1, 2, 5]])
def test_real_classifiers_rank_their_prediction_first(learner, classes):
    random = np.random.default_rng(0)
    y = np.repeat(classes, 10)
    X = csr_array(random.random((len(y), 6)) + (y[:, np.newaxis] == np.arange(6)))
    learner.fit(X, y)
    ranks, _ = rank(learner, X, 4, 6)
    assert np.array_equal(ranks[:, 0], learner.predict(X))
    assert {tuple(sorted(row)) for row in ranks.tolist()} == {tuple(sorted([*classes, *[-1] * (4 - len(classes))]))}


class Predicts:
    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer


def test_a_learner_that_only_predicts_ranks_one_class():
    ranks, by = rank(Predicts(np.array([2, 0])), numbered(2), 3, 4)
    assert by == "predict"
    assert ranks.tolist() == [[2, -1, -1], [0, -1, -1]]


class Ranks:
    """Ranks the classes in the order of their positions."""

    classes_ = np.arange(3)

    def rank(self, X, k):
        return np.tile(np.arange(k, dtype=np.int32), (len(X), 1))


def with_scores(learner, scores):
    learner.scores = lambda X, ranks: np.array(scores)
    return learner


def test_scores_come_with_the_ranks_of_a_learner_that_has_both():
    ranks, scores = rank_with_scores(with_scores(Ranks(), [[2.0, 2.0]]), numbered(1), 2, 3)
    assert ranks.tolist() == [[0, 1]]
    assert scores.tolist() == [[2.0, 2.0]]


def test_a_learner_that_only_ranks_has_no_scores():
    ranks, scores = rank_with_scores(Ranks(), numbered(1), 2, 3)
    assert ranks.tolist() == [[0, 1]]
    assert scores is None


def test_scores_of_a_ranking_are_not_used_for_predictions():
    learner = with_scores(Predicts(np.array([2])), [[1.0]])
    learner.classes_ = np.arange(3)
    assert rank_with_scores(learner, numbered(1), 1, 3)[1] is None


# -- broken promises -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([[0, 1]], r"shape \(1, 2\), expected \(2, 2\)"),
        ([[0], [1]], r"shape \(2, 1\), expected \(2, 2\)"),
        ([0, 1], r"shape \(2,\), expected \(2, 2\)"),
        (None, r"shape \(\), expected"),
        ([[0.0, 1.0], [1.0, 0.0]], "float64, expected signed integers"),
        (np.array([[0, 1], [1, 0]], np.uint32), "uint32, expected signed integers"),
        ([["a", "b"], ["a", "b"]], "expected signed integers"),
        ([[0, 3], [1, 0]], r"class 3, expected positions in classes_, 0..2, or -1"),
        ([[0, -2], [1, 0]], "class -2"),
        ([[0, 1], [2, 2]], "a class twice in row 1"),
        ([[0, 1], [-1, 2]], r"a pad \(-1\) before a class"),
    ],
)
def test_invalid_ranks_are_rejected(answer, reason):
    with pytest.raises(ContractError, match=reason):
        check_ranks(np.array(answer) if isinstance(answer, list) else answer, 2, 2, 3)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([[1.0, 2.0]], "scores rise along a ranking"),
        ([[1.0, np.nan]], "NaN or infinity"),
        ([[1.0]], r"shape \(1, 1\), expected floats \(1, 2\)"),
        ([[2, 1]], "int64 of shape"),
    ],
)
@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_invalid_scores_of_a_ranking_are_rejected(order, scores, reason):
    learner = with_scores(Ranks(), scores)
    learner.rank = lambda X, k: np.array([order])
    with pytest.raises(ContractError, match=reason):
        rank_with_scores(learner, numbered(1), 2, 3)


def test_the_score_of_a_pad_may_be_higher_than_that_of_a_class():
    learner = with_scores(Ranks(), [[-1.0, 0.0]])
    learner.rank = lambda X, k: np.array([[2, -1]])
    assert rank_with_scores(learner, numbered(1), 2, 3)[1].tolist() == [[-1.0, 0.0]]


@st.composite
def good_ranks(draw):
    classes, k = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    rows = []
    for _ in range(draw(st.integers(0, 5))):
        kept = draw(st.permutations(range(classes)))[: draw(st.integers(0, min(k, classes)))]
        rows.append(list(kept) + [-1] * (k - len(kept)))
    return np.array(rows, draw(st.sampled_from([np.int8, np.int32, np.int64]))).reshape(len(rows), k), classes


@given(good_ranks())
def test_valid_ranks_pass_unchanged(case):
    ranks, classes = case
    assert check_ranks(ranks, *ranks.shape, classes) is ranks


class Ranked:
    def __init__(self, classes):
        self.classes_ = classes


@pytest.mark.parametrize(
    ("classes", "reason"),
    [
        (np.array(["a", "b"]), "must hold class positions 0..3 as given to fit"),
        (np.array([0.0, 1.0]), "must hold class positions"),
        (np.array([0, 4]), "must hold class positions"),
        (np.array([-1, 1]), "must hold class positions"),
        ([np.array([0, 1]), np.array([0, 1])], "must hold class positions"),
        (np.array([1, 1]), "must name each class of fit once"),
    ],
)
def test_classes_that_differ_from_fit_are_rejected(classes, reason):
    with pytest.raises(ContractError, match=reason):
        as_classes(Ranked(classes), np.array([[0, 1]]), "rank", 1, 2, 4)


def test_a_learner_without_classes_is_rejected():
    with pytest.raises(ContractError, match="no classes_"):
        as_classes(Predicts(None), np.array([[0]]), "rank", 1, 1, 4)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([[0.0, 1.0, 2.0]], r"shape \(1, 3\), expected rows x classes_"),
        ([[0.0, np.nan]], "returned NaN"),
        ([[[0.0, 1.0]]], "expected rows x classes_"),
    ],
)
def test_invalid_scores_are_rejected(scores, reason):
    with pytest.raises(ContractError, match=f"decision_function.*{reason}"):
        rank_positions(Scored(scores, [0, 1]), numbered(1), 1)


def test_one_score_array_per_label_is_rejected():
    learner = Scored([[0, 1]], [0, 1])
    learner.decision_function = lambda X: [np.zeros((1, 2))] * 2
    with pytest.raises(ContractError, match=naming("list", "rank(X, k)")):
        rank_positions(learner, numbered(1), 1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (np.array([0]), r"shape \(1,\), expected 2 integers"),
        (np.array([0.0, 1.0]), "float64"),
        (np.array([[0, 1], [1, 0]]), r"shape \(2, 2\)"),
        (np.array([0, 9]), "outside 0..3"),
        (np.array([0, -1]), "outside 0..3"),
    ],
)
def test_invalid_predictions_are_rejected(answer, reason):
    with pytest.raises(ContractError, match=reason):
        as_classes(Predicts(answer), answer, "predict", 2, 3, 4)
