"""Tuning and curves: what is chosen, from which rows, with what budget, and what a record tells of it."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness import Dataset
from harness.errors import ContractError, HarnessError, SpecError
from harness.experiment.building import build
from harness.experiment.candidates import list_candidates
from harness.experiment.plan import plan
from harness.experiment.resolve import resolve
from harness.experiment.schema import TuneTable
from harness.host import discover
from harness.metric import MetricCall
from harness.split import parse_split
from harness.trials.clock import Clock
from harness.trials.running import run_trial
from harness.trials.splitting import draw_split
from harness.trials.trial import TrialJob, TuningPlan
from harness.trials.tune import tune
from learners import SlowToRank
from trial_runs import keep_in, trial

ANY = {"pa": {"C": [1]}}
GRID = TuneTable(params=ANY, split="holdout:0.25")
NEIGHBOURS = "sklearn.neighbors:KNeighborsClassifier"
R1 = MetricCall("r1", "harness_metrics.ranking:r1")
SPLIT = parse_split("holdout:0.2")


def drawn(rows=120, classes=4, seed=0):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, classes, rows)
    y[:classes] = np.arange(classes)
    X = generator.random((rows, 12)) + 0.6 * (y[:, None] == np.arange(12) % classes)
    X[generator.random(X.shape) < 0.3] = 0  # of a feature that every row has, idf would leave nothing
    return X.astype(np.float32), y


def plan_of(candidates, seconds=None, direction="higher"):
    return TuningPlan(
        split=parse_split("holdout:0.25"),
        judge=R1,
        direction=direction,
        candidates=tuple(candidates),
        seconds=seconds,
    )


def a_trial(folder, X, y, *, learner=NEIGHBOURS, candidates=None, **changes):
    header = keep_in(folder, Dataset(csr_array(X), y, ("a", "b", "c", "d")))
    known = {
        "split": str(SPLIT),
        "seed": 0,
        "depth": 4,
        "tuning_plan": plan_of(candidates) if candidates else None,
    }
    return trial(learner, header, **known | changes)


def silent(phase):
    pass


def run(trial):
    return run_trial(TrialJob(trial=trial, metrics=(R1,)), silent)[0]


SIZES = [{"n_neighbors": n} for n in (1, 3, 9, 25)]


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), trial_seed=st.integers(0, 1000))
def test_whatever_the_test_rows_hold_the_choice_is_the_same(tmp_path_factory, seed, trial_seed):
    X, y = drawn(seed=seed)
    _, test = draw_split(SPLIT, len(y), trial_seed, {})
    other_X, other_y = X.copy(), y.copy()
    other_X[test] = np.random.default_rng(seed + 1).random((len(test), 12)) * 50
    other_y[test] = (y[test] + 1) % 4
    folders = tmp_path_factory.mktemp("kept")
    one = run(a_trial(folders / "one", X, y, candidates=SIZES, seed=trial_seed))
    two = run(a_trial(folders / "two", other_X, other_y, candidates=SIZES, seed=trial_seed))
    assert one.tuned == two.tuned
    assert [entry.score for entry in one.tuning] == [entry.score for entry in two.tuning]


def test_the_best_on_the_validation_rows_is_chosen_and_trained_on_all_training_rows(tmp_path):
    X, y = drawn()
    measured = run(a_trial(tmp_path / "kept", X, y, candidates=SIZES))
    scores = [entry.score for entry in measured.tuning]
    assert min(scores) < max(scores)
    assert measured.tuned == SIZES[scores.index(max(scores))]
    fixed = run(a_trial(tmp_path / "kept", X, y, params=measured.tuned))
    assert measured.scores == fixed.scores
    assert measured.n_train == fixed.n_train == 96
    assert measured.tune_seconds > 0
    assert (fixed.tuned, fixed.tuning, fixed.tune_seconds) == ({}, (), None)


def test_a_lower_score_is_better_where_the_metric_says_so(tmp_path):
    X, y = drawn()
    trial = a_trial(tmp_path / "kept", X, y, candidates=SIZES)
    higher, lower = (run(replace(trial, tuning_plan=plan_of(SIZES, direction=way))) for way in ("higher", "lower"))
    scores = [entry.score for entry in higher.tuning]
    assert min(scores) < max(scores)
    assert higher.tuned == SIZES[scores.index(max(scores))]
    assert lower.tuned == SIZES[scores.index(min(scores))]


def test_a_candidate_that_fails_is_out_of_the_race_and_says_why(tmp_path):
    X, y = drawn()
    measured = run(a_trial(tmp_path / "kept", X, y, candidates=[{"n_neighbors": -1}, {"n_neighbors": 3}]))
    assert measured.tuned == {"n_neighbors": 3}
    assert measured.tuning[0].score is None
    assert "n_neighbors" in measured.tuning[0].trouble


def test_a_trial_whose_every_candidate_fails_says_so(tmp_path):
    X, y = drawn()
    trial = a_trial(tmp_path / "kept", X, y, candidates=[{"n_neighbors": -1}, {"n_neighbors": 0}])
    with pytest.raises(ContractError, match=r"none of 2 candidates has a score; \{'n_neighbors': -1\}: Invalid"):
        run(trial)


def test_a_trial_none_of_whose_candidates_has_room_lacks_memory(tmp_path):
    X, y = drawn()
    params = [{"size": 3}, {"size": 4}]
    trial = a_trial(tmp_path / "kept", X, y, learner="learners:Sized", candidates=params)
    with pytest.raises(MemoryError, match="no room for 3"):
        run(trial)
    measured = run(a_trial(tmp_path / "less", X, y, learner="learners:Sized", candidates=[*params, {"size": 1}]))
    assert measured.tuned == {"size": 1}
    assert measured.tuning[0].trouble == "MemoryError: no room for 3"


def test_no_candidate_begins_when_the_time_is_up_but_one_always_does(tmp_path):
    X, y = drawn()
    found = tune(a_trial(tmp_path / "kept", X, y), plan_of(SIZES, seconds=1e-9), silent)
    assert [entry.params for entry in found.log] == SIZES[:1]


def test_phases_tell_how_far_tuning_is(tmp_path):
    X, y = drawn()
    phases = []
    tune(a_trial(tmp_path / "kept", X, y), plan_of(SIZES), phases.append)
    assert phases == ["tune 1/4", "tune 2/4", "tune 3/4", "tune 4/4"]


# -- curves


def test_a_curve_has_a_point_for_each_pass_and_ends_at_the_trials_own_score(tmp_path):
    X, y = drawn()
    params = {"passes": 4, "random_state": 0}
    trial = a_trial(tmp_path / "kept", X, y, learner="harness_prototype.pa:PA", params=params)
    plain, drawn_out = run(trial), run(replace(trial, curves=True))
    assert [point.passes for point in drawn_out.curve] == [1, 2, 3, 4]
    assert drawn_out.curve[-1].scores["r1"] == drawn_out.scores["r1"] == plain.scores["r1"]
    assert plain.curve == ()


def test_what_a_curve_takes_is_not_training_time(tmp_path):
    X, y = drawn()
    measured = run(a_trial(tmp_path / "kept", X, y, learner="learners:SlowToRank", curves=True))
    assert [point.passes for point in measured.curve] == [1, 2]
    assert measured.rank_seconds >= SlowToRank.seconds
    assert measured.fit_seconds < SlowToRank.seconds


def test_a_learner_without_passes_has_no_curve(tmp_path):
    X, y = drawn()
    assert run(a_trial(tmp_path / "kept", X, y, curves=True)).curve == ()


def test_a_paused_clock_counts_nothing_of_the_pause():
    clock = Clock()
    with clock.running(), clock.paused():
        time.sleep(0.3)
        seen = clock.wall
    assert 0 <= seen < 0.3
    assert seen <= clock.wall < 0.3


# -- what is asked for


def test_a_grid_is_tried_in_the_order_written():
    candidates = list_candidates("pa", {"C": [1, 2], "passes": [5, 3]}, GRID, 0)
    assert candidates == [{"C": c, "passes": p} for c in (1, 2) for p in (5, 3)]


def test_a_grid_takes_no_range_and_has_a_limit():
    with pytest.raises(SpecError, match=r"pa\.C is a range, which only search = 'random'"):
        list_candidates("pa", {"C": {"low": 1, "high": 2}}, GRID, 0)
    with pytest.raises(SpecError, match=r"1,000,000 combinations, more than 10,000: use search = 'random'"):
        list_candidates("pa", {name: list(range(100)) for name in "abc"}, GRID, 0)


@given(seed=st.integers(0, 2**31 - 1), count=st.integers(1, 30))
def test_random_candidates_lie_in_their_ranges_and_never_repeat(seed, count):
    ranges = {"C": {"low": 0.01, "high": 100.0, "log": True}, "passes": {"low": 1, "high": 9}, "loss": ["a", "b"]}
    search = TuneTable(params=ANY, search="random", candidates=count)
    candidates = list_candidates("pa", ranges, search, seed)
    assert len(candidates) == count
    assert all(a != b for i, a in enumerate(candidates) for b in candidates[:i])
    assert candidates[0] == {}  # as it is set up
    drawn = candidates[1:]
    assert all(0.01 <= c["C"] <= 100 and 1 <= c["passes"] <= 9 and c["loss"] in "ab" for c in drawn)
    assert all(isinstance(c["passes"], int) for c in drawn)
    assert candidates == list_candidates("pa", ranges, search, seed)


def test_a_small_list_is_not_drawn_from_more_often_than_it_has_values():
    search = TuneTable(params=ANY, search="random", candidates=50)
    assert len(list_candidates("pa", {"C": [1, 2, 3]}, search, 0)) == 1 + 3


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "kept"
    return keep_in(folder, Dataset(csr_array(drawn()[0]), drawn()[1], ("a", "b", "c", "d")))


def planned(header, tune, **other):
    raw = {"learners": ["pa", "small=pa(C=0.1)"], "datasets": ["digits"], "trials": 2, "tune": tune, **other}
    catalog = discover()
    resolved = resolve(build(raw, "file.toml"), catalog)
    return plan(resolved, {"digits": header})


def test_a_learner_is_tuned_by_its_label_and_others_are_left_alone(header):
    trials = planned(header, {"params": {"small": {"passes": [1, 2]}}})
    tuned = {(trial.label, trial.number): trial.tuning_plan for trial in trials}
    assert tuned["pa", 0] is None
    assert tuned["small", 1].candidates == ({"passes": 1}, {"passes": 2})
    assert tuned["small", 0].judge == R1
    assert tuned["small", 0].direction == "higher"


def test_what_is_tuned_decides_the_key_and_so_do_curves(header):
    plain, tuned, more = (planned(header, {"params": {"pa": {"C": grid}}})[0] for grid in ([1], [1, 2], [1, 2, 3]))
    curved = planned(header, {"params": {"pa": {"C": [1]}}}, curves=True)[0]
    assert len({plain.key, tuned.key, more.key, curved.key}) == 4


def test_what_is_to_be_tuned_is_told_alike_for_every_seed_and_otherwise_for_other_values(header):
    drawn = {"params": {"pa": {"C": {"low": 0.1, "high": 10.0}}}, "search": "random", "candidates": 3, "time": "9s"}
    trials = planned(header, drawn)
    tuned = [trial for trial in trials if trial.label == "pa"]
    assert tuned[0].tuning_plan.candidates != tuned[1].tuning_plan.candidates
    told = "tuned C={'log': False, 'low': 0.1, 'high': 10.0}; r1 on holdout:0.1; 3 by chance; 9 s"
    assert [trial.to_tune for trial in tuned] == [told, told]
    assert {trial.to_tune for trial in trials if trial.label == "small"} == {""}
    assert planned(header, {"params": {"pa": {"C": [1, 2]}}})[0].to_tune == "tuned C=[1, 2]; r1 on holdout:0.1"


@pytest.mark.parametrize(
    ("tune", "told"),
    [
        ({"params": {"no": {"C": [1]}}}, r"tune\.params\.no matches no learner of this run \(pa, small\)"),
        ({"params": {"pa": {"D": [1]}}}, r"tune: learner 'pa' has no parameter 'D'"),
        ({"params": {"pa": {"C": []}}}, r"tune\.params\.pa\.C: expected a list of values"),
        ({"params": {}}, "tune: expected params or representation: there is nothing to tune"),
        ({"params": {"pa": {"C": [1]}}, "search": "random"}, "needs candidates = NUMBER"),
        ({"params": {"pa": {"C": [1]}}, "candidates": 3}, "and a grid takes none"),
        ({"params": {"pa": {"C": [1]}}, "split": "given"}, "a share of the training"),
        ({"params": {"pa": {"C": {"low": 2, "high": 1}}}}, "with low < high"),
        ({"params": {"pa": {"C": {"low": 0, "high": 1, "log": True}}}}, "low > 0 where log = true"),
        ({"params": {"pa": {"C": [1]}}, "metric": "r77x"}, "r77x"),
        ({"params": {"pa": {"C": [1]}}, "splitt": "x"}, "unknown key tune.splitt: did you mean 'split'"),
        ({"params": {"pa": {"C": [1]}}, "time": "soon"}, "a time such as 90s"),
    ],
)
def test_a_bad_tune_table_is_refused_before_any_work(header, tune, told):
    with pytest.raises(HarnessError, match=told):
        planned(header, tune)
