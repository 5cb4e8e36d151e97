"""A learner that runs out of time or memory is left out on larger data: one rule, and a record of each trial."""

from textwrap import dedent

import pytest

import harness

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

    def run(data=SIZES, **asked):
        asked = {"give_up": True, "out": "results/mine", **asked}
        return harness.run(
            "hungry,modest", data, trials=1, representation="raw", plugins_dirs=[plugins], progress=False, **asked
        )

    return run


def ends(results):
    return {(record.label, record.dataset_params["rows"]): record for record in results.records}


def test_it_is_not_run_on_larger_data_and_the_record_says_why(run):
    found = ends(run())
    statuses = {(label, rows): record.status for (label, rows), record in found.items()}
    assert statuses == {
        ("hungry", 200): "ok",
        ("hungry", 400): "memory",
        ("hungry", 600): "memory",
        **{("modest", rows): "ok" for rows in (200, 400, 600)},
    }
    assert "no room" in found["hungry", 400].message
    assert found["hungry", 600].message == "not run: out of memory on topics(rows=400), which is smaller"
    assert found["hungry", 600].started
    assert found["hungry", 600].machine == found["hungry", 400].machine


def test_what_was_left_out_is_done_for_the_same_command_and_run_when_asked_for(run):
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
