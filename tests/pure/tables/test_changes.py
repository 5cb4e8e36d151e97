"""Comparison of two folders: lines paired by learner and data, trials by seed; changed settings are reported."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import MetricSpec
from internals import Machine, changes_grid, describe_lines, find_changes, group_records, pair_lines, settings_grid
from messages import assert_names

R1 = MetricSpec(name="r1", compute="a:b", title="R1")
TRAIN = MetricSpec(name="train", compute="a:b", title="train", direction="lower", unit="seconds", timed=True)


@pytest.fixture(scope="session")
def lines(make_record):
    def make(values, label="pa", **fields):
        return group_records([make_record(label, seed, r1=v, train=v, **fields) for seed, v in enumerate(values)])

    return make


def compared(before, after, metrics=(R1,), **options):
    pairs = pair_lines(before, after, **options)
    return find_changes(pairs.both, metrics), pairs.describe_unpaired()


def settings_of(before, after, **machines):
    return settings_grid(pair_lines(group_records(before), group_records(after)).both, machines)


BEFORE = [0.49, 0.51] * 4
AFTER = [0.61, 0.59, 0.6, 0.62] * 2


def verdicts(changes):
    return [row[-1] for row in changes_grid(changes, "t").rows]


def test_a_change_in_every_trial_is_reported_in_the_direction_of_the_metric(lines):
    changes, alone = compared(lines(BEFORE), lines(AFTER), (R1, TRAIN))
    assert alone == []
    assert verdicts(changes) == ["better", "worse"]
    row = changes_grid(changes, "t").rows[0]
    assert row[:6] == ("digits", "pa", "R1", "0.500 ± 0.011", "0.605 ± 0.012", "+10.5 points")
    assert row[6:9] == ("[+8.5, +12.5]", "8/0/0", "<0.001")
    assert row[10] == "better"
    assert 0 < changes[0].detectable < 0.105
    assert row[9] == f"{100 * changes[0].detectable:.1f} points"


def test_means_and_verdicts_use_the_trials_in_both_folders(lines):
    changes, _ = compared(lines([0.5] * 8 + [0.9] * 4), lines([0.6] * 8))
    row = changes_grid(changes, "t").rows[0]
    assert (*row[3:6], row[7]) == ("0.500 ± 0.000", "0.600 ± 0.000", "+10.0 points", "8/0/0")
    assert_names(changes_grid(changes, "t").footnotes[0], "trials")


@given(values=st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=1, max_size=20))
def test_a_folder_compared_with_itself_has_no_change(lines, values):
    changes, _ = compared(lines(values), lines(values), (R1, TRAIN))
    assert verdicts(changes) == ["same", "same"]


def test_few_pairs_and_small_differences_are_no_change(lines):
    assert verdicts(compared(lines([0.5] * 3), lines([0.6] * 3))[0]) == ["not tested"]
    assert verdicts(compared(lines([0.5, 0.6] * 4), lines([0.6, 0.5] * 4))[0]) == ["not significant"]


def test_too_few_trials_name_the_commands_that_add_some(lines):
    changes, _ = compared(lines([0.5, 0.6]), lines([0.6, 0.8]))
    (note,) = changes_grid(changes, "t", folders=["results/a", "results/b"]).footnotes[2:]
    assert_names(note, "R1 on digits", "2 paired trials", "3 are needed", "--out results/a", "--out results/b")
    assert changes[0].detectable is None


def test_each_reason_for_a_missing_test_has_a_footnote_of_its_own(lines):
    constant, _ = compared(lines([0.5] * 8), lines([0.6] * 8))
    fixed, _ = compared(lines([0.5] * 8, split="given"), lines([0.6] * 8, split="given"))
    tested, _ = compared(lines(BEFORE), lines(AFTER))
    notes = changes_grid([*constant, *fixed, *tested], "t").footnotes[2:]
    assert [name for note in notes for name in ("same difference", "McNemar", "--trials") if name in note] == [
        "same difference",
        "McNemar",
    ]
    assert changes_grid(tested, "t").footnotes[2:] == ()


def test_times_of_two_machines_are_not_compared(lines):
    changes, _ = compared(lines(BEFORE), lines(AFTER, machine="m2"), (R1, TRAIN))
    assert verdicts(changes) == ["better", "other machine"]


def test_lines_in_one_folder_only_are_reported(lines):
    before, after = [*lines([0.5]), *lines([0.5], "ff")], [*lines([0.5]), *lines([0.5], "ooz")]
    changes, alone = compared(before, after)
    assert [change.learner for change in changes] == ["pa"]
    assert alone == [
        "only in the first: ff on digits (tf, holdout:0.1)",
        "only in the second: ooz on digits (tf, holdout:0.1)",
    ]


def test_two_learners_can_be_compared_by_name(lines):
    changes, _ = compared(lines([0.5] * 8), lines([0.9] * 8, "ff"), learners=("pa", "ff"))
    assert [(change.learner, change.wins) for change in changes] == [("pa -> ff", (8, 0, 0))]


def test_mcnemar_compares_the_rows_of_the_first_shared_trial(lines):
    pairs = pair_lines(lines([0.5, 0.5]), lines([0.6, 0.6]))
    seeds_read = []

    def hits(right):
        def answer(record):
            seeds_read.append(record.seed)
            return right

        return answer

    (change,) = find_changes(pairs.both, [R1], (hits([False] * 9 + [True]), hits([True] * 10)), instances=True)
    assert seeds_read == [0, 0]
    assert change.instances_p == pytest.approx(2 / 2**9)
    assert "McNemar p" in changes_grid([change], "t", instances=True).columns


def test_only_differing_settings_are_reported(make_record):
    shared = {"versions": {"python": "3.11.2", "numpy": "2.0"}, "commit": "abc"}
    before = [make_record("pa", 0, r1=0.5, params={"C": 1.0, "random_state": 0}, **shared)]
    changed = {"versions": {"python": "3.11.2", "numpy": "2.1"}, "commit": "abc", "threads": 2, "fingerprint": "b" * 64}
    after = [make_record("pa", 0, r1=0.5, params={"C": 2.0, "random_state": 0}, **changed)]
    found = {row[0]: row[1:] for row in settings_of(before, after).rows}
    assert found == {
        "threads": ("1", "2"),
        "version of numpy": ("2.0", "2.1"),
        "data of digits": ("f00df00df00d", "b" * 12),
        "parameters of pa on digits": ("C=1.0", "C=2.0"),
    }
    assert "are the same" in settings_of(before, before).footnotes[0]


def test_comparable_lines_are_listed_by_prepared_dataset(lines):
    message = describe_lines(
        [*lines([0.5], learner_kind="tree"), *lines([0.5], "ff"), *lines([0.5], representation="raw")]
    )
    assert message == ["ff, pa on digits (tf, holdout:0.1)", "pa on digits (raw, holdout:0.1)"]


def test_two_configurations_under_one_label_are_compared_separately(make_record):
    def folder(better):
        return group_records(
            [make_record("pa", 0, r1=r1 + better, params={"C": C}) for C, r1 in ((1, 0.8), (100, 0.2))]
        )

    changes, alone = compared(folder(0.0), folder(0.1))
    assert [(change.learner, change.before.mean) for change in changes] == [("pa [C=1]", 0.8), ("pa [C=100]", 0.2)]
    assert alone == []


def test_rows_of_different_data_are_not_compared(lines):
    pairs = pair_lines(lines([0.5]), lines([0.5], fingerprint="beef" * 16))

    def hits(record):
        raise AssertionError("other rows")

    (change,) = find_changes(pairs.both, [R1], (hits, hits))
    assert change.instances_p is None


def test_json_has_all_fields_of_a_change(lines):
    changes, _ = compared(lines(BEFORE), lines(AFTER))
    (values,) = changes_grid(changes, "t").values
    assert values["difference"] == pytest.approx(0.105)
    assert values["difference_low"] < 0.105 < values["difference_high"]
    assert (values["won"], values["tied"], values["lost"]) == (8, 0, 0)
    assert values["p"] < 0.001
    assert "mcnemar_p" not in values
    assert "mcnemar_p" in changes_grid(changes, "t", instances=True).values[0]


def test_different_machines_are_described(make_record):
    before, after = [make_record("pa", 0, r1=0.5)], [make_record("pa", 0, r1=0.5, machine="m2")]
    grid = settings_of(before, after, m1=Machine("m1", "Fast", 8))
    first, second = "Fast, 8 cores (m1)", "unknown processor, ? cores (m2)"
    assert grid.rows == (("machine", first, second),)
    assert grid.values == ({"setting": "machine", "first": first, "second": second},)


def test_identical_changes_in_every_trial_are_not_tested(lines):
    assert verdicts(compared(lines([0.5] * 8), lines([0.6] * 8))[0]) == ["not tested"]


def test_on_a_fixed_split_test_rows_are_compared_instead_of_seeds(lines):
    pairs = pair_lines(lines(BEFORE, split="given"), lines(AFTER, split="given")).both
    assert verdicts(find_changes(pairs, [R1])) == ["not tested"]
    hits = (lambda record: [False] * 9 + [True], lambda record: [True] * 10)
    (change,) = find_changes(pairs, [R1], hits)
    assert change.p_value == pytest.approx(2 / 2**9)
    assert verdicts([change]) == ["better"]
