"""Failed trials: results with the phase and the reason."""

import pytest

from harness import MetricSpec
from internals import Entry, JobEnd, Origin, Scorer
from messages import assert_names
from trial_runs import METRICS, good, run


@pytest.mark.parametrize(
    ("learner", "changes", "message"),
    [
        ("ChangesValues", {}, "during fit: the learner changed the training X"),
        ("ChangesValues", {"wants_dense": True}, "during fit: the learner changed the training X"),
        ("ChangesValues", {"representation": "raw"}, "during fit: the learner changed the training X"),
        ("ChangesPlaces", {}, "during fit: the learner changed the training X"),
        ("ReplacesValues", {}, "during fit: the learner changed the training X"),
        ("ChangesLabels", {}, "during fit: the learner changed y"),
        ("ChangesTestRows", {}, "during rank: the learner changed the test X"),
        ("ChangesTrainingRowsLater", {}, "during rank: the learner changed the training X"),
        ("FailsInInit", {}, "during import: ValueError: cannot be made"),
        ("FailsInRank", {}, "during rank: ValueError: cannot rank"),
        ("absent", {}, "during import: AttributeError: "),
        ("nowhere:Absent", {}, "during import: ModuleNotFoundError: "),
        ("Exits", {}, "during warm-up: SystemExit: good bye"),
        ("WrongShape", {}, "during rank: rank returned shape (60, 9), expected (60, 10)"),
        ("WrongType", {}, "during rank: rank returned float64, expected signed integers"),
        ("WrongClass", {}, "during rank: rank returned class 10"),
        ("NoClasses", {}, "during rank: the fitted learner has no classes_"),
    ],
)
def test_a_failure_is_a_result_with_phase_and_reason(executor, single, learner, changes, message):
    answer, ranks = run(executor, learner, single, **changes)
    assert answer.status == "error"
    assert answer.message.startswith(message)
    assert "Traceback" in answer.traceback
    assert ranks is None


def test_a_learner_that_modifies_an_indicator_matrix_is_detected(executor, multi):
    answer, _ = run(executor, "ChangesLabels", multi)
    assert_names(answer.message, "fit", "changed", "y")


def test_a_long_message_is_shortened_to_a_line_and_complete_in_the_traceback(executor, single):
    answer, _ = run(executor, "FailsInFit", single)
    assert_names(answer.message, "fit", "ValueError")
    assert len(answer.message) < 500
    assert "x" * 10_000 in answer.traceback


def test_a_memory_error_is_a_memory_failure(executor, single):
    answer, _ = run(executor, "OutOfMemory", single)
    assert answer.status == "memory"
    assert_names(answer.message, "fit", "MemoryError")


def test_processes_of_metrics_have_a_time_limit_by_default(single):
    limits = []

    class Noting:
        def run(self, jobs):
            for job in jobs:
                limits.append(job.timeout_seconds)
                yield job, JobEnd("timeout")

    foreign = Entry(MetricSpec(name="m", compute="a:b"), Origin("elsewhere", "elsewhere", "1"))
    for timeout in (None, 5.0):
        scorer = Scorer([foreign], Noting(), timeout)
        for _ in range(2):  # the second time it is skipped
            (scores,) = scorer.score([object()])
            assert scores.values == {"m": None}
            assert_names(scores.errors["m"], "s", "--timeout")
    assert limits == [60.0, 5.0]


def test_a_failing_metric_costs_its_own_column_only(executor, single):
    bad = ("fails", "gives_nan", "gives_text", "gives_nothing", "gives_whole")
    foreign = Origin("elsewhere", "elsewhere", "1")
    metrics = [Entry(MetricSpec(name=name, compute=f"learners:{name}"), foreign) for name in bad]
    metrics += [Entry(MetricSpec(name="lost", compute="nowhere:nothing"), foreign), METRICS["r1"]]
    answer, ranks = good(executor, "Ranking", single, metrics=metrics)
    assert ranks.shape == (60, 10)
    scores = answer.scores
    assert list(scores) == [*bad, "lost", "r1"]
    assert scores["r1"] > 0.5
    assert scores["gives_whole"] == 7.0
    assert [name for name, value in scores.items() if value is None] == [*bad[:4], "lost"]
    for words in ("'fails' failed: RuntimeError: no value", "'gives_nan'", "'gives_text'", "'lost'"):
        assert words in answer.message
    assert "gives_nothing" not in answer.message
