"""The best learner of a comparison: selection, parameters, and the model made from it."""

import pytest

import harness
from harness.errors import HarnessError
from internals import Machine, open_store
from messages import assert_names, naming
from small_titles import titles


@pytest.fixture
def results(tmp_path, make_record):
    """Return three configurations; tuning chose C=0.3 for the best one in two of three trials."""
    folder = tmp_path / "results"
    with open_store(folder) as store:
        store.describe("learners = 'pa'\n", Machine("m1", "Fast", 8))
        for seed in range(3):
            seen = {"representation": "words", "dataset": "titles", "train": 2.0}
            tuned = {"C": 0.3 if seed else 0.1}
            store.append(make_record("pa", seed, r1=0.9, tuned=tuned, params={"passes": 3}, **seen))
            store.append(make_record("quick", seed, r1=0.8, **seen | {"train": 1.0}))
            store.append(make_record("failed", seed, status="error", **seen | {"train": 0.1}))
    return harness.open_results(folder)


def test_the_best_mean_wins_with_the_most_frequent_tuned_values(results):
    best = results.best("r1")
    assert best.learner == "pa(passes=3, C=0.3)"
    assert best.known_from == f"R1 0.9, the mean of 3 trials (holdout:0.1) in {results.folders[0]}"
    assert str(best) == f"pa: {best.known_from}"


def test_lower_values_are_best_for_lower_is_better_metrics(results):
    assert results.best("train").line.label == "quick"


def test_a_model_of_the_best_learner_records_the_source_of_its_accuracy(results):
    model = results.best().fit(titles())
    assert (model.manifest.learner.params["C"], model.manifest.learner.params["passes"]) == (0.3, 3)
    assert model.manifest.representation == "words"
    assert model.manifest.expected.accuracy == 0.9
    assert_names(model.manifest.expected.known_from, "3", "trials")
    assert model.predict(["steel welder"]) == ["21"]


def test_without_a_value_there_is_no_best(results):
    with pytest.raises(HarnessError, match=naming("r5")):
        results.best("r5")
    with pytest.raises(HarnessError, match="no finished trial"):
        results.best("r1", dataset="other")


def test_several_datasets_require_a_choice(tmp_path, make_record):
    with open_store(tmp_path / "two") as store:
        store.describe("learners = 'pa'\n", Machine("m1", "Fast", 8))
        for dataset, r1 in (("one", 0.9), ("two", 0.8)):
            store.append(make_record("pa", 0, r1=r1, dataset=dataset, fingerprint=dataset))
    results = harness.open_results(tmp_path / "two")
    with pytest.raises(HarnessError, match=naming("--dataset")):
        results.best()
    assert results.best(dataset="two").known_from.startswith("R1 0.8")


def write_records(folder, *records):
    with open_store(folder) as store:
        store.describe("learners = 'pa'\n", Machine("m1", "Fast", 8))
        for record in records:
            store.append(record, None)
    return harness.open_results(folder)


def test_a_tuned_representation_is_used_by_the_model_and_is_no_parameter(tmp_path, make_record):
    seen = {"dataset": "titles", "representation": "one of words, chars"}
    tuned = {"C": 0.3, "representation": "chars"}
    records = [make_record("pa", seed, r1=0.9, tuned=tuned, **seen) for seed in range(3)]
    best = write_records(tmp_path / "tuned", *records).best()
    assert (best.learner, best.representation) == ("pa(random_state=0, C=0.3)", "chars")
    model = best.fit(titles())
    assert model.manifest.representation == "chars"
    assert model.predict(["steel welder"]) == ["21"]


def test_tuples_and_estimators_in_parameters_are_kept(tmp_path, make_record):
    params = {"sizes": [3, 4], "inner": "sklearn.tree:DecisionTreeClassifier(max_depth=2)", "name": "plain text"}
    best = write_records(tmp_path / "given", make_record("pa", 0, r1=0.9, params=params)).best()
    assert best.learner == (
        "pa(sizes=(3, 4), inner=sklearn.tree:DecisionTreeClassifier(max_depth=2), name='plain text')"
    )


def test_an_easier_split_or_a_lucky_seed_does_not_win(tmp_path, make_record):
    harder = [make_record("pa", seed, r1=0.8, split="holdout:0.5") for seed in range(3)]
    easier = [make_record("quick", seed, r1=0.9) for seed in range(3)]
    results = write_records(tmp_path / "splits", *harder, *easier)
    with pytest.raises(HarnessError, match=naming("holdout:0.1", "holdout:0.5", "--split")):
        results.best()
    assert results.best(split="holdout:0.5").line.label == "pa"
    changed = [make_record("pa", 0, r1=0.8), make_record("quick", 0, r1=0.9, fingerprint="other")]
    with pytest.raises(HarnessError, match=naming("trials")):
        write_records(tmp_path / "changed", *changed).best()
    steady = [make_record("pa", seed, r1=r1) for seed, r1 in enumerate((0.95, 0.7, 0.7))]
    lucky = [make_record("quick", 0, r1=0.9)]
    best = write_records(tmp_path / "lucky", *steady, *lucky).best()
    assert (best.line.label, best.known_from.partition(" in ")[0]) == (
        "pa",
        "R1 0.95, the mean of 1 trial (holdout:0.1)",
    )
