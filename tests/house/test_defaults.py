"""The learners' defaults are those that the rule chooses from the measurements, and the page shows them."""

import importlib
import sys
import tomllib
from pathlib import Path

import pytest

from internals import discover, parameters_of

ROOT = Path(__file__).resolve().parents[2]
PLAN = tomllib.loads((ROOT / "benchmarks" / "defaults.toml").read_text())
FIRST, SECOND, THIRD = {"C": 1.0, "passes": 5}, {"C": 1.0, "passes": 10}, {"C": 3.0, "passes": 5}


def load_script():
    """Import benchmarks/defaults.py, which imports other modules of its folder."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module("defaults")
    finally:
        sys.path.pop(0)


defaults = load_script()
MEASUREMENTS = defaults.read_measurements(ROOT / "results" / "defaults" / "measurements.jsonl")
MEASURED = {measurement.learner for measurement in MEASUREMENTS}
LEARNERS = {name: entry for name, entry in PLAN["learners"].items() if name in MEASURED}


@pytest.fixture(scope="module")
def specs():
    return {entry.spec.name: entry.spec for entry in discover().learners}


def measured(params, **r1):
    return [defaults.Measurement("pa", params, name, r1=value, index=10) for name, value in r1.items()]


def chosen_of(*measurements):
    return defaults.choose(defaults.judge([one for some in measurements for one in some]))


# -- the rule --------------------------------------------------------------------------------------------------------


def test_the_candidate_with_the_smallest_mean_loss_to_the_best_per_dataset_is_chosen():
    chosen = chosen_of(measured(FIRST, a=0.9, b=0.2), measured(THIRD, a=0.8, b=0.5))
    assert chosen.params == THIRD
    assert chosen.losses == pytest.approx({"a": 0.1, "b": 0.0})
    assert (chosen.mean_loss, chosen.worst_loss) == pytest.approx((0.05, 0.1))


def test_ties_go_to_fewer_passes_then_to_the_smaller_index():
    assert chosen_of(measured(SECOND, a=0.9005), measured(FIRST, a=0.9)).params == FIRST
    assert chosen_of(measured(SECOND, a=0.902), measured(FIRST, a=0.9)).params == SECOND
    small = [defaults.Measurement("pa", THIRD, "a", r1=0.9, index=9)]
    assert chosen_of(measured(FIRST, a=0.9), small).params == THIRD


def test_a_timed_out_candidate_scores_zero_unless_all_timed_out():
    judged = defaults.judge([*measured(FIRST, a=None, b=0.9, c=None), *measured(THIRD, a=0.5, b=0.8, c=None)])
    assert judged[defaults.key_of(FIRST)].losses == pytest.approx({"a": 0.5, "b": 0.0})
    assert judged[defaults.key_of(THIRD)].losses == pytest.approx({"a": 0.0, "b": 0.1})


def test_several_draws_of_one_dataset_count_once():
    twice = [defaults.Measurement("pa", FIRST, "a", draw, r1=r1, index=1) for draw, r1 in enumerate((0.2, 0.4))]
    assert defaults.judge(twice)[defaults.key_of(FIRST)].r1 == pytest.approx({"a": 0.3})


# -- the measurements ------------------------------------------------------------------------------------------------


BY_PASSES = {"lomtree": {"eta": 0.1}}
"""Values that a rule gives for the default number of passes; a test of the learner checks the rule."""


@pytest.mark.parametrize("name", LEARNERS)
def test_the_defaults_of_a_learner_are_the_chosen_values(name, specs):
    choice = defaults.choice_of(name, LEARNERS[name], MEASUREMENTS)
    present = parameters_of(specs[name]) | BY_PASSES.get(name, {})
    assert choice.chosen.params.items() <= present.items()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_paper_values_are_those_of_the_spec(name, specs):
    assert LEARNERS[name]["paper"].items() <= specs[name].paper_params.items()
    assert specs[name].paper_params.keys() <= parameters_of(specs[name]).keys()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_page_shows_the_choice(name):
    choice = defaults.choice_of(name, LEARNERS[name], MEASUREMENTS)
    assert defaults.choices_table([choice])[-1] in defaults.PAGE.read_text().splitlines()
    assert defaults.losses_table([choice])[-1] in defaults.DETAILS_PAGE.read_text().splitlines()
