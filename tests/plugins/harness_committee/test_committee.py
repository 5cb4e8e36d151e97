"""Wrappers around learners: voting, sparsified weights, oversampled rare classes; from Python and the command line."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import MultinomialNB

from harness_committee import Committee, Oversample, Sparsify
from harness_committee.committee import count_votes, taken_passes
from harness_committee.oversample import drawn_rows
from harness_committee.sparsify import keep_largest_weights
from harness_prototype import PA
from internals import rank_scores
from messages import assert_names
from problems import near_prototypes as data

# -- votes -----------------------------------------------------------------------------------------------------------


def naive_vote(first, counts, how):
    """Return the winner of one row's votes, computed directly from the definition."""
    votes = [c for c in first if c >= 0]
    if not votes:
        return -1
    number = {c: votes.count(c) for c in votes}
    if how == "majority":
        return min(number, key=lambda c: (-number[c], c))
    return min(number, key=lambda c: (counts[c], -number[c], c))


class FixedRanks:
    """A fitted learner that returns the given ranks."""

    def __init__(self, ranks):
        self.ranks = ranks

    def rank(self, X, k):
        return self.ranks[:, :k]


def committee_of(ranks, counts, vote):
    committee = Committee(vote=vote)
    committee.models_ = [FixedRanks(r) for r in ranks]
    committee.classes_, committee.class_counts_ = np.arange(len(counts)), np.asarray(counts)
    committee.n_features_in_ = 1
    return committee


rankings = st.integers(2, 6).flatmap(
    lambda n_classes: st.tuples(
        st.lists(st.lists(st.permutations(range(n_classes)), min_size=3, max_size=3), min_size=1, max_size=5),
        st.lists(st.integers(1, 9), min_size=n_classes, max_size=n_classes),
        st.booleans(),
    )
)


@settings(max_examples=150, deadline=None)
@given(rankings, st.sampled_from(["majority", "minfreq"]))
def test_the_first_rank_is_the_winner_by_the_definition_of_the_vote(given_, vote):
    members, counts, silent = given_
    ranks = np.array(members, np.int32)
    if silent:
        ranks[0] = -1  # a member without a prediction does not vote
    X = np.ones((3, 1))
    won = committee_of(ranks, counts, vote).rank(X, len(counts))
    expected = [naive_vote(ranks[:, row, 0].tolist(), counts, vote) for row in range(3)]
    assert won[:, 0].tolist() == expected
    assert all(len(set(row[row >= 0])) == (row >= 0).sum() for row in won)


@settings(max_examples=50, deadline=None)
@given(rankings)
def test_majority_ignores_member_order_and_minfreq_never_picks_a_more_frequent_class(given_):
    members, counts, _ = given_
    ranks, X = np.array(members, np.int32), np.ones((3, 1))
    majority = committee_of(ranks, counts, "majority").rank(X, 1)
    assert_array_equal(majority, committee_of(ranks[::-1], counts, "majority").rank(X, 1))
    rarest = committee_of(ranks, counts, "minfreq").rank(X, 1)
    assert np.all(np.asarray(counts)[rarest] <= np.asarray(counts)[majority])


@settings(max_examples=30, deadline=None)
@given(rankings, st.sampled_from(["majority", "minfreq"]))
def test_a_single_or_unanimous_committee_ranks_as_its_member(given_, vote):
    members, counts, _ = given_
    one, X = np.array(members[:1], np.int32), np.ones((3, 1))
    for ranks in (one, np.repeat(one, 4, axis=0)):
        assert_array_equal(committee_of(ranks, counts, vote).rank(X, 2), one[0][:, :2])


def test_ranks_after_the_first_follow_votes_then_support():
    ranks = np.array([[[0, 2, 1]], [[0, 2, 3]], [[1, 2, 0]]], np.int32)
    _, standing = count_votes(ranks, 4)
    assert rank_scores(standing, 4).tolist() == [[0, 1, 2, 3]]


# -- members ---------------------------------------------------------------------------------------------------------


def test_a_member_is_kept_after_each_pass_in_passes():
    X, y = data()
    committee = Committee(learner=PA(), members=2, passes="2:4", random_state=0).fit(X, y)
    assert len(committee.models_) == 6
    alone = [PA(passes=p, random_state=committee.models_[0].random_state).fit(X, y) for p in (2, 3, 4)]
    for model, expected in zip(committee.models_[:3], alone, strict=True):
        assert_array_equal(model.rank(X, 3), expected.rank(X, 3))
    assert committee.index_size_ == sum(model.index_size_ for model in committee.models_)
    total = sum(model.edges_touched(X) for model in committee.models_)
    assert committee.edges_touched(X) == pytest.approx(total)


def test_a_wrapper_has_no_index_size_if_its_members_have_none():
    X, y = data()
    assert not hasattr(Committee(MultinomialNB(), members=2).fit(X, y), "index_size_")
    assert not hasattr(Oversample(MultinomialNB()).fit(X, y), "index_size_")


def test_members_have_different_seeds_and_equal_seeds_give_equal_committees():
    X, y = data()
    one, two, other = (Committee(learner=PA(), members=3, random_state=s).fit(X, y) for s in (1, 1, 2))
    assert len({model.random_state for model in one.models_}) == 3
    assert_array_equal(one.rank(X, 4), two.rank(X, 4))
    assert [m.random_state for m in one.models_] != [m.random_state for m in other.models_]


@pytest.mark.parametrize(
    ("passes", "expected"), [(None, []), (3, [3]), ("5:7", [5, 6, 7]), ([2, 1, 2], [1, 2]), ("4:4", [4])]
)
def test_passes_may_be_none_a_number_a_range_or_a_list(passes, expected):
    assert taken_passes(passes) == expected


@pytest.mark.parametrize("passes", [0, "7:5", "a", [], [0], 1.5, True])
def test_bad_passes_raise_an_error(passes):
    with pytest.raises(ValueError, match="passes="):
        Committee(learner=PA(), passes=passes).fit(*data())


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Committee(members=0), "members=0: must be an integer"),
        (Committee(vote="most"), "vote='most': must be one of majority, minfreq"),
        (Committee(learner=MultinomialNB(), passes=2), "MultinomialNB does not call after_pass"),
        (Sparsify(share=2), "share=2: must be a number from 0 to 1"),
        (Sparsify(when="never"), "when='never': must be one of end, pass"),
        (Sparsify(learner=MultinomialNB()), "MultinomialNB has neither coef_ nor keep_largest"),
        (Oversample(least=0), "least=0: must be an integer"),
    ],
    ids=str,
)
def test_bad_parameters_raise_an_error(learner, message):
    with pytest.raises(ValueError, match=message):
        learner.fit(*data())


# -- sparsify --------------------------------------------------------------------------------------------------------


def test_a_share_of_one_keeps_all_weights():
    X, y = data()
    full = PA(random_state=5).fit(X, y)
    kept = Sparsify(learner=PA(random_state=5), share=1.0).fit(X, y)
    assert_array_equal(kept.rank(X, 5), full.rank(X, 5))
    assert kept.index_size_ == full.index_size_


@pytest.mark.parametrize("inside", [PA(random_state=0), Perceptron(random_state=0)], ids=["index", "coef"])
def test_sparsify_keeps_the_share_and_smaller_shares_are_subsets(inside):
    X, y = data()
    full = Sparsify(learner=inside, share=1.0).fit(X, y).index_size_
    few, many = (Sparsify(learner=inside, share=share).fit(X, y) for share in (0.2, 0.5))
    assert (few.index_size_, many.index_size_) == (int(0.2 * full), int(0.5 * full))
    if hasattr(few.learner_, "coef_"):
        assert np.all((few.learner_.coef_ == 0) | (few.learner_.coef_ == many.learner_.coef_))


def test_sparsifying_after_each_pass_differs_from_sparsifying_once():
    X, y = data()
    sizes = []
    learner = Sparsify(learner=PA(passes=3), share=0.5, when="pass", random_state=0)
    learner.fit(X, y, after_pass=sizes.append)
    assert sizes == [1, 2, 3]
    once = Sparsify(learner=PA(passes=3), share=0.5, random_state=0).fit(X, y)
    assert not np.array_equal(learner.rank(X, 8), once.rank(X, 8))


def test_equal_weights_are_kept_by_feature_then_by_class():
    weights = np.where(np.arange(300).reshape(3, 100) % 4, -1.0, 2.0)  # enough for a sort that is not stable
    learner = Perceptron()
    learner.coef_ = weights.copy()
    keep_largest_weights(learner, 0.5)
    by_size = sorted((-abs(weight), feature, c) for (c, feature), weight in np.ndenumerate(weights))
    kept = {(c, feature) for _, feature, c in by_size[:150]}
    assert {(c, feature) for c, feature in np.argwhere(learner.coef_).tolist()} == kept


# -- oversample ------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 12), st.integers(0, 2**31 - 1))
def test_oversampling_gives_every_class_at_least_the_minimum_of_its_own_rows(labels, least, seed):
    y = np.array(labels)
    rows = drawn_rows(y, least, seed)
    assert rows[: len(y)].tolist() == list(range(len(y)))
    before, after = np.bincount(y, minlength=6), np.bincount(y[rows], minlength=6)
    assert_array_equal(after, np.where(before == 0, 0, np.maximum(before, least)))


def test_oversampling_changes_nothing_if_every_class_has_enough_rows():
    X, y = data()
    inside = PA(random_state=3)
    assert_array_equal(Oversample(learner=inside, least=1).fit(X, y).rank(X, 4), inside.fit(X, y).rank(X, 4))


# -- on the command line ---------------------------------------------------------------------------------------------


def harness(*words):
    return subprocess.run([sys.executable, "-m", "harness", *words], capture_output=True, text=True, check=False)


def test_wrappers_nest_on_the_command_line_and_in_toml(tmp_path):
    learners = "committee(pa(C=0.5), members=2, passes=1:2),thin=committee(sparsify(pa, share=0.5), members=2)"
    command = ("run", "--learners", learners, "--datasets", "digits", "--trials", "1", "--out", str(tmp_path / "a"))
    ended = harness(*command)
    assert ended.returncode == 0, ended.stderr
    records = [json.loads(line) for line in (tmp_path / "a" / "records.jsonl").read_text().splitlines()]
    assert {r["label"] for r in records} == {"committee(pa)", "thin"}
    toml = '[[learners]]\nname = "committee"\nparams = { learner = "pa(C=0.5)", members = 2, passes = "1:2" }\n'
    (tmp_path / "e.toml").write_text(f'datasets = ["digits"]\ntrials = 1\n{toml}')
    assert harness("run", str(tmp_path / "e.toml"), "--out", str(tmp_path / "b")).returncode == 0
    (same,) = [json.loads(line) for line in (tmp_path / "b" / "records.jsonl").read_text().splitlines()]
    assert same["key"] == next(r["key"] for r in records if r["label"] == "committee(pa)")
    assert same["scores"]["r1"] == next(r["scores"]["r1"] for r in records if r["label"] == "committee(pa)")


def test_inner_learners_and_parameters_are_checked_before_any_trial():
    ended = harness("run", "--learners", "committee(paa)", "--datasets", "digits")
    assert ended.returncode == 2
    assert_names(ended.stderr, "paa")
    ended = harness("run", "--learners", "committee(pa(D=1))", "--datasets", "digits")
    assert ended.returncode == 2
    assert_names(ended.stderr, "D", "parameter")


def test_a_wrapper_without_an_inner_learner_is_rejected():
    ended = harness("run", "--learners", "committee", "--datasets", "digits")
    assert ended.returncode == 2
    assert_names(ended.stderr, "committee(NAME)")


def test_a_wrapper_accepts_several_labels_only_if_the_inner_learner_does():
    ended = harness("run", "--learners", "sparsify(pa)", "--datasets", "topics(labels=2)")
    assert ended.returncode == 2
    assert_names(ended.stderr, "labels", "row")
