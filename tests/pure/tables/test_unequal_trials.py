"""Marks, fronts and ranks use the trials that all learners have."""

import pytest

from harness import MetricSpec
from internals import group_records, make_table, pareto_panels, rank_learners, shared_seeds
from messages import assert_names

R1 = MetricSpec(name="r1", compute="a:b", title="R1")
TRAIN = MetricSpec(name="train", compute="a:b", direction="lower", unit="seconds", depth=0, timed=True)


@pytest.fixture
def unequal(make_record):
    """Return trials where `steady` leads on the shared trial, and `lucky` has an extra, easier one."""
    steady = [make_record("steady", 0, r1=0.5, train=1.0), make_record("steady", 1, r1=0.6, train=1.0)]
    lucky = [make_record("lucky", 0, r1=0.4, train=2.0), make_record("lucky", 2, r1=0.9, train=2.0)]
    return group_records([*steady, *lucky])


def marked(lines):
    table = make_table(lines, [R1], test="sign")
    return {row.title for group in table.groups for row in group.rows if row.cells[0].best}, "\n".join(table.footnotes)


def test_the_mark_uses_shared_trials_and_a_footnote_states_it(unequal):
    best, foot = marked(unequal)
    assert best == {"steady"}
    assert_names(foot, "learners", "trials")


def test_equal_trials_need_no_footnote(make_record):
    lines = group_records([make_record(label, 0, r1=value) for label, value in (("a", 0.5), ("b", 0.6))])
    best, foot = marked(lines)
    assert best == {"b"}
    assert "unequal" not in foot


def test_without_shared_trials_nothing_is_marked(make_record):
    best, foot = marked(group_records([make_record("a", 0, r1=0.5), make_record("b", 1, r1=0.6)]))
    assert best == set()
    assert_names(foot, "trial")


def test_a_learner_that_always_failed_removes_no_trial_from_the_others(make_record):
    failed = make_record("broken", 0, status="error")
    lines = group_records([make_record("a", 0, r1=0.5), make_record("b", 0, r1=0.6), failed])
    assert shared_seeds(lines, "r1") == {0}
    assert marked(lines)[0] == {"b"}


def test_the_front_uses_shared_trials(unequal):
    (panel,) = pareto_panels(unequal, R1, TRAIN)
    assert panel.front == ((1.0, 0.5),)
    assert {series.label: series.y for series in panel.series} == {"steady": (0.5,), "lucky": (0.4,)}
    assert_names(panel.title, "1", "trial")


def test_average_ranks_use_shared_trials(make_record):
    records = []
    for dataset in ("digits", "topics"):
        fields = {"dataset": dataset, "fingerprint": dataset}
        records += [make_record("steady", 0, r1=0.5, **fields), make_record("lucky", 0, r1=0.4, **fields)]
        records.append(make_record("lucky", 1, r1=0.9, **fields))
    ranks = rank_learners(group_records(records), R1)
    assert dict(ranks.ranks) == {"steady": 1.0, "lucky": 2.0}
