"""Precision, recall and nDCG at k, also by propensity: against loops from their formulas, and against scikit-learn."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from harness_metrics.ranking import ndcg, p1, p3, p5, precision, r1, recall, rk
from harness_metrics.tail import psndcg, psp
from random_rankings import random_rankings


def discount(rank):
    return 1 / math.log2(rank + 1)


def gains_by_hand(one, weight):
    """Return for each row with labels the weighted hits among the first k, the largest sum, and its labels."""
    rows = []
    for true, ranked in zip(one.true_sets, one.ranked, strict=True):
        if true:
            reached = sum(weight(c, rank) for rank, c in enumerate(ranked[: one.k], start=1) if c in true)
            best_first = sorted(true, key=lambda c: -weight(c, 1))[: one.k]
            rows.append((reached, sum(weight(c, rank) for rank, c in enumerate(best_first, start=1)), len(true)))
    return rows


def inverse_propensity(one):
    n = len(one.y_train)
    c = max(math.log(n) - 1, 0) * 2.5**0.55
    return [1 + c * (count + 1.5) ** -0.55 for count in one.y_train.sum(axis=0)]


def mean(values):
    return pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize("largest_set", [1, 4])
def test_every_metric_at_k_matches_its_formula(largest_set):
    for one in random_rankings(largest_set):
        hits = gains_by_hand(one, lambda c, rank: 1.0)
        if not hits:
            for metric in (precision, recall, ndcg, psp, psndcg):
                assert metric(one.outcome, k=one.k) is None
            continue
        assert precision(one.outcome, k=one.k) == mean([found / one.k for found, _, _ in hits])
        assert recall(one.outcome, k=one.k) == mean([found / n for found, _, n in hits])
        discounted = gains_by_hand(one, lambda c, rank: discount(rank))
        assert ndcg(one.outcome, k=one.k) == mean([found / best for found, best, _ in discounted])
        q = inverse_propensity(one)
        by_propensity = gains_by_hand(one, lambda c, rank, q=q: q[c])
        found, best, _ = map(sum, zip(*by_propensity, strict=True))
        assert psp(one.outcome, k=one.k) == pytest.approx(found / best)
        both = gains_by_hand(one, lambda c, rank, q=q: q[c] * discount(rank))
        found = sum(row[0] / ideal[1] for row, ideal in zip(both, discounted, strict=True))
        best = sum(row[1] / ideal[1] for row, ideal in zip(both, discounted, strict=True))
        assert psndcg(one.outcome, k=one.k) == pytest.approx(found / best)


def test_ndcg_equals_that_of_scikit_learn():
    for one in random_rankings():
        true_sets, ranked = one.labelled
        if not true_sets:
            continue
        truth, scores = np.zeros((2, len(true_sets), one.outcome.n_classes))
        for row, (true, order) in enumerate(zip(true_sets, ranked, strict=True)):
            truth[row, true] = 1
            scores[row, order] = np.arange(len(order), 0, -1)
        ranks = np.argsort(-scores, axis=1, kind="stable").astype(np.int32)  # scikit-learn ranks every class
        whole = replace(one.outcome, truth=one.outcome.truth[[bool(true) for true in one.true_sets]], ranks=ranks)
        expected = ndcg_score(truth, scores - np.arange(scores.shape[1]) * 1e-6, k=one.k)
        assert ndcg(whole, k=one.k) == pytest.approx(expected)


def test_with_one_label_a_row_precision_and_recall_follow_from_r_k():
    for one in random_rankings(largest_set=1):
        found = rk(one.outcome, k=one.k)
        assert p1(one.outcome) == r1(one.outcome)
        assert recall(one.outcome, k=one.k) == found
        assert precision(one.outcome, k=one.k) == (None if found is None else pytest.approx(found / one.k))


@pytest.mark.parametrize(("metric", "k"), [(p1, 1), (p3, 3), (p5, 5)])
def test_the_named_precisions_are_those_at_their_k(metric, k):
    for one in random_rankings():
        assert metric(one.outcome) == precision(one.outcome, k=k)


def test_tied_scores_put_the_true_classes_last():
    random = np.random.default_rng(1)
    for one in random_rankings():
        known = one.outcome
        n_rows, n_classes = known.truth.shape
        scores = random.integers(0, 3, (n_rows, n_classes))
        truth = known.truth.toarray() > 0
        ranks = np.argsort(-scores, axis=1, kind="stable").astype(np.int32)
        places = (np.take_along_axis(scores, ranks, axis=1)[:, :, None] <= scores[:, None, :]).sum(axis=2)
        # Of equal scores a wrong class comes first; in PSP, the tied true classes keep their listed order.
        worst = np.array([np.lexsort((np.arange(n_classes), truth[row], -scores[row])) for row in range(n_rows)])
        tied = replace(known, ranks=ranks, places=places.astype(np.int32))
        untied = replace(known, ranks=worst.astype(np.int32))
        assert p1(tied) == r1(tied)
        for metric in (precision, recall, ndcg, psp, psndcg):
            expected = metric(untied, k=one.k)
            assert metric(tied, k=one.k) == (None if expected is None else pytest.approx(expected))
