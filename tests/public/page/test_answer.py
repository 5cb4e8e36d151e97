"""The picks: the most accurate learner, and the cheapest of those within a point of it."""

from dataclasses import replace

import pytest

from harness import MetricSpec
from internals import describe_answer, group_records, pick_learners
from small_tables import INDEX, R1, SIZE, TRAIN

COLUMNS = (R1, TRAIN, INDEX)


def picks(records, columns=COLUMNS):
    return {pick.need: pick for pick in pick_learners(group_records(records), columns)}


def titles(records, columns=COLUMNS):
    return {need: pick.line.title for need, pick in picks(records, columns).items()}


def one_trial(make_record, **learners):
    """A record for each learner, with R1, training seconds and index size."""
    return [make_record(label, 0, r1=r1, train=train, index=index) for label, (r1, train, index) in learners.items()]


def test_each_need_has_its_learner(make_record):
    records = one_trial(
        make_record, exact=(0.90, 9.0, 900.0), fast=(0.895, 1.0, 800.0), small=(0.891, 5.0, 10.0), poor=(0.5, 0.1, 1.0)
    )
    assert titles(records) == {
        "Most accurate": "exact",
        "Fastest within 1 point": "fast",
        "Smallest within 1 point": "small",
    }


def test_a_quality_of_which_less_is_better_is_no_cost(make_record):
    tree_loss = MetricSpec(name="tree_loss", compute="m:f", title="tree loss", direction="lower", unit="count")
    records = [
        make_record("large", 0, r1=0.9, tree_loss=0.1, train=1.0, index=9.0),
        make_record("small", 0, r1=0.9, tree_loss=0.2, train=1.0, index=1.0),
    ]
    assert titles(records, (R1, tree_loss, TRAIN, INDEX))["Smallest within 1 point"] == "small"


def test_a_learner_more_than_a_point_behind_is_no_pick(make_record):
    records = one_trial(make_record, exact=(0.90, 9.0, 900.0), cheap=(0.889, 0.1, 1.0))
    assert set(titles(records).values()) == {"exact"}


def test_of_equally_accurate_learners_the_faster_is_picked(make_record):
    records = one_trial(make_record, slow=(0.9, 9.0, 1.0), fast=(0.9, 1.0, 2.0))
    assert titles(records)["Most accurate"] == "fast"


def test_means_are_over_the_trials_that_all_learners_have(make_record):
    records = [make_record("a", seed, r1=0.8, train=1.0) for seed in range(3)]
    records += [make_record("b", seed, r1=0.7, train=1.0) for seed in range(3)] + [make_record("b", 3, r1=1.0)] * 9
    assert titles(records)["Most accurate"] == "a"


def test_a_learner_without_a_size_is_never_the_smallest(make_record):
    records = one_trial(make_record, a=(0.9, 1.0, None), b=(0.9, 2.0, 50.0))
    assert titles(records)["Smallest within 1 point"] == "b"
    assert "index size" not in picks(records)["Most accurate"].costs


def test_without_finished_trials_there_are_no_picks(make_record):
    assert picks([make_record("a", 0, status="error", message="no")]) == {}


def test_a_quality_that_is_no_share_has_no_near_learners(make_record):
    records = one_trial(make_record, a=(0.9, 1.0, 5.0), b=(0.9, 2.0, 50.0))
    assert titles(records, (TRAIN, INDEX)) == {"Most accurate": "a"}


@pytest.mark.parametrize("split", ["given", "holdout:0.1"])
def test_one_trial_has_the_binomial_interval_of_its_test_rows(make_record, split):
    (record,) = [make_record("a", 0, r1=0.5, split=split, n_test=10_000)]
    assert picks([record])["Most accurate"].quality == "R1 0.500 (0.490 to 0.510)"


def test_resampled_trials_have_the_interval_of_the_corrected_test(make_record):
    records = [make_record("a", seed, r1=0.8 + 0.01 * (seed % 2), n_train=90, n_test=10) for seed in range(10)]
    # sd 0.00527, t(9) 2.262, sqrt(1/10 + 1/9) 0.4595: half a width of 0.0055
    assert picks(records)["Most accurate"].quality == "R1 0.805 (0.799 to 0.811)"


def test_the_answer_has_two_sentences_a_dataset(make_record):
    records = one_trial(make_record, a=(0.9, 1.0, 5.0), b=(0.7, 2.0, 50.0))
    first, second = describe_answer(group_records(records), COLUMNS)
    assert first.startswith("Most accurate on digits: a, R1 0.900")
    assert "fastest within 1 point: a, train 1.00 s" in first
    assert "too few" in second


def test_a_learner_alone_needs_no_answer(make_record):
    assert describe_answer(group_records(one_trial(make_record, a=(0.9, 1.0, 5.0))), COLUMNS) == []


def test_bytes_decide_the_smallest_learner_when_few_learners_report_weights(make_record):
    records = one_trial(make_record, own=(0.9, 1.0, 5.0), external=(0.9, 2.0, None))
    records = [replace(one, scores={**one.scores, "size": size}) for one, size in zip(records, (9e6, 2e6), strict=True)]
    found = {pick.need: pick for pick in pick_learners(group_records(records), COLUMNS, [SIZE])}
    assert found["Smallest within 1 point"].line.title == "external"
    assert found["Smallest within 1 point"].reason == "size 2.00 MB"
    assert found["Most accurate"].costs == {"train": "1.00 s", "size": "9.00 MB"}


def test_a_learner_exactly_a_point_behind_is_a_pick(make_record):
    records = one_trial(make_record, exact=(0.90, 9.0, 900.0), near=(0.89, 0.1, 1.0))
    assert titles(records)["Fastest within 1 point"] == "near"


def test_the_values_of_a_pick_are_over_the_shared_trials(make_record):
    records = [make_record("a", 0, r1=0.8, train=2.0), make_record("a", 1, r1=0.6, train=4.0)]
    records += [make_record("b", 0, r1=0.7, train=1.0)]
    pick = picks(records)["Most accurate"]
    assert pick.quality.startswith("R1 0.800 (")
    assert pick.costs["train"] == "2.00 s"


def on_datasets(trials_of, several):
    """Return records of several datasets, given as R1 by learner."""
    records = []
    for dataset, learners in several.items():
        for label, r1 in learners.items():
            records += trials_of(label, r1, 1.0, dataset=dataset, fingerprint=dataset)
    return records


def test_the_answer_for_many_datasets_has_two_sentences_together(trials_of):
    several = {"one": {"a": 0.9, "b": 0.7}, "two": {"a": 0.9, "b": 0.7}, "three": {"a": 0.6, "b": 0.8, "c": 0.8}}
    several["four"] = {"a": 0.5, "b": 0.7}
    first, second = describe_answer(group_records(on_datasets(trials_of, several)), COLUMNS, "sign")
    assert first == "Best mean R1 on 4 datasets: a (2), b (2) and c (1)."
    assert second == "The best learner beats all others significantly on 3 of 4 datasets and some of them on 1."


def test_datasets_without_a_verdict_are_counted(trials_of, make_record):
    several = {name: {"a": 0.9, "b": 0.7} for name in ("one", "two", "three")}
    few = [make_record(label, 0, r1=0.5, dataset="few", fingerprint="few") for label in ("a", "b")]
    _, second = describe_answer(group_records(on_datasets(trials_of, several) + few), COLUMNS, "sign")
    assert second.endswith("on 3 of 3 datasets and some of them on 0; 1 more have no verdict.")
    alone = [make_record(one, 0, r1=0.5, dataset=name, fingerprint=name) for one in "ab" for name in "wxyz"]
    assert describe_answer(group_records(alone), COLUMNS)[1] == (
        "No dataset has a verdict, for the reasons below the table."
    )


def test_a_failed_learner_is_no_pick_and_leaves_the_trials_of_the_others(make_record):
    records = one_trial(make_record, a=(0.9, 1.0, 5.0), b=(0.7, 2.0, 50.0))
    records.append(make_record("bad", 0, status="error", message="no"))
    first, _ = describe_answer(group_records(records), COLUMNS)
    assert first.startswith("Most accurate on digits: a, R1 0.900")


def test_a_fixed_split_is_answered_from_one_trial_a_learner(make_record):
    records = [make_record(label, 0, split="given", r1=r1, train=1.0) for label, r1 in (("a", 0.9), ("b", 0.7))]
    first, second = describe_answer(group_records(records), COLUMNS)
    assert first.startswith("Most accurate on digits: a, R1 0.900 (")
    assert second.startswith("The best mean R1 is that of a (0.900); there is no verdict")
