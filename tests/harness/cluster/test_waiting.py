"""Who gets which trial: none is lost or given twice, and a data set's trial n stays on one kind of machine."""

from types import SimpleNamespace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cluster import waiting
from harness.cluster.places import Place, parse_place
from harness.cluster.waiting import Waiting
from harness.errors import SpecError
from harness.executors.base import Job


class FakeTrialJob(SimpleNamespace):
    """Stands for a trial: what decides its group, and which learner it is of."""


@pytest.fixture(autouse=True, scope="module")
def trials_are_fake():
    with patch.object(waiting, "TrialJob", FakeTrialJob):
        yield


def jobs_of(groups, learners):
    jobs = []
    for number in range(groups):
        for learner in range(learners):
            trial = SimpleNamespace(fingerprint="data", number=number, learner=learner)
            jobs.append(Job("target", FakeTrialJob(trial=trial)))
    return jobs


def name_of(task):
    trial = task.job.payload.trial
    return trial.number, trial.learner


@given(
    groups=st.integers(1, 6),
    learners=st.integers(1, 4),
    asking=st.lists(st.sampled_from("ab"), min_size=1, max_size=80),
    back=st.lists(st.integers(0, 5), max_size=80),
)
def test_every_trial_is_given_once_and_groups_stay_together(groups, learners, asking, back):
    held = Waiting(jobs_of(groups, learners))
    kinds, taken = {}, []
    for turn, kind in enumerate(asking):
        task = held.take(kind, {"a", "b"})
        if task is None:
            continue
        number, _ = name_of(task)
        assert kinds.setdefault(number, kind) == kind
        if turn < len(back) and back[turn] == 0:
            held.put_back(task)
        else:
            taken.append(name_of(task))
    while not held.is_empty():
        for kind in "ab":
            while (task := held.take(kind, {"a", "b"})) is not None:
                taken.append(name_of(task))
    assert sorted(taken) == [(number, learner) for number in range(groups) for learner in range(learners)]


def test_a_group_whose_kind_has_gone_is_taken_over():
    held = Waiting(jobs_of(1, 2))
    assert name_of(held.take("a", {"a", "b"})) == (0, 0)
    assert held.take("b", {"a", "b"}) is None
    assert name_of(held.take("b", {"b"})) == (0, 1)
    assert held.is_empty()


def test_what_was_lost_comes_first_again():
    held = Waiting(jobs_of(1, 3))
    first = held.take("a", {"a"})
    held.put_back(first)
    assert held.take("a", {"a"}) is first


def test_one_that_was_lost_is_counted_and_comes_before_groups_that_were_not_begun():
    held = Waiting(jobs_of(3, 1))
    lost = held.take("a", {"a"})
    lost.lost_on.append("one")
    held.put_back(lost)
    assert held.n_lost == 1
    assert held.take("a", {"a"}) is lost
    assert held.n_lost == 0


def test_no_more_jobs_are_held_than_are_looked_through():
    drawn = []

    def endless():
        for job in jobs_of(3 * waiting.LOOK_AHEAD, 1):
            drawn.append(job)
            yield job

    held = Waiting(endless())
    held.take("a", {"a"})
    assert len(drawn) == waiting.LOOK_AHEAD


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("local:4", Place("local", "local:4", 4)),
        ("tcp://head:8786", Place("address", "tcp://head:8786")),
        ("tls://10.0.0.1:8786", Place("address", "tls://10.0.0.1:8786")),
        ("scheduler-file:/shared/s.json", Place("scheduler-file", "/shared/s.json")),
    ],
)
def test_clusters_are_named_in_three_ways(text, place):
    assert parse_place(text) == place


@pytest.mark.parametrize(
    "text", ["", "local", "local:", "local:0", "local:-1", "local:x", "head:8786", "tcp://", "scheduler-file:"]
)
def test_whatever_else_is_refused(text):
    with pytest.raises(SpecError, match="expected local:NUMBER"):
        parse_place(text)
