"""Footnotes of a table: machines, shared processors, sizes, messages, and the test behind the marks."""

from dataclasses import replace

import pytest

from harness import MetricSpec
from messages import assert_names
from small_tables import INDEX, MACHINES, R1, SIZE, TRAIN, foot_of, make_table, rows_of, titles


def test_one_machine_is_named(snapshot, run_of):
    snapshot("table", make_table(run_of("a", [0.5]), [R1, TRAIN], machines=MACHINES).footnotes)


def test_staging_time_is_noted_where_times_are_shown(run_of):
    records = [*run_of("a", [0.5, 0.6, 0.7]), *run_of("b", [0.5])]
    records[:3] = [replace(record, stage_seconds=took) for record, took in zip(records, (1.0, 2.0, 9.0), strict=False)]
    note = "Training excludes the conversion of rows to the learner's own format (a): 2 s (a on digits)."
    assert note in make_table(records, [R1, TRAIN], machines=MACHINES).footnotes
    assert "Training excludes" not in foot_of(make_table(records, [R1], machines=MACHINES))


def test_times_of_two_machines_are_hidden_without_the_flag(snapshot, run_of):
    records = [*run_of("a", [0.5], train=1.0), *run_of("b", [0.5], train=2.0, machine="m2")]
    table = make_table(records, [R1, TRAIN, INDEX], machines=MACHINES)
    assert table.columns == (R1, INDEX)
    snapshot("table", table.footnotes)
    assert "--mixed-machines" in foot_of(table)


def test_times_on_one_kind_of_machine_are_compared_and_the_others_are_noted(snapshot, run_of):
    """Run trials 1 to 3 of both learners on one processor and trial 4 on another, as on a mixed cluster."""
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
    snapshot("table", table.footnotes)


def test_machines_with_the_same_processor_are_of_one_kind(snapshot, run_of):
    alike = {"m1": MACHINES["m1"], "m2": replace(MACHINES["m1"], id="m2", memory_bytes=1)}
    records = [*run_of("a", [0.5], train=1.0), *run_of("b", [0.5], train=2.0, machine="m2")]
    table = make_table(records, [R1, TRAIN], machines=alike)
    assert table.columns == (R1, TRAIN)
    snapshot("table", table.footnotes)


def test_datasets_measured_on_one_machine_each_keep_their_times(snapshot, run_of):
    records = [*run_of("a", [0.5], train=1.0), *run_of("a", [0.5], train=2.0, machine="m2", dataset="other")]
    table = make_table(records, [R1, TRAIN], machines=MACHINES)
    assert table.columns == (R1, TRAIN)
    snapshot("table", table.footnotes)


def test_times_of_two_machines_are_shown_with_the_flag_and_a_warning(snapshot, run_of):
    records = [*run_of("a", [0.5], train=1.0), *run_of("b", [0.5], train=2.0, machine="m2")]
    table = make_table(records, [R1, TRAIN], machines=MACHINES, mixed_machines=True)
    assert table.columns == (R1, TRAIN)
    snapshot("table", table.footnotes)


def test_two_thread_settings_are_two_conditions(snapshot, run_of):
    records = [*run_of("a", [0.5]), *run_of("b", [0.5], threads=4)]
    table = make_table(records, [TRAIN, R1], machines={})
    assert table.columns == (R1,)
    snapshot("table", table.footnotes)


def test_failed_trials_and_tables_without_times_need_no_machine_note(run_of, make_record):
    failed = make_record("b", 0, status="crash", machine="m2")
    assert make_table([*run_of("a", [0.5]), failed], [TRAIN]).columns == (TRAIN,)
    mixed = [*run_of("a", [0.5]), *run_of("b", [0.5], machine="m2")]
    assert "conditions" not in foot_of(make_table(mixed, [R1]))


def test_trials_on_a_shared_machine_are_noted_where_times_are_shown(run_of):
    records = run_of("a", [0.5], jobs=4)
    warning = "warning: times may be distorted: 4 trials ran at once (--jobs 4)."
    assert warning in make_table(records, [R1, TRAIN]).footnotes
    assert warning not in make_table(records, [R1]).footnotes


def test_a_learner_that_used_more_processors_than_allowed_is_named(snapshot, run_of):
    greedy = run_of("greedy", [0.5], fit_seconds=2.0, fit_cpu_seconds=7.9)
    modest = run_of("modest", [0.5], fit_seconds=2.0, fit_cpu_seconds=2.1)
    short = run_of("short", [0.5], fit_seconds=0.01, fit_cpu_seconds=0.1)
    snapshot("table", make_table([*greedy, *modest, *short], [R1]).footnotes)
    allowed = run_of("greedy", [0.5], fit_seconds=2.0, fit_cpu_seconds=7.9, threads=4)
    assert "warning: " not in foot_of(make_table(allowed, [R1]))


def test_the_method_of_size_measurement_is_noted(snapshot, run_of):
    records = [*run_of("a", [0.5], index_source="coef_"), *run_of("b", [0.5], bytes_source="pickle")]
    records += run_of("c", [0.5], bytes_source="index_bytes_")
    snapshot("table", make_table(records, [INDEX]).footnotes)
    snapshot("table", make_table(records, [SIZE]).footnotes)
    assert len(make_table(records, [R1]).footnotes) == 2


def test_messages_are_shown_once_in_one_line_each_up_to_a_limit(make_record):
    records = [make_record("a", seed, status="error", message="first\n  second\x1b[31m third") for seed in range(3)]
    records += [make_record(f"b{i}", 0, status="error", message="x" * 1000) for i in range(9)]
    foot = make_table(records, [R1]).footnotes
    assert [line for line in foot if line.startswith("a ")] == ["a on digits: first second [31m third"]
    assert sum(line.startswith("b") for line in foot) == 7
    assert_names(foot[-1], "2")
    assert max(map(len, foot)) < 350


@pytest.mark.parametrize(("length", "text"), [(300, "x" * 300), (301, "x" * 300 + " ...")])
def test_a_long_message_is_truncated(make_record, length, text):
    foot = make_table([make_record("a", 0, status="error", message="x" * length)], [R1]).footnotes
    assert foot[-1] == f"a on digits: {text}"


def test_eight_messages_are_shown_and_the_others_are_counted(snapshot, make_record):
    def foot_of_failures(count):
        return make_table([make_record(f"b{i}", 0, status="error", message="no") for i in range(count)], [R1]).footnotes

    assert foot_of_failures(8)[-1] == "b7 on digits: no"
    assert_names(foot_of_failures(9)[-1], "1")


def test_a_footnote_states_the_number_of_tested_trials(run_of):
    def both(trials, **fields):
        return [*run_of("a", [0.9] * trials, **fields), *run_of("b", [0.5] * trials, **fields)]

    assert make_table(both(8), [R1]).footnotes[0].endswith("over 8 paired trials.")
    unequal = both(8) + both(10, dataset="icd", fingerprint="beef")
    assert make_table(unequal, [R1]).footnotes[0].endswith("over 8 to 10 paired trials.")


def test_records_are_not_modified_and_their_order_affects_line_order_only(run_of):
    records = [*run_of("a", [0.9, 0.8]), *run_of("b", [0.5, 0.6])]
    before = [replace(record) for record in records]
    table, backwards = make_table(records, [R1]), make_table(records[::-1], [R1])
    assert records == before
    assert rows_of(table) == rows_of(backwards)
    assert titles(backwards) == [("digits", ["b", "a"])]


def test_a_footnote_states_where_marks_rest_on_a_test_or_on_the_mean(snapshot, make_record):
    many = [make_record(label, seed, r1=0.9 if label == "a" else 0.5) for label in "ab" for seed in range(8)]
    few = [
        make_record(label, seed, r1=0.9 if label == "a" else 0.5, dataset="few") for label in "ab" for seed in (0, 1)
    ]
    metrics = [MetricSpec(name="r1", compute="m:r1")]
    assert "sign test" in make_table(many, metrics).footnotes[0]
    snapshot("table", make_table(few, metrics).footnotes[0])
    snapshot("table", make_table(many + few, metrics).footnotes[0])


def test_rows_of_unknown_classes_are_noted_where_they_matter(run_of):
    some = run_of("a", [0.5, 0.5], unseen_test_rows=12)
    none = run_of("a", [0.5], dataset="other", unseen_test_rows=0)
    note = "digits (holdout:0.1): 12.0% of the test rows have a class without training rows, which limits R1 to 0.880."
    assert [line for line in make_table([*some, *none], [R1]).footnotes if "training rows," in line] == [note]
    assert note not in make_table(some, [TRAIN]).footnotes


def test_several_conversions_are_one_note_with_the_longest(run_of):
    records = []
    for label, seconds in (("a", 1.0), ("b", 3.0)):
        records += [replace(record, stage_seconds=seconds) for record in run_of(label, [0.5, 0.6])]
    notes = [note for note in make_table(records, [R1, TRAIN]).footnotes if "conversion" in note]
    assert len(notes) == 1
    assert notes[0].endswith("format (a, b): at most 3 s (b on digits).")


def test_trials_with_less_cpu_time_than_wall_time_are_counted_in_one_warning(run_of):
    records = [replace(one, fit_seconds=2.0, fit_cpu_seconds=1.0) for one in run_of("a", [0.5, 0.6])]
    records += [replace(one, fit_seconds=2.0, fit_cpu_seconds=2.0) for one in run_of("b", [0.5, 0.6])]
    warnings = [note for note in make_table(records, [R1, TRAIN]).footnotes if "warning: " in note]
    assert len(warnings) == 1
    assert warnings[0].startswith("warning: 2 of 4 trials may be distorted by other load")
