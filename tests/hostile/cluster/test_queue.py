"""Assignment of trials to workers: none is lost or repeated, and comparable trials share a kind of machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import SpecError
from internals import LOOK_AHEAD, Job, PendingJobs, Place, parse_place


def jobs_of(groups, learners):
    jobs = []
    for number in range(groups):
        for learner in range(learners):
            jobs.append(Job("target", (number, learner), affinity=f"data {number}"))
    return jobs


def name_of(pending):
    return pending.job.payload


@given(
    groups=st.integers(1, 6),
    learners=st.integers(1, 4),
    asking=st.lists(st.sampled_from("ab"), min_size=1, max_size=80),
    back=st.lists(st.integers(0, 5), max_size=80),
)
def test_every_trial_is_assigned_once_and_groups_stay_together(groups, learners, asking, back):
    held = PendingJobs(jobs_of(groups, learners))
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


def test_a_group_whose_machine_kind_has_left_moves_to_another():
    held = PendingJobs(jobs_of(1, 2))
    assert name_of(held.take("a", {"a", "b"})) == (0, 0)
    assert held.take("b", {"a", "b"}) is None
    assert name_of(held.take("b", {"b"})) == (0, 1)
    assert held.is_empty()


def test_lost_trials_are_assigned_first():
    held = PendingJobs(jobs_of(1, 3))
    first = held.take("a", {"a"})
    held.put_back(first)
    assert held.take("a", {"a"}) is first


def test_lost_attempts_are_counted_and_precede_new_groups():
    held = PendingJobs(jobs_of(3, 1))
    lost = held.take("a", {"a"})
    lost.lost_on.append("one")
    held.put_back(lost)
    assert held.n_lost == 1
    assert held.take("a", {"a"}) is lost
    assert held.n_lost == 0


def test_the_queue_holds_no_more_jobs_than_its_window():
    drawn = []

    def endless():
        for job in jobs_of(3 * LOOK_AHEAD, 1):
            drawn.append(job)
            yield job

    held = PendingJobs(endless())
    held.take("a", {"a"})
    assert len(drawn) == LOOK_AHEAD


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
def test_other_cluster_names_are_rejected(text):
    with pytest.raises(SpecError, match="expected local:NUMBER"):
        parse_place(text)
