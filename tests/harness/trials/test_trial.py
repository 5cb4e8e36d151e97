"""One trial, as the executor runs it: what it measures, and what stays outside the clock."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Dataset
from harness.record import Measured, field_names, measured_as_plain
from harness.record_lines import measured_from_plain
from harness.split import parse_split
from harness.trials.blueprint import Blueprint
from harness.trials.represent import represent
from harness.trials.splitting import draw_split
from trial_runs import METRICS, WEIGHTINGS, end_of, good, job_of, keep_in, run, texts, trial

HOLDOUT = parse_split("holdout:0.25")


def expected_ranks(data, seed=3, depth=10):
    """What the class centres must rank, computed here."""
    train, test = draw_split(HOLDOUT, data.X.shape[0], seed, {})
    y = data.y[train]
    seen = represent(Blueprint(WEIGHTINGS["tfidf"], {}), data.X[train], y, data.X[test])
    X, T = seen.train.toarray(), seen.test.toarray()
    centres = np.array([X[y == c].mean(axis=0) for c in np.unique(y)])
    order = np.argsort(-(T @ centres.T), axis=1, kind="stable")[:, :depth]
    return np.pad(order, ((0, 0), (0, depth - order.shape[1])), constant_values=-1), data.y[test]


def test_a_trial_goes_through_its_phases_and_measures_what_a_record_keeps(executor, single):
    phases = []
    answer, ranks = good(executor, "Ranking", single, phases=phases)
    assert phases == ["start", "load", "import", "warm-up", "fit", "predict", "rank", "measure"]
    facts = ("n_train", "n_test", "n_classes", "n_features", "unseen_test_rows", "ranked_by", "message")
    assert [getattr(answer, name) for name in facts] == [180, 60, 6, 40, 0, "rank", ""]
    absent = ("tune_seconds", "stage_seconds")
    seconds = [value for name, value in vars(answer).items() if name.endswith("_seconds") and name not in absent]
    assert len(seconds) == 12
    assert [getattr(answer, name) for name in absent] == [None, None]
    assert all(0 <= value < 60 for value in seconds)
    assert answer.scores.keys() == METRICS.keys()
    wanted, truth = expected_ranks(texts())
    assert ranks.dtype == np.int32
    assert ranks.tolist() == wanted.tolist()
    assert answer.scores["r1"] == pytest.approx((wanted[:, 0] == truth).mean())
    assert answer.scores["r1"] > 0.5


@pytest.mark.parametrize("learner", ["Ranking", "FailsInFit"])
def test_an_answer_has_the_fields_of_what_is_measured_and_comes_back_as_it_was(executor, single, learner):
    plain = end_of(executor, job_of(trial(learner, single))).answer
    assert plain.keys() == set(field_names(Measured))
    assert json.loads(json.dumps(measured_as_plain(measured_from_plain(plain)))) == plain


@pytest.mark.parametrize(("learner", "by"), [("Centres", "decision_function"), ("Predicting", "predict")])
def test_without_rank_the_trial_ranks_by_what_the_learner_has(executor, single, learner, by):
    answer, ranks = good(executor, learner, single)
    wanted, _ = expected_ranks(texts())
    assert answer.ranked_by == by
    assert ranks[:, 0].tolist() == wanted[:, 0].tolist()
    assert (ranks[:, 1:] >= 0).any() == (by != "predict")


@pytest.mark.parametrize(
    ("learner", "size", "size_source", "bytes_source"),
    [
        ("Counting", 123, "index_size_", "index_bytes_"),
        ("DenseCoefficients", 3, "coef_", "pickle"),
        ("SparseCoefficients", 2, "coef_", "pickle"),
        ("Centres", None, None, "pickle"),
        ("Unpicklable", None, None, None),
    ],
)
def test_the_index_is_measured_by_what_the_learner_tells(executor, single, learner, size, size_source, bytes_source):
    answer, _ = good(executor, learner, single)
    assert (answer.scores["index"], answer.index_source) == (size, size_source)
    assert answer.bytes_source == bytes_source
    size_bytes = answer.scores["index_bytes"]
    if learner == "Counting":
        assert (size_bytes, answer.scores["edges"]) == (4567, 2.5)
    elif learner == "Unpicklable":
        assert size_bytes is None
    else:
        assert size_bytes > 100


def test_a_test_row_whose_classes_are_new_and_an_empty_one_are_counted(executor, tmp_path):
    X = csr_array(np.array([[1, 1, 0], [0, 2, 1], [1, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]], np.float32))
    split = {"fixed": (np.array([0, 1, 2]), np.array([3, 4, 5]))}
    data = Dataset(X, np.array([0, 1, 0, 1, 2, 2]), ("a", "b", "c"), splits=split)
    answer, ranks = good(executor, "Ranking", keep_in(tmp_path / "d", data), split="given:fixed", representation="raw")
    assert (answer.unseen_test_rows, answer.empty_test_rows) == (2, 2)
    assert ranks.max() == 1

    several = csr_array(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    data = Dataset(X, several, ("a", "b", "c", "d"), splits=split)
    answer, _ = good(executor, "Ranking", keep_in(tmp_path / "m", data), split="given:fixed", representation="raw")
    assert (answer.unseen_test_rows, answer.empty_test_rows) == (2, 2)
    dense = {"split": "given:fixed", "representation": "raw", "wants_dense": True}
    answer, _ = good(executor, "Ranking", keep_in(tmp_path / "m", data), **dense)
    assert answer.empty_test_rows == 2


def test_several_labels_a_row_arrive_as_an_indicator_and_any_of_them_is_right(executor, multi):
    answer, _ = run(executor, "Telling", multi)
    assert "csr_array float32 csr_array int8 (180, 40)" in answer.message
    answer, ranks = good(executor, "Ranking", multi)
    _, test = draw_split(HOLDOUT, 240, 3, {})
    truth = texts(multilabel=True).y[test].toarray()
    assert answer.scores["r1"] == pytest.approx(truth[np.arange(60), ranks[:, 0]].mean())


def test_a_learner_gets_single_precision_rows_and_whole_labels(executor, single):
    answer, _ = run(executor, "Telling", single, params={"random_state": 42})
    assert answer.message == "during fit: RuntimeError: csr_array float32 ndarray int64 (180, 40) 42"


def test_a_learner_that_wants_dense_rows_gets_them(executor, single):
    answer, _ = run(executor, "Telling", single, wants_dense=True)
    assert "ndarray float32 ndarray int64 (180, 40)" in answer.message
    _, dense = good(executor, "Ranking", single, wants_dense=True)
    _, sparse = good(executor, "Ranking", single)
    assert (dense[:, 0] == sparse[:, 0]).mean() > 0.95  # rounded otherwise, but the same


@pytest.mark.parametrize(("learner", "wants"), [("WithTree", False), ("WithTree", True), ("WithAnything", True)])
def test_a_learner_whose_fit_takes_the_class_tree_gets_it(executor, single, learner, wants):
    answer, _ = good(executor, learner, single, wants_taxonomy=wants)
    assert answer.scores["index"] == 7


def test_a_learner_that_takes_the_class_tree_runs_without_one_too(executor, tmp_path):
    data = texts()
    header = keep_in(tmp_path / "d", Dataset(data.X, data.y, data.class_names))
    assert good(executor, "WithTree", header)[0].scores["index"] == 0


def test_shared_chance_is_decided_by_the_seed_too(executor, single):
    first, again, other = (good(executor, "Rolling", single, seed=seed, split="holdout:0.25") for seed in (3, 3, 4))
    assert first[1].tolist() == again[1].tolist()
    assert first[1].tolist() != other[1].tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_thread_limit_is_in_force_and_told(executor, single, threads):
    # The server has started for one thread: OpenMP's and the linear algebra's limits can be raised later.
    answer, _ = good(executor, "Ranking", single, threads=threads)
    pools = {name: count for name, count in answer.threads_in_force.items() if name != "numba"}
    assert {name.partition(":")[0] for name in pools} >= {"openblas"}
    assert set(pools.values()) == {threads}


def test_what_a_tool_needs_before_it_learns_is_outside_the_clock_and_recorded(executor, single):
    answer, _ = good(executor, "Staging", single)
    assert 0.5 <= answer.stage_seconds < 1.0
    assert answer.fit_seconds < 0.5
    assert good(executor, "Ranking", single)[0].stage_seconds is None


def test_importing_and_whatever_happens_on_first_use_are_outside_the_clock(executor, single):
    answer, _ = good(executor, "late:Late", single)
    assert answer.import_seconds >= 0.8
    assert max(answer.fit_seconds, answer.rank_seconds) < 0.5
    answer, _ = good(executor, "SlowAtFirst", single)
    assert answer.warmup_seconds >= 1.2
    assert max(answer.fit_seconds, answer.rank_seconds) < 0.5


def test_a_learner_that_cannot_be_warmed_up_starts_cold(executor, single):
    assert good(executor, "Demanding", single)[1].tolist() == good(executor, "Centres", single)[1].tolist()


def test_peak_memory_sees_what_fit_took_even_when_it_is_freed(executor, single):
    taken = 200 * 2**20
    answer, _ = good(executor, "Hungry", single, params={"size": taken})
    assert 0.95 * taken < answer.peak_bytes - answer.base_bytes < 1.5 * taken


def test_peak_memory_does_not_see_what_was_taken_before(executor, single):
    taken = 200 * 2**20
    answer, _ = good(executor, "HungryBefore", single, params={"size": taken})
    assert 0 <= answer.peak_bytes - answer.base_bytes < taken / 4


def test_rows_are_timed_one_at_a_time_only_when_a_metric_asks_for_it(executor, single):
    names = ("r1", "predict", "predict_one", "predict_one_p99")
    metrics = [METRICS[name] for name in names]
    jobs = [job_of(trial("Ranking", single), metrics, time_single_rows=asked) for asked in (False, True)]
    without, asked = (measured_from_plain(end_of(executor, job).answer) for job in jobs)
    assert (without.single_rows, without.scores["predict_one"]) == (None, None)
    assert asked.single_rows == 60
    assert 0 < asked.scores["predict_one"] <= asked.scores["predict_one_p99"]
    assert asked.scores["r1"] == without.scores["r1"]
