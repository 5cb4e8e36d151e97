"""A learner that exceeds a time or memory limit is skipped on larger data, with a record per skipped trial."""

from textwrap import dedent

import pytest

import harness
from messages import assert_names

PLUGIN = """
    import numpy as np
    from harness import LearnerSpec, hookimpl
    from sklearn.naive_bayes import MultinomialNB

    @hookimpl
    def harness_learners():
        return [LearnerSpec(name="hungry", load="hungry:Hungry"), LearnerSpec(name="modest", load="hungry:Modest")]

    class Modest(MultinomialNB):
        pass

    class Hungry(MultinomialNB):
        def fit(self, X, y):
            if X.shape[0] > 300:
                raise MemoryError("no room")
            return super().fit(X, y)
"""
SIZES = "topics(rows=[200, 400, 600], classes=4)"


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "hungry.py").write_text(dedent(PLUGIN))
    return folder


@pytest.fixture
def run(plugins, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(data=SIZES, **options):
        options = {"give_up": True, "out": "results/mine", **options}
        return harness.run(
            "hungry,modest", data, trials=1, representation="raw", plugins_dirs=[plugins], progress=False, **options
        )

    return run


def ends(results):
    return {(record.label, record.dataset_params["rows"]): record for record in results.records}


def test_a_learner_that_exceeded_a_limit_is_skipped_on_larger_data_with_the_reason(run):
    found = ends(run())
    statuses = {(label, rows): record.status for (label, rows), record in found.items()}
    assert statuses == {
        ("hungry", 200): "ok",
        ("hungry", 400): "memory",
        ("hungry", 600): "memory",
        **{("modest", rows): "ok" for rows in (200, 400, 600)},
    }
    assert "no room" in found["hungry", 400].message
    assert_names(found["hungry", 600].message, "topics(rows=400)")
    assert found["hungry", 600].started
    assert found["hungry", 600].machine == found["hungry", 400].machine


def test_skipped_trials_count_as_done_and_run_on_request(run):
    first = ends(run())["hungry", 600]
    assert ends(run())["hungry", 600] == first
    assert "no room" in ends(run(give_up=False, retry_failed=True))["hungry", 600].message


def test_data_of_another_source_or_with_fewer_classes_is_not_larger(run):
    data = (
        "topics(rows=400, classes=4), few=topics(rows=600, classes=3), zipf(rows=600, classes=4, features=50, words=5)"
    )
    statuses = [record.message for record in run(data).records if record.label == "hungry"]
    assert len(statuses) == 3
    assert all("no room" in message for message in statuses)


def test_data_of_equal_size_and_samples_of_other_data_are_not_larger(run):
    draws = run("topics(rows=400, classes=4, seed=[1, 2])")
    assert all("no room" in record.message for record in draws.records if record.label == "hungry")
    topics = "topics(rows=900, classes=6)"
    samples = f"subsample(digits, classes=4, examples=400), subsample({topics}, classes=4, examples=450)"
    messages = [record.message for record in run(samples, out="results/samples").records if record.label == "hungry"]
    assert len(messages) == 2
    assert all("no room" in message for message in messages)


def test_skipped_trials_under_a_budget_are_decided_anew_on_retry(plugins, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = {"learners": "hungry", "datasets": [SIZES], "trials": 1, "representation": "raw"}

    def run(hours, **more):
        experiment = {**options, "budget": {"hours": hours, "trials": 1}}
        found = harness.run(experiment=experiment, out="mine", plugins_dirs=[plugins], **more)
        return {record.dataset_params["rows"]: record for record in found.records}, capsys.readouterr().err

    first, text = run(8)
    assert_names(text, "3", "trials")
    assert [first[rows].status for rows in (200, 400, 600)] == ["ok", "memory", "memory"]
    assert first[600].message.startswith("not run")
    again, _ = run(8, retry_failed=True)
    assert "no room" in again[400].message  # it ran, and the largest was skipped because of its new status
    assert again[400].started > first[400].started or again[400].total_seconds != first[400].total_seconds
    assert again[600].message.startswith("not run")
    spent, text = run(1e-9, retry_failed=True)
    assert_names(text, "budget")
    assert spent == again
