"""What a trial will not accept: failures are answers, with the phase and the reason."""

import pytest

from harness.metric import MetricCall
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
        ("WrongShape", {}, "during rank: rank gave shape (60, 9), expected (60, 10)"),
        ("WrongType", {}, "during rank: rank gave float64, expected signed integers"),
        ("WrongClass", {}, "during rank: rank gave class 10"),
        ("NoClasses", {}, "during rank: the fitted learner has no classes_"),
    ],
)
def test_a_failure_is_an_answer_that_names_the_phase_and_the_reason(executor, single, learner, changes, message):
    answer, ranks = run(executor, learner, single, **changes)
    assert answer.status == "error"
    assert answer.message.startswith(message)
    assert "Traceback" in answer.traceback
    assert ranks is None


def test_a_learner_that_changes_several_labels_a_row_is_caught(executor, multi):
    answer, _ = run(executor, "ChangesLabels", multi)
    assert answer.message.startswith("during fit: the learner changed y")


def test_a_long_message_becomes_one_short_line_and_stays_whole_in_the_traceback(executor, single):
    answer, _ = run(executor, "FailsInFit", single)
    assert answer.message.startswith("during fit: ValueError: cannot be trained xxx")
    assert len(answer.message) < 500
    assert "x" * 10_000 in answer.traceback


def test_running_out_of_memory_by_itself_is_a_memory_failure(executor, single):
    answer, _ = run(executor, "OutOfMemory", single)
    assert answer.status == "memory"
    assert answer.message == "during fit: MemoryError: no room"


def test_a_metric_that_fails_costs_its_own_column_only(executor, single):
    bad = ("fails", "gives_nan", "gives_text", "gives_nothing", "gives_whole")
    metrics = [MetricCall(name, f"learners:{name}") for name in bad]
    metrics += [MetricCall("lost", "nowhere:nothing"), METRICS["r1"]]
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
