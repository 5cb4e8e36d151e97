"""Rescoring: a new metric from saved ranks equals the one computed in the trial, and no record is lost."""

import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from harness import MetricSpec
from harness.errors import DataError, HarnessError
from internals import (
    Entry,
    Origin,
    SavedRanks,
    beyond_saved,
    check_depth,
    describe_missing_curves,
    discover,
    fill_in,
    find_data,
    find_metric,
    first_hits,
    open_store,
    ranks_of,
    read_header,
    read_records,
    rebuild_outcome,
    rescore,
)
from internals import checksum_of_record as checksum_of
from messages import assert_names, naming

CATALOG = discover()
WORDS = [
    "--learners",
    "pa,knn=sklearn.neighbors:KNeighborsClassifier(n_neighbors=3)",
    "--datasets",
    "few=topics(classes=15)",
    "--trials",
    "2",
    "--curves",
]


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Return a read-only results folder of real trials."""
    folder = tmp_path_factory.mktemp("results") / "finished"
    command = [sys.executable, "-m", "harness", "run", *WORDS, "--metrics", "r1,r3,level1", "--out", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "results")


def never(dataset):
    raise AssertionError("the data home has it")


OPEN = SavedRanks({}, CATALOG, never).data


def metrics(*names):
    return [find_metric(name, CATALOG) for name in names]


def run(folder, *names, again=False):
    with open_store(folder) as store:
        return rescore(store, metrics(*names), OPEN, again=again)


def without_scores(folder, *names):
    """Return the same folder with these scores removed from its records."""
    kept = [replace(r, scores={n: v for n, v in r.scores.items() if n not in names}) for r in read_records(folder)]
    (folder / "records.jsonl").unlink()
    with open_store(folder) as store:
        for record in kept:
            store.append(record)


def test_every_rank_and_cost_metric_equals_the_one_computed_in_the_trial(folder):
    before = {record.key: record.scores for record in read_records(folder)}
    names = [name for name, value in next(iter(before.values())).items() if value is not None]
    assert {"r1", "r3", "level1", "macro_f1", "tree_loss", "r1_frequent", "index", "edges", "train"} <= set(names)
    without_scores(folder, *names)
    run(folder, *names)
    assert {record.key: record.scores for record in read_records(folder)} == before


def test_ties_of_known_scores_are_saved_with_the_ranks(folder):
    tied = {record.label: ranks_of(folder, record).places is not None for record in read_records(folder)}
    assert tied == {"pa": False, "knn": True}  # three votes over fifteen classes, against a learner that ranks itself
    for record in read_records(folder):
        assert record.scores["r1"] < record.scores["accuracy"] if record.label == "knn" else True


def test_a_new_metric_is_added_and_nothing_else_changes(folder):
    before = read_records(folder)
    found = run(folder, "r7", "mrr(depth=10)")
    assert (found.changed, found.kept, found.failed, found.trouble) == (4, 0, 0, ())
    after = read_records(folder)
    assert len(after) == len(before)
    for old, new in zip(before, after, strict=True):
        assert new.scores.keys() - old.scores.keys() == {"r7", "mrr(depth=10)"}
        assert old.scores["r5"] <= new.scores["r7"] <= old.scores["r10"]
        assert new.rescored.keys() == {"r7", "mrr(depth=10)"}
        assert replace(new, scores=old.scores, rescored={}) == old


def test_a_second_rescore_writes_nothing_and_again_writes_the_same(folder):
    run(folder, "r7")
    content = (folder / "records.jsonl").read_bytes()
    assert run(folder, "r7").kept == 4
    assert (folder / "records.jsonl").read_bytes() == content
    scores = [record.scores for record in read_records(folder)]
    assert run(folder, "r7", again=True).changed == 4
    assert [record.scores for record in read_records(folder)] == scores


def test_an_interrupted_rescore_resumes(folder):
    run(folder, "r7")
    lines = (folder / "records.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 8
    (folder / "records.jsonl").write_bytes(b"".join(lines[:6]) + lines[6][:100])  # killed while it wrote the third
    with pytest.warns(UserWarning, match="torn"):
        assert run(folder, "r7").changed == 2
    assert all("r7" in record.scores for record in read_records(folder))


def test_failed_trials_are_unchanged(folder):
    with open_store(folder) as store:
        first = next(iter(store.records.values()))
        failed = replace(first, key="failed", status="timeout", scores={})
        store.append(failed)
    assert run(folder, "r7").failed == 1
    assert failed in read_records(folder)


def test_too_few_saved_ranks_are_rejected_before_any_write(folder):
    content = (folder / "records.jsonl").read_bytes()
    with pytest.raises(HarnessError, match=naming("r12", "10")):
        run(folder, "r2", "r12")
    assert (folder / "records.jsonl").read_bytes() == content


def test_a_depth_beyond_the_number_of_classes_needs_no_more_ranks(make_record):
    deep = MetricSpec(name="deep", compute="a:b", depth=1000)
    check_depth(make_record("pa", 0, depth=20), [deep], None)
    with pytest.raises(HarnessError, match="1000 ranks"):
        check_depth(make_record("pa", 0, depth=19), [deep], "folder")


def test_metrics_that_need_a_clock_are_rejected(folder):
    with pytest.raises(HarnessError, match=naming("predict_one")):
        run(folder, "predict_one")


def test_changed_data_is_rejected(folder):
    record = replace(read_records(folder)[0], fingerprint="0" * 64)
    calls = []

    def prepare(dataset):
        calls.append((dataset.entry.spec.name, dataset.params["classes"]))
        return read_header(find_data(read_records(folder)[0], CATALOG, never))

    with pytest.raises(DataError, match=naming("few", "000000000000")):
        find_data(record, CATALOG, prepare)
    assert calls == [("topics", 15)]


def test_derived_data_is_rebuilt_from_its_record(make_record):
    made = {"dataset": "subsample(digits, classes=5)", "examples": 9}
    record = make_record("pa", 0, dataset="few", dataset_source="subsample", dataset_params=made, fingerprint="0" * 64)

    def prepare(dataset):
        assert (dataset.name, dataset.params["examples"]) == ("few", 9)
        assert dataset.wrapped.params["classes"] == 5
        raise DataError("it was requested correctly", culprit=dataset.wrapped.wrapped.name)

    with pytest.raises(DataError, match=naming("digits")):
        find_data(record, CATALOG, prepare)


def test_data_that_is_not_stored_is_parsed_again(folder, tmp_path):
    command = [sys.executable, "-m", "harness", "rescore", str(folder), "--metrics", "r7"]
    home = {**os.environ, "HARNESS_DATA_HOME": str(tmp_path / "empty")}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=home)
    assert (ended.returncode, ended.stdout) == (0, "r7: computed for 4 trials; 0 had it already\n")


def as_file(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def put(folder, path, content, *, is_recorded=True):
    """Replace the ranks of a trial; with `is_recorded`, its record has their checksum."""
    path.unlink()
    path.write_bytes(content)
    if is_recorded:
        with open_store(folder) as store:
            store.append(replace(store.records[path.stem], ranks_crc32=checksum_of(content)))


def test_missing_and_damaged_ranks_are_named(folder):
    record = read_records(folder)[0]
    path = folder / "ranks" / f"{record.key}.npy"
    put(folder, path, b"rubbish", is_recorded=False)
    with pytest.raises(HarnessError, match=naming("checksum")):
        run(folder, "r7")
    put(folder, path, b"rubbish")
    with pytest.raises(HarnessError, match="cannot be read"):
        run(folder, "r7")
    put(folder, path, as_file(np.zeros((3, 10), np.int32)))
    with pytest.raises(HarnessError, match=naming("3", "10")):
        run(folder, "r7")
    put(folder, path, as_file(np.full((record.n_test, 10), 999, np.int32)))
    with pytest.raises(HarnessError, match=r"names classes outside 0\.\."):
        run(folder, "r7")
    path.unlink()
    with pytest.raises(HarnessError, match=f"are not there .*{record.key}"):
        run(folder, "r7")


def test_a_failing_metric_is_reported_and_the_others_are_computed(folder):
    bad = Entry(MetricSpec(name="bad", compute="nowhere:nothing"), Origin("p", "d", "1"))
    with open_store(folder) as store:
        found = rescore(store, [bad, *metrics("r7")], OPEN)
    assert found.changed == 4
    assert len(found.trouble) == 4
    assert_names(found.trouble[0], "bad", "ModuleNotFoundError")
    assert all("r7" in record.scores and "bad" not in record.scores for record in read_records(folder))


def test_missing_values_are_filled_in_and_the_rest_is_reported(folder):
    first, second, *others = read_records(folder)
    (folder / "ranks" / f"{second.key}.npy").unlink()
    with open_store(folder) as store:
        found = fill_in(store, [first.key, second.key], metrics("predict_one", "r7", "r1"), OPEN)
    assert (found.changed, found.kept, found.failed) == (1, 0, 0)
    once, _, missing = found.trouble
    assert_names(once, "predict_one")
    assert f"ranks/{second.key}.npy" in missing
    after = {record.key: record for record in read_records(folder)}
    assert after[first.key].scores.keys() - first.scores.keys() == {"r7"}
    assert [after[record.key] for record in (second, *others)] == [second, *others]


def test_a_metric_missing_from_curves_only_is_reported(folder):
    with_curve, *_ = [record for record in read_records(folder) if record.curve]
    both = replace(with_curve, scores=with_curve.scores | {"r7": 0.5})
    assert describe_missing_curves([both], ["r1", "r7"]).startswith("the curves lack r7: ")
    assert describe_missing_curves([with_curve, replace(both, curve=[])], ["r1", "r7"]) == ""


def test_a_folder_with_a_writer_is_refused(folder):
    with open_store(folder), pytest.raises(HarnessError, match="is being written"):
        run(folder, "r7")


def test_hits_equal_those_counted_by_accuracy(folder):
    for record in read_records(folder):
        outcome = rebuild_outcome(record, OPEN(record), ranks_of(folder, record))
        hits = first_hits(outcome)
        assert sum(hits) / len(hits) == pytest.approx(record.scores["accuracy"])


def test_the_command_reports_its_changes_and_the_table_shows_them(folder):
    def harness(*words):
        return subprocess.run([sys.executable, "-m", "harness", *words], capture_output=True, text=True, check=False)

    ended = harness("rescore", str(folder), "--metrics", "r7,r2")
    assert (ended.returncode, ended.stdout) == (0, "r7, r2: computed for 4 trials; 0 had it already\n")
    assert_names(ended.stderr, "r7", "r2", "--curves")
    shown = harness("table", str(folder), "--metrics", "r7", "--format", "json")
    assert {row["metrics"]["r7"]["n"] for row in json.loads(shown.stdout)["groups"][0]["rows"]} == {2}
    ended = harness("rescore", str(folder / "nowhere"), "--metrics", "r7")
    assert (ended.returncode, "is not a results folder" in ended.stderr) == (2, True)
    assert not (folder / "nowhere").exists()


def test_confidence_is_calibrated_in_the_trial_and_not_in_a_rescore(make_record, tmp_path):
    ece = MetricSpec(name="ece", compute="a:b", confidence=True)
    refusal = beyond_saved(make_record("pa", 0), ece, tmp_path)
    assert_names(refusal, "--metrics", "--out")
