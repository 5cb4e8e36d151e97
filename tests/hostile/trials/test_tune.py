"""Tuning and curves: the choice, its rows, its budget, and the record."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from discovery_reports import BUILT_IN
from harness import Dataset
from harness.errors import ContractError, HarnessError, SpecError
from internals import (
    Clock,
    MetricCall,
    TuneTable,
    TuningPlan,
    build,
    discover,
    draw_split,
    list_candidates,
    parameters_of,
    parse_split,
    plan,
    resolve,
    tune,
)
from learners import SlowToRank
from messages import assert_names, naming
from trial_runs import METRICS, keep_in, opened, run_here, trial

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
    return run_here(trial, metrics=[METRICS["r1"]])[0]


SIZES = [{"n_neighbors": n} for n in (1, 3, 9, 25)]


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), trial_seed=st.integers(0, 1000))
def test_rows_never_affect_the_choice(tmp_path_factory, seed, trial_seed):
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


def test_the_best_candidate_on_validation_rows_is_trained_on_all_training_rows(tmp_path):
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


def test_a_lower_score_wins_for_lower_is_better_metrics(tmp_path):
    X, y = drawn()
    trial = a_trial(tmp_path / "kept", X, y, candidates=SIZES)
    higher, lower = (run(replace(trial, tuning_plan=plan_of(SIZES, direction=way))) for way in ("higher", "lower"))
    scores = [entry.score for entry in higher.tuning]
    assert min(scores) < max(scores)
    assert higher.tuned == SIZES[scores.index(max(scores))]
    assert lower.tuned == SIZES[scores.index(min(scores))]


def test_a_failed_candidate_is_excluded_with_its_reason(tmp_path):
    X, y = drawn()
    measured = run(a_trial(tmp_path / "kept", X, y, candidates=[{"n_neighbors": -1}, {"n_neighbors": 3}]))
    assert measured.tuned == {"n_neighbors": 3}
    assert measured.tuning[0].score is None
    assert "n_neighbors" in measured.tuning[0].trouble


def test_a_trial_whose_candidates_all_fail_is_an_error(tmp_path):
    X, y = drawn()
    trial = a_trial(tmp_path / "kept", X, y, candidates=[{"n_neighbors": -1}, {"n_neighbors": 0}])
    with pytest.raises(ContractError, match=naming("2", "n_neighbors", "-1")):
        run(trial)


def test_a_trial_whose_candidates_all_lack_memory_is_a_memory_failure(tmp_path):
    X, y = drawn()
    params = [{"size": 3}, {"size": 4}]
    trial = a_trial(tmp_path / "kept", X, y, learner="learners:Sized", candidates=params)
    with pytest.raises(MemoryError, match="no room for 3"):
        run(trial)
    measured = run(a_trial(tmp_path / "less", X, y, learner="learners:Sized", candidates=[*params, {"size": 1}]))
    assert measured.tuned == {"size": 1}
    assert_names(measured.tuning[0].trouble, "MemoryError", "3")


def test_no_candidate_starts_after_the_time_limit_except_the_first(tmp_path):
    X, y = drawn()
    found = tune(*opened(a_trial(tmp_path / "kept", X, y)), plan_of(SIZES, seconds=1e-9), silent)
    assert [entry.params for entry in found.log] == SIZES
    assert [entry.is_tried for entry in found.log] == [True, False, False, False]
    assert found.params == SIZES[0]


def test_every_representation_is_tried_once_in_any_time(tmp_path):
    X, y = drawn()
    trial = a_trial(tmp_path / "kept", X, y)
    ways = ("plain", "again", "third")
    candidates = [{"n_neighbors": n, "representation": way} for n in (1, 3) for way in ways]
    representations = dict.fromkeys(ways, trial.representing)
    found = tune(*opened(trial), replace(plan_of(candidates, seconds=1e-9), representations=representations), silent)
    assert [entry.is_tried for entry in found.log] == [True] * 3 + [False] * 3
    assert {entry.params["n_neighbors"] for entry in found.log[:3]} == {1}


@pytest.mark.parametrize(
    ("seconds", "timeout", "most"),
    [(None, None, 0), (None, 10, 40), (60, None, 0), (60, 10, 60 + 10)],
)
def test_tuning_has_a_separate_time_limit(seconds, timeout, most):
    assert plan_of(SIZES, seconds=seconds).most_seconds(timeout) == most


def test_with_a_time_limit_the_first_candidate_of_each_representation_may_take_as_long_as_a_trial(tmp_path):
    trial = a_trial(tmp_path / "kept", *drawn())
    several = replace(plan_of(SIZES, seconds=60), representations=dict.fromkeys("abc", trial.representing))
    assert several.most_seconds(10) == 60 + 3 * 10


def test_phases_show_the_progress_of_tuning(tmp_path):
    X, y = drawn()
    phases = []
    tune(*opened(a_trial(tmp_path / "kept", X, y)), plan_of(SIZES), phases.append)
    assert phases == ["tune 1/4", "tune 2/4", "tune 3/4", "tune 4/4"]


# -- curves


def test_a_curve_has_a_point_per_pass_and_ends_at_the_trials_score(tmp_path):
    X, y = drawn()
    params = {"passes": 4, "random_state": 0}
    trial = a_trial(tmp_path / "kept", X, y, learner="harness_prototype.pa:PA", params=params)
    plain, drawn_out = run(trial), run(replace(trial, curves=True))
    assert [point.passes for point in drawn_out.curve] == [1, 2, 3, 4]
    assert drawn_out.curve[-1].scores["r1"] == drawn_out.scores["r1"] == plain.scores["r1"]
    assert plain.curve == ()


def test_time_for_curves_is_not_training_time(tmp_path):
    X, y = drawn()
    measured = run(a_trial(tmp_path / "kept", X, y, learner="learners:SlowToRank", curves=True))
    assert [point.passes for point in measured.curve] == [1, 2]
    assert measured.rank_seconds >= SlowToRank.seconds
    assert measured.fit_seconds < SlowToRank.seconds


def test_a_learner_without_passes_has_no_curve(tmp_path):
    X, y = drawn()
    assert run(a_trial(tmp_path / "kept", X, y, curves=True)).curve == ()


def test_a_paused_clock_does_not_count():
    clock = Clock()
    with clock.running(), clock.paused():
        time.sleep(0.3)
        seen = clock.wall
    assert 0 <= seen < 0.3
    assert seen <= clock.wall < 0.3


# -- candidates and their order


def test_a_grid_is_tried_in_the_written_order():
    candidates = list_candidates("pa", {"C": [1, 2], "passes": [5, 3]}, GRID, 0)
    assert candidates == [{"C": c, "passes": p} for c in (1, 2) for p in (5, 3)]


def test_no_parameter_has_a_second_value_before_each_representation_was_tried():
    ranges = {"C": [1, 2], "representation": ["words", "chars"]}
    grid = list_candidates("pa", ranges, GRID, 0)
    assert [one["representation"] for one in grid[:2]] == ["words", "chars"]
    assert {one["C"] for one in grid[:2]} == {1}
    drawn_at_random = list_candidates("pa", ranges, TuneTable(params=ANY, search="random", candidates=4), 0)
    assert drawn_at_random[:2] == [{"representation": "words"}, {"representation": "chars"}]
    with pytest.raises(SpecError, match=naming("pa", "1 candidates", "2 representations")):
        list_candidates("pa", ranges, TuneTable(params=ANY, search="random", candidates=1), 0)


def test_a_grid_accepts_no_range_and_has_a_limit():
    with pytest.raises(SpecError, match=naming("pa.C", "random")):
        list_candidates("pa", {"C": {"low": 1, "high": 2}}, GRID, 0)
    with pytest.raises(SpecError, match=naming("1,000,000", "10,000", "random")):
        list_candidates("pa", {name: list(range(100)) for name in "abc"}, GRID, 0)


@given(seed=st.integers(0, 2**31 - 1), count=st.integers(1, 30))
def test_random_candidates_are_in_range_and_distinct(seed, count):
    ranges = {"C": {"low": 0.01, "high": 100.0, "log": True}, "passes": {"low": 1, "high": 9}, "loss": ["a", "b"]}
    search = TuneTable(params=ANY, search="random", candidates=count)
    candidates = list_candidates("pa", ranges, search, seed)
    assert len(candidates) == count
    assert all(a != b for i, a in enumerate(candidates) for b in candidates[:i])
    assert candidates[0] == {}  # as configured
    drawn = candidates[1:]
    assert all(0.01 <= c["C"] <= 100 and 1 <= c["passes"] <= 9 and c["loss"] in "ab" for c in drawn)
    assert all(isinstance(c["passes"], int) for c in drawn)
    assert candidates == list_candidates("pa", ranges, search, seed)


def test_a_list_is_not_sampled_beyond_its_values():
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
    return plan(resolved, {"digits": header}).trials


def test_a_learner_is_tuned_by_label_and_others_are_unchanged(header):
    trials = planned(header, {"params": {"small": {"passes": [1, 2]}}})
    tuned = {(trial.label, trial.number): trial.tuning_plan for trial in trials}
    assert tuned["pa", 0] is None
    assert tuned["small", 1].candidates == ({"passes": 1}, {"passes": 2})
    assert tuned["small", 0].judge == R1
    assert tuned["small", 0].direction == "higher"


def test_auto_tries_the_grid_of_the_spec_default_first_without_parameters_that_are_set(header):
    by_label = {trial.label: trial.tuning_plan for trial in planned(header, {"auto": True})}
    grid = discover().learner("pa").spec.tune["C"]
    assert [one["C"] for one in by_label["pa"].candidates] == [0.1, *(value for value in grid if value != 0.1)]
    assert by_label["small"] is None  # its C is set
    own = planned(header, {"auto": True, "params": {"pa": {"passes": [1, 2]}}})[0].tuning_plan
    assert own.candidates == ({"passes": 1}, {"passes": 2})


def test_every_built_in_grid_has_four_candidates_with_the_defaults_among_them():
    without = set()
    for entry in discover().learners:
        if entry.origin.distribution != BUILT_IN:
            continue
        spec, defaults = entry.spec, parameters_of(entry.spec)
        if spec.name == "lomtree":
            defaults = {**defaults, "eta": 0.1}  # what its rule gives for the default number of passes
        if not spec.tune:
            without.add(spec.name)
            continue
        assert math.prod(map(len, spec.tune.values())) == 4, spec.name
        assert all(defaults[name] in values for name, values in spec.tune.items()), spec.name
    assert without == {"centroid", "dummy", "hiclass-per-parent"}


def test_tuning_and_curves_are_part_of_the_key(header):
    plain, tuned, more = (planned(header, {"params": {"pa": {"C": grid}}})[0] for grid in ([1], [1, 2], [1, 2, 3]))
    curved = planned(header, {"params": {"pa": {"C": [1]}}}, curves=True)[0]
    assert len({plain.key, tuned.key, more.key, curved.key}) == 4


def test_the_description_of_tuning_is_equal_for_all_seeds(header):
    drawn = {"params": {"pa": {"C": {"low": 0.1, "high": 10.0}}}, "search": "random", "candidates": 3, "time": "9s"}
    trials = planned(header, drawn)
    tuned = [trial for trial in trials if trial.label == "pa"]
    assert tuned[0].tuning_plan.candidates != tuned[1].tuning_plan.candidates
    message = "tuned C={'log': False, 'low': 0.1, 'high': 10.0}; r1 on holdout:0.1; 3 by chance; 9 s"
    assert [trial.to_tune for trial in tuned] == [message, message]
    assert {trial.to_tune for trial in trials if trial.label == "small"} == {""}
    assert planned(header, {"params": {"pa": {"C": [1, 2]}}})[0].to_tune == "tuned C=[1, 2]; r1 on holdout:0.1"


@pytest.mark.parametrize(
    ("tune", "message"),
    [
        ({"params": {"no": {"C": [1]}}}, r"tune\.params\.no matches no learner of this run \(pa, small\)"),
        ({"params": {"pa": {"D": [1]}}}, r"tune: learner 'pa' has no parameter 'D'"),
        ({"params": {"pa": {"C": []}}}, r"tune\.params\.pa\.C: expected a list of values"),
        ({"params": {}}, "tune: expected params, representation or auto = true: there is nothing to tune"),
        ({"params": {"pa": {"C": [1]}}, "search": "random"}, "needs candidates = NUMBER"),
        ({"params": {"pa": {"C": [1]}}, "candidates": 3}, "and a grid takes none"),
        ({"params": {"pa": {"C": [1]}}, "split": "given"}, "a share of the training"),
        ({"params": {"pa": {"C": {"low": 2, "high": 1}}}}, "with low < high"),
        ({"params": {"pa": {"C": {"low": 0, "high": 1, "log": True}}}}, "low > 0 where log = true"),
        ({"params": {"pa": {"C": [1]}}, "metric": "r77x"}, "r77x"),
        ({"params": {"pa": {"C": [1]}}, "splitt": "x"}, "unknown key tune.splitt. Did you mean 'split'"),
        ({"params": {"pa": {"C": [1]}}, "time": "soon"}, "a time such as 90s"),
    ],
)
def test_an_invalid_tune_table_is_rejected_before_any_trial(header, tune, message):
    with pytest.raises(HarnessError, match=message):
        planned(header, tune)
