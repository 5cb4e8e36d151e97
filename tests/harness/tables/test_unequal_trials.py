"""Marks, fronts and ranks compare what all have: a learner with other trials than the rest gains nothing by it."""

import pytest

from harness import MetricSpec
from harness.figures.panels import pareto_panels
from harness.groups import group_records, rank_learners, shared_seeds
from harness.tables.table import make_table

R1 = MetricSpec(name="r1", compute="a:b", title="R1")
TRAIN = MetricSpec(name="train", compute="a:b", direction="lower", unit="seconds", depth=0, timed=True)


@pytest.fixture
def unequal(make_record):
    """On the trial that both have `steady` is ahead; `lucky` has another one, in which everybody would be better."""
    steady = [make_record("steady", 0, r1=0.5, train=1.0), make_record("steady", 1, r1=0.6, train=1.0)]
    lucky = [make_record("lucky", 0, r1=0.4, train=2.0), make_record("lucky", 2, r1=0.9, train=2.0)]
    return group_records([*steady, *lucky])


def marked(lines):
    table = make_table(lines, [R1])
    return {row.title for group in table.groups for row in group.rows if row.cells[0].best}, "\n".join(table.foot)


def test_the_mark_goes_by_the_trials_that_all_have_and_the_foot_says_so(unequal):
    best, foot = marked(unequal)
    assert best == {"steady"}
    assert "learners have unequal trials: marks compare those that all have" in foot


def test_equal_trials_need_no_words(make_record):
    lines = group_records([make_record(label, 0, r1=value) for label, value in (("a", 0.5), ("b", 0.6))])
    best, foot = marked(lines)
    assert best == {"b"}
    assert "unequal" not in foot


def test_where_no_trial_is_shared_nothing_is_marked(make_record):
    best, foot = marked(group_records([make_record("a", 0, r1=0.5), make_record("b", 1, r1=0.6)]))
    assert best == set()
    assert "unmarked where no trial is shared by all" in foot


def test_a_learner_that_failed_everywhere_takes_no_trial_from_the_others(make_record):
    failed = make_record("broken", 0, status="error")
    lines = group_records([make_record("a", 0, r1=0.5), make_record("b", 0, r1=0.6), failed])
    assert shared_seeds(lines, "r1") == {0}
    assert marked(lines)[0] == {"b"}


def test_a_front_is_that_of_the_trials_that_all_have(unequal):
    (panel,) = pareto_panels(unequal, R1, TRAIN)
    assert panel.front == ((1.0, 0.5),)
    assert {series.label: series.y for series in panel.series} == {"steady": (0.5,), "lucky": (0.4,)}
    assert panel.title.endswith("(1 trial that all have)")


def test_average_ranks_are_those_of_the_trials_that_all_have(make_record):
    records = []
    for dataset in ("digits", "topics"):
        fields = {"dataset": dataset, "fingerprint": dataset}
        records += [make_record("steady", 0, r1=0.5, **fields), make_record("lucky", 0, r1=0.4, **fields)]
        records.append(make_record("lucky", 1, r1=0.9, **fields))
    ranks = rank_learners(group_records(records), R1)
    assert dict(ranks.ranks) == {"steady": 1.0, "lucky": 2.0}
