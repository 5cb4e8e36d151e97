"""One trial run by the executor: measurements, and work outside the clock."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Dataset
from internals import (
    Blueprint,
    Measured,
    RepresentationPlan,
    Scorer,
    draw_split,
    field_names,
    parse_split,
    represent,
    result_from_plain,
)
from messages import assert_names
from trial_runs import METRICS, WEIGHTINGS, end_of, good, job_of, keep_in, run, score, texts, trial

HOLDOUT = parse_split("holdout:0.25")
TFIDF = RepresentationPlan(Blueprint(WEIGHTINGS["tfidf"], {}), takes_text=False)


def expected_ranks(data, seed=3, depth=10):
    """Return the ranks of the class centres, computed here."""
    train, test = draw_split(HOLDOUT, data.X.shape[0], seed, {})
    y = data.y[train]
    seen = represent(TFIDF, data.X[train], y, data.X[test])
    X, T = seen.train.toarray(), seen.test.toarray()
    centres = np.array([X[y == c].mean(axis=0) for c in np.unique(y)])
    order = np.argsort(-(T @ centres.T), axis=1, kind="stable")[:, :depth]
    return np.pad(order, ((0, 0), (0, depth - order.shape[1])), constant_values=-1), data.y[test]


def test_a_trial_has_its_phases_and_measures_the_fields_of_a_record(executor, single):
    phases = []
    answer, ranks = good(executor, "Ranking", single, phases=phases)
    assert phases == ["start", "load", "import", "warm-up", "fit", "predict", "rank", "measure"]
    facts = ("n_train", "n_test", "n_classes", "n_features", "unseen_test_rows", "ranked_by", "message")
    assert [getattr(answer, name) for name in facts] == [180, 60, 6, 40, 0, "rank", ""]
    absent = ("tune_seconds", "stage_seconds")
    seconds = [value for name, value in vars(answer).items() if name.endswith("_seconds") and name not in absent]
    assert len(seconds) == 13
    assert [getattr(answer, name) for name in absent] == [None, None]
    assert all(0 <= value < 60 for value in seconds)
    assert answer.scores.keys() == METRICS.keys()
    wanted, truth = expected_ranks(texts())
    assert ranks.dtype == np.int32
    assert ranks.tolist() == wanted.tolist()
    assert answer.scores["r1"] == pytest.approx((wanted[:, 0] == truth).mean())
    assert answer.scores["r1"] > 0.5


@pytest.mark.parametrize("learner", ["Ranking", "FailsInFit"])
def test_a_result_has_the_measured_fields_and_round_trips(executor, single, learner):
    plain = end_of(executor, job_of(trial(learner, single))).answer
    assert plain["measured"].keys() == set(field_names(Measured))
    assert json.loads(json.dumps(asdict(result_from_plain(plain)))) == plain


@pytest.mark.parametrize(("learner", "by"), [("Centres", "decision_function"), ("Predicting", "predict")])
def test_without_rank_a_trial_uses_other_methods_of_the_learner(executor, single, learner, by):
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
def test_index_size_comes_from_the_learners_attributes(executor, single, learner, size, size_source, bytes_source):
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


def test_rows_of_new_classes_and_empty_rows_are_counted(executor, tmp_path):
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


def test_several_labels_are_an_indicator_and_any_of_them_is_a_hit(executor, multi):
    answer, _ = run(executor, "Telling", multi)
    assert_names(answer.message, "csr_array", "float32", "int8", "180", "40")
    answer, ranks = good(executor, "Ranking", multi)
    _, test = draw_split(HOLDOUT, 240, 3, {})
    truth = texts(multilabel=True).y[test].toarray()
    assert answer.scores["r1"] == pytest.approx(truth[np.arange(60), ranks[:, 0]].mean())


def test_a_learner_gets_float32_rows_and_integer_labels(executor, single):
    answer, _ = run(executor, "Telling", single, params={"random_state": 42})
    assert_names(answer.message, "fit", "RuntimeError", "csr_array", "float32", "int64", "180", "40", "42")


def test_a_learner_that_needs_dense_rows_gets_them(executor, single):
    answer, _ = run(executor, "Telling", single, wants_dense=True)
    assert_names(answer.message, "float32", "int64", "180", "40")
    _, dense = good(executor, "Ranking", single, wants_dense=True)
    _, sparse = good(executor, "Ranking", single)
    assert (dense[:, 0] == sparse[:, 0]).mean() > 0.95  # rounded otherwise, but the same


@pytest.mark.parametrize(("learner", "wants"), [("WithTree", False), ("WithTree", True), ("WithAnything", True)])
def test_a_learner_whose_fit_accepts_a_taxonomy_gets_it(executor, single, learner, wants):
    answer, _ = good(executor, learner, single, wants_taxonomy=wants)
    assert answer.scores["index"] == 7


def test_a_learner_that_accepts_a_taxonomy_runs_without_one_too(executor, tmp_path):
    data = texts()
    header = keep_in(tmp_path / "d", Dataset(data.X, data.y, data.class_names))
    assert good(executor, "WithTree", header)[0].scores["index"] == 0


def test_the_global_random_state_is_seeded_too(executor, single):
    first, again, other = (good(executor, "Rolling", single, seed=seed, split="holdout:0.25") for seed in (3, 3, 4))
    assert first[1].tolist() == again[1].tolist()
    assert first[1].tolist() != other[1].tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_thread_limit_is_enforced_and_recorded(executor, single, threads):
    # The server has started for one thread: OpenMP's and the linear algebra's limits can be raised later.
    answer, _ = good(executor, "Ranking", single, threads=threads)
    pools = {name: count for name, count in answer.threads_in_force.items() if name != "numba"}
    assert {name.partition(":")[0] for name in pools} >= {"openblas"}
    assert set(pools.values()) == {threads}


def test_staging_is_outside_the_clock_and_recorded(executor, single):
    answer, _ = good(executor, "Staging", single)
    assert 0.5 <= answer.stage_seconds < 1.0
    assert answer.fit_seconds < 0.5
    assert good(executor, "Ranking", single)[0].stage_seconds is None


def test_imports_and_first_use_are_outside_the_clock(executor, single):
    answer, _ = good(executor, "late:Late", single)
    assert answer.import_seconds >= 0.8
    assert max(answer.fit_seconds, answer.rank_seconds) < 0.5
    answer, _ = good(executor, "SlowAtFirst", single)
    assert answer.warmup_seconds >= 1.2
    assert max(answer.fit_seconds, answer.rank_seconds) < 0.5


def test_a_learner_whose_warm_up_fails_starts_cold(executor, single):
    assert good(executor, "Demanding", single)[1].tolist() == good(executor, "Centres", single)[1].tolist()


def test_peak_memory_includes_memory_freed_by_fit(executor, single):
    taken = 200 * 2**20
    answer, _ = good(executor, "Hungry", single, params={"size": taken})
    assert 0.95 * taken < answer.peak_bytes - answer.base_bytes < 1.5 * taken


def test_peak_memory_excludes_memory_allocated_before(executor, single):
    taken = 200 * 2**20
    answer, _ = good(executor, "HungryBefore", single, params={"size": taken})
    assert 0 <= answer.peak_bytes - answer.base_bytes < taken / 4


def test_rows_are_timed_one_at_a_time_only_on_request(executor, single):
    names = ("r1", "predict", "predict_one", "predict_one_p99")
    scorer = Scorer([METRICS[name] for name in names])
    planned = trial("Ranking", single)
    ends = [end_of(executor, job_of(planned, time_single_rows=single_rows)) for single_rows in (False, True)]
    (without, _), (timed, _) = (score(planned, end, scorer) for end in ends)
    assert (without.single_rows, without.scores["predict_one"]) == (None, None)
    assert timed.single_rows == 20
    assert 0 < timed.scores["predict_one"] <= timed.scores["predict_one_p99"]
    assert timed.scores["r1"] == without.scores["r1"]
