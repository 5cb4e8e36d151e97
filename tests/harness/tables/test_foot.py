"""What the foot of a table says: machines, shared processors, sizes, messages, and what marks rest on."""

from dataclasses import replace

import pytest

from harness import MetricSpec
from tabling import INDEX, MACHINES, R1, SIZE, TRAIN, foot_of, make_table, rows_of, titles


def test_one_machine_is_named(run_of):
    assert (
        "Measured on Fast, 8 cores (m1), 1 thread."
        in make_table(run_of("a", [0.5]), [R1, TRAIN], machines=MACHINES).foot
    )


def test_staging_is_told_where_times_are_shown(run_of):
    records = [*run_of("a", [0.5, 0.6, 0.7]), *run_of("b", [0.5])]
    records[:3] = [replace(record, stage_seconds=took) for record, took in zip(records, (1.0, 2.0, 9.0), strict=False)]
    told = f"Before training, rows were brought into a form of the learner's own: a on {records[0].dataset} 2 s."
    assert told in make_table(records, [R1, TRAIN], machines=MACHINES).foot
    assert "Before training" not in foot_of(make_table(records, [R1], machines=MACHINES))


def test_times_of_two_machines_are_left_out_without_the_flag(run_of):
    records = [*run_of("a", [0.5], train=1.0), *run_of("b", [0.5], train=2.0, machine="m2")]
    table = make_table(records, [R1, TRAIN, INDEX], machines=MACHINES)
    assert table.columns == (R1, INDEX)
    assert "Times are left out, being measured under 2 conditions" in foot_of(table)
    assert "Fast, 8 cores (m1), 1 thread; Slow, 2 cores (m2), 1 thread" in foot_of(table)
    assert "--mixed-machines" in foot_of(table)


def test_times_within_one_kind_of_machine_are_compared_and_the_rest_is_told(run_of):
    """Trials 1 to 3 of both ran on one processor, trial 4 on another: as on a cluster of several kinds."""
    records = []
    for label, times in (("a", [1.0, 2.0, 3.0, 90.0]), ("b", [2.0, 3.0, 4.0, 80.0])):
        trials = run_of(label, [0.5, 0.6, 0.7, 0.8])
        for trial, took in zip(trials, times, strict=True):
            machine = "m2" if trial.seed == 3 else "m1"
            records.append(replace(trial, machine=machine, scores={**trial.scores, "train": took}))
    table = make_table(records, [R1, TRAIN], machines=MACHINES)
    cells = {row.title: row.cells for group in table.groups for row in group.rows}
    assert [cells[label][1].summary.mean for label in "ab"] == [2.0, 3.0]
    assert [cells[label][0].summary.n for label in "ab"] == [4, 4]
    data = records[0].dataset
    assert (
        f"Times on {data} are those of 6 of 8 trials, on Fast with 1 thread; the others ran on Slow with 1 thread."
        in table.foot
    )


def test_machines_with_one_model_of_processor_are_of_one_kind(run_of):
    alike = {"m1": MACHINES["m1"], "m2": replace(MACHINES["m1"], id="m2", memory_bytes=1)}
    records = [*run_of("a", [0.5], train=1.0), *run_of("b", [0.5], train=2.0, machine="m2")]
    table = make_table(records, [R1, TRAIN], machines=alike)
    assert table.columns == (R1, TRAIN)
    assert "Measured on Fast, 2 kinds of machine with it, 1 thread." in table.foot


def test_data_sets_measured_on_one_machine_each_keep_their_times(run_of):
    records = [*run_of("a", [0.5], train=1.0), *run_of("a", [0.5], train=2.0, machine="m2", dataset="other")]
    table = make_table(records, [R1, TRAIN], machines=MACHINES)
    assert table.columns == (R1, TRAIN)
    assert "Times on other are those of 1 of 1 trial, on Slow with 1 thread." in table.foot


def test_times_of_two_machines_are_shown_with_the_flag_and_a_warning(run_of):
    records = [*run_of("a", [0.5], train=1.0), *run_of("b", [0.5], train=2.0, machine="m2")]
    table = make_table(records, [R1, TRAIN], machines=MACHINES, mixed_machines=True)
    assert table.columns == (R1, TRAIN)
    assert "TIMES ARE NOT COMPARABLE" in foot_of(table)


def test_two_thread_settings_are_two_conditions(run_of):
    records = [*run_of("a", [0.5]), *run_of("b", [0.5], threads=4)]
    table = make_table(records, [TRAIN, R1], machines={})
    assert table.columns == (R1,)
    assert "unknown processor, ? cores (m1), 4 threads" in foot_of(table)


def test_machines_of_failed_trials_and_tables_without_times_do_not_matter(run_of, make_record):
    failed = make_record("b", 0, status="crash", machine="m2")
    assert make_table([*run_of("a", [0.5]), failed], [TRAIN]).columns == (TRAIN,)
    mixed = [*run_of("a", [0.5]), *run_of("b", [0.5], machine="m2")]
    assert "conditions" not in foot_of(make_table(mixed, [R1]))


def test_trials_that_shared_the_machine_are_warned_of_where_times_are_shown(run_of):
    records = run_of("a", [0.5], jobs=4)
    warning = "WARNING: up to 4 timed trials shared the machine (--jobs 4): times are not clean."
    assert warning in make_table(records, [R1, TRAIN]).foot
    assert warning not in make_table(records, [R1]).foot


def test_a_learner_that_used_more_processors_than_allowed_is_named(run_of):
    greedy = run_of("greedy", [0.5], fit_seconds=2.0, fit_cpu_seconds=7.9)
    modest = run_of("modest", [0.5], fit_seconds=2.0, fit_cpu_seconds=2.1)
    short = run_of("short", [0.5], fit_seconds=0.01, fit_cpu_seconds=0.1)
    assert "WARNING: used more processors than allowed: greedy." in make_table([*greedy, *modest, *short], [R1]).foot
    allowed = run_of("greedy", [0.5], fit_seconds=2.0, fit_cpu_seconds=7.9, threads=4)
    assert "WARNING" not in foot_of(make_table(allowed, [R1]))


def test_where_sizes_come_from_is_told(run_of):
    records = [*run_of("a", [0.5], index_source="coef_"), *run_of("b", [0.5], bytes_source="pickle")]
    records += run_of("c", [0.5], bytes_source="index_bytes_")
    assert "Index size is the non-zeros of coef_: a." in make_table(records, [INDEX]).foot
    assert "Bytes are those of the serialised learner: b." in make_table(records, [SIZE]).foot
    assert len(make_table(records, [R1]).foot) == 2


def test_messages_are_told_once_in_one_line_each_and_not_without_end(make_record):
    records = [make_record("a", seed, status="error", message="first\n  second\x1b[31m third") for seed in range(3)]
    records += [make_record(f"b{i}", 0, status="error", message="x" * 1000) for i in range(9)]
    foot = make_table(records, [R1]).foot
    assert "a on digits: first second [31m third" in foot
    assert sum(line.startswith("b") for line in foot) == 7
    assert foot[-1] == "... and 2 more messages in the records."
    assert max(map(len, foot)) < 350


@pytest.mark.parametrize(("length", "told"), [(300, "x" * 300), (301, "x" * 300 + " ...")])
def test_a_message_is_cut_where_it_gets_too_long(make_record, length, told):
    foot = make_table([make_record("a", 0, status="error", message="x" * length)], [R1]).foot
    assert foot[-1] == f"a on digits: {told}"


def test_eight_messages_are_told_and_a_ninth_is_counted(make_record):
    def foot_of_failures(count):
        return make_table([make_record(f"b{i}", 0, status="error", message="no") for i in range(count)], [R1]).foot

    assert foot_of_failures(8)[-1] == "b7 on digits: no"
    assert foot_of_failures(9)[-1] == "... and 1 more message in the records."


def test_the_foot_says_over_how_many_trials_marks_were_tested(run_of):
    def both(trials, **fields):
        return [*run_of("a", [0.9] * trials, **fields), *run_of("b", [0.5] * trials, **fields)]

    assert make_table(both(8), [R1]).foot[0].endswith("over 8 paired trials.")
    unequal = both(8) + both(10, dataset="icd", fingerprint="beef")
    assert make_table(unequal, [R1]).foot[0].endswith("over 8 to 10 paired trials.")


def test_the_records_are_not_changed_and_their_order_decides_only_the_order_of_lines(run_of):
    records = [*run_of("a", [0.9, 0.8]), *run_of("b", [0.5, 0.6])]
    before = [replace(record) for record in records]
    table, backwards = make_table(records, [R1]), make_table(records[::-1], [R1])
    assert records == before
    assert rows_of(table) == rows_of(backwards)
    assert titles(backwards) == [("digits", ["b", "a"])]


def test_the_foot_says_where_marks_rest_on_a_test_and_where_on_the_mean_alone(make_record):
    many = [make_record(label, seed, r1=0.9 if label == "a" else 0.5) for label in "ab" for seed in range(8)]
    few = [
        make_record(label, seed, r1=0.9 if label == "a" else 0.5, dataset="few") for label in "ab" for seed in (0, 1)
    ]
    metrics = [MetricSpec(name="r1", compute="m:r1")]
    assert "sign test" in make_table(many, metrics).foot[0]
    assert "the best mean (fewer than 6" in make_table(few, metrics).foot[0]
    assert "with fewer than 6 paired trials, the best mean alone" in make_table(many + few, metrics).foot[0]


def test_test_rows_of_unknown_classes_are_told_where_they_matter(run_of):
    some = run_of("a", [0.5, 0.5], unseen_test_rows=12)
    none = run_of("a", [0.5], dataset="other", unseen_test_rows=0)
    told = (
        "digits (holdout:0.1): 12.0% of the test rows have no class that was in the training part; who knows those "
        "classes alone has R1 of 0.880 at most."
    )
    assert [line for line in make_table([*some, *none], [R1]).foot if "training part" in line] == [told]
    assert told not in make_table(some, [TRAIN]).foot
