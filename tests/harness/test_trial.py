"""One trial, as the executor runs it: what it measures, what stays outside the clock, what it will not accept."""

import io
import textwrap
from dataclasses import asdict, fields

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Dataset, Taxonomy
from harness.data import checked, keep, read_header
from harness.executors.local import Job, LocalExecutor
from harness.plan import Trial
from harness.record import Record
from harness.represent import represent
from harness.split import split_rows
from harness_metrics.plugin import harness_metrics

METRICS = {spec.name: spec.compute for spec in harness_metrics()}
LEARNERS = textwrap.dedent(
    '''
    """Learners for the tests: nearest class centres, with all kinds of habits."""

    import sys
    import time

    import numpy as np
    from scipy.sparse import csr_array, issparse


    class Centres:
        """The least a learner needs, and a decision_function."""

        def __init__(self, *, size=0, random_state=None):
            self.size = size
            self.random_state = random_state

        def fit(self, X, y):
            self.classes_ = np.arange(y.shape[1]) if issparse(y) else np.unique(y)
            member = y if issparse(y) else csr_array((y[:, None] == self.classes_).astype(np.float64))
            counts = np.maximum(np.asarray(member.sum(axis=0)).ravel(), 1)
            self.centres_ = (member.T @ X).T / counts
            return self

        def decision_function(self, X):
            scores = X @ self.centres_
            return scores.toarray() if issparse(scores) else np.asarray(scores)

        def predict(self, X):
            return self.classes_[self.decision_function(X).argmax(axis=1)]


    class Ranking(Centres):
        def rank(self, X, k):
            order = np.argsort(-self.decision_function(X), axis=1, kind="stable")[:, :k].astype(np.int32)
            return np.pad(order, ((0, 0), (0, k - order.shape[1])), constant_values=-1)


    class Predicting:
        def fit(self, X, y):
            self.centres = Centres().fit(X, y)
            return self

        def predict(self, X):
            return self.centres.predict(X)


    class Counting(Centres):
        index_size_ = 123
        index_bytes_ = 4567

        def edges_touched(self, X):
            return np.float32(2.5)


    class DenseCoefficients(Centres):
        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, -3.0]])
            return self


    class SparseCoefficients(Centres):
        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ = csr_array(np.array([[0.0, 1.0], [2.0, 0.0]]))
            return self


    class Unpicklable(Centres):
        def fit(self, X, y):
            self.function = lambda: None
            return super().fit(X, y)


    class SlowAtFirst(Ranking):
        """Its first fit and its first rank take as long as if something were compiled."""

        fitted = ranked = False

        def fit(self, X, y):
            if not SlowAtFirst.fitted:
                time.sleep(0.6)
            SlowAtFirst.fitted = True
            return super().fit(X, y)

        def rank(self, X, k):
            if not SlowAtFirst.ranked:
                time.sleep(0.6)
            SlowAtFirst.ranked = True
            return super().rank(X, k)


    class Demanding(Centres):
        """Refuses to train on few rows, such as those of the warm-up."""

        def fit(self, X, y):
            if X.shape[0] < 100:
                raise ValueError("too few rows")
            return super().fit(X, y)


    class Telling(Centres):
        """Tells what it was given, by way of its answer."""

        def fit(self, X, y):
            words = [type(X).__name__, X.dtype, type(y).__name__, y.dtype, X.shape, self.random_state]
            raise RuntimeError(" ".join(map(str, words)))


    class Rolling(Centres):
        """Uses the chance that everybody shares."""

        def fit(self, X, y):
            import random

            super().fit(X, y)
            self.centres_ = np.random.rand(*self.centres_.shape) + random.random() * np.random.rand(
                *self.centres_.shape
            )
            return self


    class WithTree(Centres):
        def fit(self, X, y, *, taxonomy=None):
            super().fit(X, y)
            self.index_size_ = 0 if taxonomy is None else len(taxonomy.parent)
            return self


    class WithAnything(Centres):
        def fit(self, X, y, **given):
            super().fit(X, y)
            self.index_size_ = len(given["taxonomy"].parent)
            return self


    class Hungry(Centres):
        def fit(self, X, y):
            if X.shape[0] > 100:
                block = np.ones(self.size, np.uint8)
                del block
            return super().fit(X, y)


    class HungryBefore(Centres):
        """Takes memory in the warm-up only."""

        def fit(self, X, y):
            if X.shape[0] < 100:
                block = np.ones(self.size, np.uint8)
                del block
            return super().fit(X, y)


    # -- those that change what they were given


    class ChangesValues(Centres):
        def fit(self, X, y):
            super().fit(X, y)
            if issparse(X):
                X.data[0] *= 2
            else:
                X[0, 0] += 1
            return self


    class ChangesPlaces(Centres):
        def fit(self, X, y):
            super().fit(X, y)
            X.indices[0] = X.indices[0] + 1
            return self


    class ReplacesValues(Centres):
        def fit(self, X, y):
            super().fit(X, y)
            X.data = np.repeat(X.data, 2)[::2] * 2
            return self


    class ChangesLabels(Centres):
        def fit(self, X, y):
            super().fit(X, y)
            if issparse(y):
                y.data[0] = 0
            else:
                y[0] = 1 - min(y[0], 1)
            return self


    class ChangesTestRows(Ranking):
        def rank(self, X, k):
            answer = super().rank(X, k)
            X.data[:] = 0
            return answer


    class ChangesTrainingRowsLater(Ranking):
        def fit(self, X, y):
            self.X = X
            return super().fit(X, y)

        def rank(self, X, k):
            self.X.data[:] = 0
            return super().rank(X, k)


    # -- those that fail


    class FailsInInit(Centres):
        def __init__(self):
            raise ValueError("cannot be made")


    class FailsInFit(Centres):
        def fit(self, X, y):
            raise ValueError("cannot\\n  be\\ttrained " + "x" * 10_000)


    class FailsInRank(Ranking):
        def rank(self, X, k):
            raise ValueError("cannot rank")


    class Exits(Centres):
        def fit(self, X, y):
            sys.exit("good bye")


    class OutOfMemory(Centres):
        def fit(self, X, y):
            raise MemoryError("no room")


    class WrongShape(Ranking):
        def rank(self, X, k):
            return super().rank(X, k)[:, :-1]


    class WrongType(Ranking):
        def rank(self, X, k):
            return super().rank(X, k).astype(float)


    class WrongClass(Ranking):
        def rank(self, X, k):
            return super().rank(X, k) + 1000


    class NoClasses(Ranking):
        def fit(self, X, y):
            super().fit(X, y)
            del self.classes_
            return self


    # -- metrics


    def fails(outcome):
        raise RuntimeError("no value")


    def gives_nan(outcome):
        return float("nan")


    def gives_text(outcome):
        return "much"


    def gives_nothing(outcome):
        return None


    def gives_whole(outcome):
        return np.int64(7)
    '''
)
SLOW_IMPORT = "import time\n\ntime.sleep(0.8)\nfrom learners import Ranking as Late\n"


@pytest.fixture(scope="module")
def executor(tmp_path_factory, marked):
    folder = tmp_path_factory.mktemp("learners")
    (folder / "learners.py").write_text(LEARNERS)
    (folder / "late.py").write_text(SLOW_IMPORT)
    with LocalExecutor(preload=["harness.trial"], path=[str(folder)]) as executor:
        yield executor


def texts(rows=240, classes=6, features=40, multilabel=False):
    """Rows of words, most of them their class's own; also the class tree and a fixed split."""
    generator = np.random.default_rng(5)
    y = np.concatenate([np.arange(classes), generator.integers(0, classes, rows - classes)])
    X = generator.poisson(0.15, (rows, features)) + 2 * (y[:, None] == np.arange(features) % classes)
    X[generator.random((rows, features)) < 0.3] = 0
    labels = csr_array((y[:, None] == np.arange(classes)) | (generator.random((rows, classes)) < 0.1))
    return Dataset(
        X=csr_array(X.astype(np.float32)),
        y=labels.astype(np.int8) if multilabel else y,
        class_names=tuple(f"c{c}" for c in range(classes)),
        taxonomy=Taxonomy(np.array([-1, *[0] * classes]), 1 + np.arange(classes)),
    )


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    return keep_in(tmp_path_factory.mktemp("single") / "data", texts())


@pytest.fixture(scope="module")
def multi(tmp_path_factory):
    return keep_in(tmp_path_factory.mktemp("multi") / "data", texts(multilabel=True))


def keep_in(folder, data):
    keep(checked("texts", data), folder)
    return read_header(folder)


def trial(learner, header, **changes):
    known = {
        "key": "k",
        "label": learner,
        "learner": learner,
        "learner_load": learner if ":" in learner else f"learners:{learner}",
        "learner_kind": "flat",
        "learner_distribution": "here",
        "learner_version": "1",
        "params": {},
        "inner": None,
        "wants_dense": False,
        "wants_taxonomy": False,
        "dataset": "texts",
        "dataset_params": {},
        "data_folder": header.folder,
        "fingerprint": header.fingerprint,
        "representation": "tfidf",
        "split": "holdout:0.25",
        "number": 0,
        "seed": 3,
        "depth": 10,
    }
    return asdict(Trial(**known | changes))


def run(executor, learner, header, *, metrics=None, threads=1, phases=None, **changes):
    """The answer of a trial and its ranks."""
    payload = {
        "trial": trial(learner, header, **changes),
        "metrics": METRICS if metrics is None else metrics,
        "threads": threads,
    }
    on_phase = None if phases is None else lambda _, phase: phases.append(phase)
    ((_, end),) = executor.run([Job("harness.trial:run_job", payload, timeout_seconds=120)], on_phase=on_phase)
    assert end.status == "ok", end.output  # the process ended well, whatever the trial's own status
    return end.answer, None if end.blob is None else np.load(io.BytesIO(end.blob))


def good(executor, learner, header, **changes):
    answer, ranks = run(executor, learner, header, **changes)
    assert answer["status"] == "ok", answer
    return answer, ranks


def expected_ranks(data, seed=3, depth=10):
    """What the class centres must rank, computed here."""
    train, test = split_rows("holdout:0.25", data.X.shape[0], seed, {})
    X, T = (part.toarray() for part in represent("tfidf", data.X[train], data.X[test]))
    y = data.y[train]
    centres = np.array([X[y == c].mean(axis=0) for c in np.unique(y)])
    order = np.argsort(-(T @ centres.T), axis=1, kind="stable")[:, :depth]
    return np.pad(order, ((0, 0), (0, depth - order.shape[1])), constant_values=-1), data.y[test]


# -- what it measures ------------------------------------------------------------------------------------------------


def test_a_trial_answers_with_fields_of_a_record_and_goes_through_its_phases(executor, single):
    phases = []
    answer, ranks = good(executor, "Ranking", single, phases=phases)
    assert phases == ["start", "load", "import", "warm-up", "fit", "rank", "measure"]
    assert answer.keys() <= {field.name for field in fields(Record)}
    facts = ("n_train", "n_test", "n_classes", "n_features", "unseen_test_rows", "ranked_by", "message")
    assert [answer[name] for name in facts] == [180, 60, 6, 40, 0, "rank", ""]
    seconds = [value for name, value in answer.items() if name.endswith("_seconds")]
    assert len(seconds) == 7
    assert all(0 <= value < 60 for value in seconds)
    assert answer["scores"].keys() == METRICS.keys()
    wanted, truth = expected_ranks(texts())
    assert ranks.dtype == np.int32
    assert ranks.tolist() == wanted.tolist()
    assert answer["scores"]["r1"] == pytest.approx((wanted[:, 0] == truth).mean())
    assert answer["scores"]["r1"] > 0.5


@pytest.mark.parametrize(("learner", "by"), [("Centres", "decision_function"), ("Predicting", "predict")])
def test_without_rank_the_trial_ranks_by_what_the_learner_has(executor, single, learner, by):
    answer, ranks = good(executor, learner, single)
    wanted, _ = expected_ranks(texts())
    assert answer["ranked_by"] == by
    assert ranks[:, 0].tolist() == wanted[:, 0].tolist()
    assert (ranks[:, 1:] >= 0).any() == (by != "predict")


@pytest.mark.parametrize(
    ("learner", "size", "source"),
    [
        ("Counting", 123, "index_size_"),
        ("DenseCoefficients", 3, "coef_"),
        ("SparseCoefficients", 2, "coef_"),
        ("Centres", None, "pickle"),
        ("Unpicklable", None, "pickle"),
    ],
)
def test_the_index_is_measured_by_what_the_learner_tells(executor, single, learner, size, source):
    answer, _ = good(executor, learner, single)
    assert (answer["scores"]["index"], answer["index_source"]) == (size, source)
    size_bytes = answer["scores"]["index_bytes"]
    if learner == "Counting":
        assert (size_bytes, answer["scores"]["edges"]) == (4567, 2.5)
    elif learner == "Unpicklable":
        assert size_bytes is None
    else:
        assert size_bytes > 100


def test_a_test_row_whose_classes_are_new_and_an_empty_one_are_counted(executor, tmp_path):
    X = csr_array(np.array([[1, 1, 0], [0, 2, 1], [1, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]], np.float32))
    split = {"fixed": (np.array([0, 1, 2]), np.array([3, 4, 5]))}
    data = Dataset(X, np.array([0, 1, 0, 1, 2, 2]), ("a", "b", "c"), splits=split)
    answer, ranks = good(executor, "Ranking", keep_in(tmp_path / "d", data), split="given:fixed", representation="raw")
    assert (answer["unseen_test_rows"], answer["empty_test_rows"]) == (2, 2)
    assert ranks.max() == 1

    several = csr_array(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    data = Dataset(X, several, ("a", "b", "c", "d"), splits=split)
    answer, _ = good(executor, "Ranking", keep_in(tmp_path / "m", data), split="given:fixed", representation="raw")
    assert (answer["unseen_test_rows"], answer["empty_test_rows"]) == (2, 2)
    dense = {"split": "given:fixed", "representation": "raw", "wants_dense": True}
    answer, _ = good(executor, "Ranking", keep_in(tmp_path / "m", data), **dense)
    assert answer["empty_test_rows"] == 2


def test_several_labels_a_row_arrive_as_an_indicator_and_any_of_them_is_right(executor, multi):
    answer, _ = run(executor, "Telling", multi)
    assert "csr_array float32 csr_array int8 (180, 40)" in answer["message"]
    answer, ranks = good(executor, "Ranking", multi)
    _, test = split_rows("holdout:0.25", 240, 3, {})
    truth = texts(multilabel=True).y[test].toarray()
    assert answer["scores"]["r1"] == pytest.approx(truth[np.arange(60), ranks[:, 0]].mean())


def test_a_learner_gets_single_precision_rows_and_whole_labels(executor, single):
    answer, _ = run(executor, "Telling", single, params={"random_state": 42})
    assert answer["message"] == "during fit: RuntimeError: csr_array float32 ndarray int64 (180, 40) 42"


def test_a_learner_that_wants_dense_rows_gets_them(executor, single):
    answer, _ = run(executor, "Telling", single, wants_dense=True)
    assert "ndarray float32 ndarray int64 (180, 40)" in answer["message"]
    _, dense = good(executor, "Ranking", single, wants_dense=True)
    _, sparse = good(executor, "Ranking", single)
    assert (dense[:, 0] == sparse[:, 0]).mean() > 0.95  # rounded otherwise, but the same


@pytest.mark.parametrize(("learner", "wants"), [("WithTree", False), ("WithTree", True), ("WithAnything", True)])
def test_a_learner_whose_fit_takes_the_class_tree_gets_it(executor, single, learner, wants):
    answer, _ = good(executor, learner, single, wants_taxonomy=wants)
    assert answer["scores"]["index"] == 7


def test_a_learner_that_takes_the_class_tree_runs_without_one_too(executor, tmp_path):
    data = texts()
    header = keep_in(tmp_path / "d", Dataset(data.X, data.y, data.class_names))
    assert good(executor, "WithTree", header)[0]["scores"]["index"] == 0


def test_shared_chance_is_decided_by_the_seed_too(executor, single):
    first, again, other = (good(executor, "Rolling", single, seed=seed, split="holdout:0.25") for seed in (3, 3, 4))
    assert first[1].tolist() == again[1].tolist()
    assert first[1].tolist() != other[1].tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_thread_limit_is_in_force_and_told(executor, single, threads):
    # The server has started for one thread: OpenMP's and the linear algebra's limits can be raised later.
    answer, _ = good(executor, "Ranking", single, threads=threads)
    pools = {name: count for name, count in answer["threads_in_force"].items() if name != "numba"}
    assert {name.partition(":")[0] for name in pools} >= {"openblas"}
    assert set(pools.values()) == {threads}


# -- the clock and the memory ----------------------------------------------------------------------------------------


def test_importing_and_whatever_happens_on_first_use_are_outside_the_clock(executor, single):
    answer, _ = good(executor, "late:Late", single)
    assert answer["import_seconds"] >= 0.8
    assert max(answer["fit_seconds"], answer["rank_seconds"]) < 0.5
    answer, _ = good(executor, "SlowAtFirst", single)
    assert answer["warmup_seconds"] >= 1.2
    assert max(answer["fit_seconds"], answer["rank_seconds"]) < 0.5


def test_a_learner_that_cannot_be_warmed_up_starts_cold(executor, single):
    assert good(executor, "Demanding", single)[1].tolist() == good(executor, "Centres", single)[1].tolist()


def test_peak_memory_sees_what_fit_took_even_when_it_is_freed(executor, single):
    taken = 200 * 2**20
    answer, _ = good(executor, "Hungry", single, params={"size": taken})
    assert 0.95 * taken < answer["peak_bytes"] - answer["base_bytes"] < 1.5 * taken


def test_peak_memory_does_not_see_what_was_taken_before(executor, single):
    taken = 200 * 2**20
    answer, _ = good(executor, "HungryBefore", single, params={"size": taken})
    assert 0 <= answer["peak_bytes"] - answer["base_bytes"] < taken / 4


# -- what it will not accept -----------------------------------------------------------------------------------------


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
    assert answer["status"] == "error"
    assert answer["message"].startswith(message)
    assert "Traceback" in answer["traceback"]
    assert ranks is None
    assert answer.keys() <= {field.name for field in fields(Record)}


def test_a_learner_that_changes_several_labels_a_row_is_caught(executor, multi):
    answer, _ = run(executor, "ChangesLabels", multi)
    assert answer["message"].startswith("during fit: the learner changed y")


def test_a_long_message_becomes_one_short_line_and_stays_whole_in_the_traceback(executor, single):
    answer, _ = run(executor, "FailsInFit", single)
    assert answer["message"].startswith("during fit: ValueError: cannot be trained xxx")
    assert len(answer["message"]) < 500
    assert "x" * 10_000 in answer["traceback"]


def test_running_out_of_memory_by_itself_is_a_memory_failure(executor, single):
    answer, _ = run(executor, "OutOfMemory", single)
    assert answer["status"] == "memory"
    assert answer["message"] == "during fit: MemoryError: no room"


def test_rows_are_timed_one_at_a_time_only_when_a_metric_asks_for_it(executor, single):
    names = ("r1", "predict", "predict_one", "predict_one_p99")
    payload = {"trial": trial("Ranking", single), "metrics": {name: METRICS[name] for name in names}, "threads": 1}
    jobs = [Job("harness.trial:run_job", {**payload, "single": asked}, timeout_seconds=120) for asked in (False, True)]
    without, asked = (end.answer for _, end in executor.run(jobs))
    assert (without["single_rows"], without["scores"]["predict_one"]) == (None, None)
    assert asked["single_rows"] == 60
    assert 0 < asked["scores"]["predict_one"] <= asked["scores"]["predict_one_p99"]
    assert asked["scores"]["r1"] == without["scores"]["r1"]


def test_a_metric_that_fails_costs_its_own_column_only(executor, single):
    bad = {name: f"learners:{name}" for name in ("fails", "gives_nan", "gives_text", "gives_nothing", "gives_whole")}
    metrics = {**bad, "lost": "nowhere:nothing", "r1": METRICS["r1"]}
    answer, ranks = good(executor, "Ranking", single, metrics=metrics)
    assert ranks.shape == (60, 10)
    scores = answer["scores"]
    assert scores.keys() == metrics.keys()
    assert scores["r1"] > 0.5
    assert scores["gives_whole"] == 7.0
    assert [name for name, value in scores.items() if value is None] == [*list(bad)[:4], "lost"]
    for words in ("'fails' failed: RuntimeError: no value", "'gives_nan'", "'gives_text'", "'lost'"):
        assert words in answer["message"]
    assert "gives_nothing" not in answer["message"]
