"""The content of a page: rows, marks and notes of the text table, and details of each line."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from internals import (
    Answers,
    ByClass,
    Confusion,
    Summary,
    format_value,
    group_records,
    make_table,
    risk_curve,
    shortened,
)
from small_tables import INDEX, MACHINES, R1, SIZE, TRAIN


@pytest.fixture(scope="module")
def records(trials_of, make_record):
    """Return two learners on two datasets; a third one failed on the second dataset with one message."""
    made = []
    for dataset, classes in (("small", 10), ("large", 100)):
        place = {"dataset": dataset, "fingerprint": dataset, "n_classes": classes}
        made += trials_of("pa", 0.9, 2.0, **place)
        made += trials_of("tree", 0.7, 1.0, learner_kind="tree", **place)
    failed = {"dataset": "large", "fingerprint": "large", "status": "error", "message": "no <b>room</b>"}
    made += [make_record("bad", seed, traceback="Traceback ...", **failed) for seed in range(3)]
    return made


@pytest.fixture(scope="module")
def part(part_of, records):
    return part_of(records)


def test_rows_marks_and_notes_equal_the_text_table(part, records):
    table = make_table(group_records(records), [R1, TRAIN, INDEX], machines=MACHINES, test="sign")
    (failure,) = (note for note in table.footnotes if note == "bad on large: no <b>room</b>")
    assert part.notes == tuple(note for note in table.footnotes if note != failure)  # failures are listed separately
    expected = []
    for group in table.groups:
        for row in group.rows:
            best = tuple(place for place, cell in enumerate(row.cells) if cell.best)
            means = tuple(cell.summary and pytest.approx(cell.summary.mean, rel=1e-4) for cell in row.cells)
            expected.append((group.title, row.title, row.kind, row.trials, best, means, row.cells[0].failed))
    found = []
    for line in part.lines:
        name = part.datasets[line.dataset].name
        found.append((name, line.title, line.kind, line.trials, line.best, line.means, line.failed))
    assert found == expected


def test_values_of_every_trial_are_listed_by_seed(part, records):
    line = part.lines[0]
    assert line.seeds == tuple(range(10))
    assert line.values[0] == pytest.approx([0.9 - 0.001 * seed for seed in range(10)], abs=5e-5)


def test_a_trial_without_a_value_has_an_empty_entry(part_of, make_record):
    (line,) = part_of([make_record("a", 0, r1=0.5), make_record("a", 1, r1=None, train=1.0)]).lines
    assert line.values == ((0.5, None), (None, 1.0), ())


def test_the_headline_counts_learners_datasets_and_trials(snapshot, part):
    snapshot("page", part.headline)


def test_every_dataset_has_its_verdict(snapshot, part):
    assert [dataset.title for dataset in part.datasets] == ["small", "large"]
    snapshot("page", part.datasets[0].verdict)
    snapshot("page", part.datasets[1].verdict[-1])


def test_trials_with_the_same_failure_are_listed_once(part):
    (bad,) = [line for line in part.lines if line.title == "bad"]
    (failure,) = bad.failures
    assert (failure.seeds, failure.status, failure.message) == ((0, 1, 2), "error", "no <b>room</b>")
    assert failure.traceback == "Traceback ..."
    assert bad.failed == "ERROR 3/3"


def test_the_end_of_a_long_traceback_is_kept(part_of, make_record):
    (line,) = part_of([make_record("a", 0, status="crash", traceback="x" * 9000 + "the end")]).lines
    (failure,) = line.failures
    assert len(failure.traceback) < 4100
    assert failure.traceback.endswith("xthe end")


def test_facts_have_configuration_and_circumstances(part_of, make_record):
    versions = {"python": "3.11", "numpy": "2.1"}
    first = make_record("a", 0, params={"C": 1}, r1=0.5, versions=versions)
    second = make_record("a", 1, params={"C": 1}, r1=0.5, versions=versions | {"numpy": "2.2"})
    (line,) = part_of([first, second]).lines
    assert line.facts["parameters"] == "C=1"
    assert line.facts["versions"] == "python 3.11, numpy 2.1; python 3.11, numpy 2.2"
    assert line.facts["machine"] == "Fast, 8 cores (m1)"


def test_tuning_is_listed_by_candidate(part_of, make_record):
    tried = [{"params": {"C": 1}, "score": 0.25}, {"params": {"C": 2}, "trouble": "too slow"}]
    (line,) = part_of([make_record("a", 3, r1=0.5, tuned={"C": 1}, tuning=tried)]).lines
    (log,) = line.tuning
    assert (log.seed, log.chosen) == (3, "C=1")
    assert log.candidates == (("C=1", 0.25, ""), ("C=2", None, "too slow"))


def test_warnings_are_listed_with_their_count(part_of, make_record):
    (line,) = part_of([make_record("a", 0, r1=0.5, warnings=["slow"]), make_record("a", 1, r1=0.5)]).lines
    assert line.notices == ("slow (1 of 2 trials)",)


def test_times_of_several_machines_are_hidden_by_default(part_of, trials_of):
    records = [*trials_of("a", 0.5, 1.0), *trials_of("b", 0.6, 1.0, machine="m2")]
    assert [metric.name for metric in part_of(records).metrics] == ["r1", "index"]
    assert part_of(records).shown == ("r1",)
    assert [metric.name for metric in part_of(records, mixed_machines=True).metrics] == ["r1", "train", "index"]


def test_every_possible_kind_of_figure_is_included(part_of, make_record):
    records = []
    for dataset, classes in (("small", 10), ("large", 100)):
        for c in (1, 2):
            curve = [{"passes": n, "scores": {"r1": n / 4}} for n in (1, 2)]
            place = {"dataset": dataset, "fingerprint": dataset, "n_classes": classes, "curve": curve}
            records += [make_record(f"pa(C={c})", s, params={"C": c}, r1=c / 4, train=1.0 * c, **place) for s in (0, 1)]
    part = part_of(records)
    kinds = {(figure.kind, figure.metric, figure.title, figure.x_title) for figure in part.figures}
    assert ("curve", "r1", "small", "passes") in kinds
    assert ("sweep", "train", "large", "C") in kinds
    assert ("scaling", "train", "small, large", "classes") in kinds
    assert [ranks.metric for ranks in part.ranks] == ["r1", "train"]
    assert part.ranks[0].ranks == {"pa(C=2)": 1.0, "pa(C=1)": 2.0}


def test_a_learner_missing_on_some_datasets_does_not_prevent_ranks(part):
    (by_r1, _) = part.ranks
    assert by_r1.ranks == {"pa": 1.0, "tree": 2.0}
    assert by_r1.left_out == ("bad",)


def test_accuracy_by_coverage_is_a_figure_where_scores_are_saved(part_of, trials_of):
    def answers_of(record):
        if record.label == "pa":
            return Answers(risk_curve(np.array([4.0, 3.0, 2.0, 1.0]), np.array([False, False, False, True])))
        return None

    part = part_of([*trials_of("pa", 0.9, 1.0), *trials_of("ff", 0.8, 1.0)], answers_of=answers_of)
    (figure,) = part.figures
    assert (figure.kind, figure.title, figure.y_title) == ("coverage", "digits", "accuracy")
    (series,) = figure.series
    assert series.label == "pa"
    assert (series.y[0], series.y[-1]) == (1.0, 0.75)


def test_confusions_are_summed_over_all_trials(part_of, trials_of):
    def answers_of(record):
        confusions = (Confusion("cat", "dog", 2), Confusion(f"rare {record.seed}", "", 3))
        return Answers(by_class=ByClass((), (), confusions, {"cat": 5, f"rare {record.seed}": 3}))

    part = part_of(trials_of("pa", 0.9, 1.0, n=10), answers_of=answers_of)
    first, second = part.lines[0].confusions[:2]
    assert (first.truth, first.answer, first.rows, first.of) == ("cat", "dog", 20, 50)
    assert (second.answer, second.rows, second.of) == ("", 3, 3)
    assert part.unread == ""


def test_the_number_of_trials_without_saved_ranks_is_stated(part_of, trials_of):
    records = trials_of("pa", 0.9, 1.0, n=10)
    assert part_of(records).unread.startswith("No confusions and confidence curves for all trials")
    some = part_of(records, answers_of=lambda record: Answers() if record.seed else None)
    assert some.unread.startswith("No confusions and confidence curves for 1 of 10 trials")


def test_two_representations_of_one_dataset_share_a_group_and_are_labelled(part_of, trials_of):
    records = [*trials_of("pa", 0.9, 1.0), *trials_of("pa", 0.8, 1.0, representation="tfidf")]
    part = part_of(records)
    assert [line.representation for line in part.lines] == ["tf", "tfidf"]
    assert len({line.title for line in part.lines}) == 2
    assert [dataset.title for dataset in part.datasets] == ["digits"]
    assert "it beats" in part.datasets[0].verdict[0]


def test_two_splits_of_one_dataset_are_two_labelled_groups(part_of, trials_of):
    records = [*trials_of("pa", 0.9, 1.0), *trials_of("pa", 0.8, 1.0, split="kfold:5")]
    titles = [dataset.title for dataset in part_of(records).datasets]
    assert len(titles) == 2
    assert "holdout:0.1" in titles[0]
    assert "kfold:5" in titles[1]


def test_without_curves_or_sweeps_those_figures_are_missing(part_of, trials_of):
    assert part_of(trials_of("a", 0.5, 1.0)).figures == ()


numbers = st.floats(1e-9, 1e9)


@given(numbers, st.none() | numbers, st.sampled_from([R1, TRAIN, INDEX, SIZE]))
@example(0.7955, 0.0005, R1)
@example(0.79549999999, None, R1)
def test_rounded_numbers_format_as_the_originals(mean, spread, metric):
    value_shown = Summary(mean, spread, 3)
    assert format_value(shortened(value_shown, metric), metric) == format_value(value_shown, metric)


def test_most_numbers_are_short():
    assert shortened(Summary(0.862345678901, 0.00412345678, 3), R1) == Summary(0.86235, 0.0041235, 3)
