"""Figures, matrices and ranks over several machines: times of one machine only, or none."""

import pytest

import harness
from harness.errors import HarnessError
from internals import Machine, open_store
from messages import naming

FAST, SLOW = Machine("m1", "Fast", 8), Machine("m2", "Slow", 2)


@pytest.fixture
def results_of(tmp_path, make_record):
    def make(**where):
        """`ff` and `pa` in seven trials each; `where` has the learner's trials on the slow machine."""
        with open_store(tmp_path / "both") as store:
            store.describe("learners = 'pa'\n", FAST)
            store.add_machine(SLOW)
            for label, seconds in (("ff", 1.0), ("pa", 2.0)):
                for seed in range(7):
                    slow = seed in where.get(label, ())
                    times = {"train": seconds * (10 if slow else 1), "machine": "m2" if slow else "m1"}
                    store.append(make_record(label, seed, r1=0.5 + 0.1 * (label == "pa"), **times), None)
        return harness.open_results(tmp_path / "both")

    return make


def drawn_at(results):
    (panel,) = results.plot("pareto").panels
    return {series.label: series.x[0] for series in panel.series}


def test_a_front_shows_times_of_the_machine_common_to_all(results_of):
    assert drawn_at(results_of(pa=(5, 6))) == {"ff": 1.0, "pa": 2.0}


def test_without_a_common_machine_there_is_no_front_and_no_matrix_of_times(results_of):
    results = results_of(pa=range(7))
    with pytest.raises(HarnessError, match="Times of 2 conditions"):
        results.plot("pareto")
    with pytest.raises(HarnessError, match=naming("train", "conditions")):
        results.matrix("train")
    with pytest.raises(HarnessError, match=naming("train")):
        results.table("r1", sort="train")
    assert results.matrix("r1")
    assert results.plot("bar", metric="r1").panels


def test_a_page_uses_the_times_that_its_table_shows(results_of):
    results = results_of(pa=(5, 6))
    (part,) = results.page().parts
    train = [metric.name for metric in part.metrics].index("train")
    values = {line.title: line.values[train] for line in part.lines}
    assert values["pa"][:5] == (2.0,) * 5
    assert set(values["pa"][5:]) == {None}
