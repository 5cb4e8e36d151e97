"""The defaults of the learners are those that the rule chooses from what was measured, and the page shows them."""

import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

from harness.host import discover
from harness.signature import parameters_of

ROOT = Path(__file__).resolve().parents[2]
PLAN = tomllib.loads((ROOT / "benchmarks" / "defaults.toml").read_text())
FIRST, SECOND, THIRD = {"C": 1.0, "passes": 5}, {"C": 1.0, "passes": 10}, {"C": 3.0, "passes": 5}


def load_page_module():
    """`benchmarks/` is no package."""
    spec = importlib.util.spec_from_file_location("defaults_page", ROOT / "benchmarks" / "defaults_page.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


page = load_page_module()
MEASUREMENTS = page.read_measurements(ROOT / "results" / "defaults" / "records.jsonl")
MEASURED = {measurement.learner for measurement in MEASUREMENTS}
LEARNERS = {name: entry for name, entry in PLAN["learners"].items() if name in MEASURED}


@pytest.fixture(scope="module")
def specs():
    return {entry.spec.name: entry.spec for entry in discover().learners}


def measured(params, **r1):
    return [page.Measurement("pa", params, name, r1=value, index=10) for name, value in r1.items()]


def chosen_of(*measurements):
    return page.choose(page.judge([one for some in measurements for one in some]))


# -- the rule --------------------------------------------------------------------------------------------------------


def test_the_smallest_mean_loss_against_each_sets_own_best_is_chosen():
    chosen = chosen_of(measured(FIRST, a=0.9, b=0.2), measured(THIRD, a=0.8, b=0.5))
    assert chosen.params == THIRD
    assert chosen.losses == pytest.approx({"a": 0.1, "b": 0.0})
    assert (chosen.mean_loss, chosen.worst_loss) == pytest.approx((0.05, 0.1))


def test_of_candidates_that_tie_the_one_with_fewer_passes_is_chosen_then_the_smaller_index():
    assert chosen_of(measured(SECOND, a=0.9005), measured(FIRST, a=0.9)).params == FIRST
    assert chosen_of(measured(SECOND, a=0.902), measured(FIRST, a=0.9)).params == SECOND
    small = [page.Measurement("pa", THIRD, "a", r1=0.9, index=9)]
    assert chosen_of(measured(FIRST, a=0.9), small).params == THIRD


def test_what_did_not_end_in_time_answers_nothing_right_unless_no_candidate_did():
    judged = page.judge([*measured(FIRST, a=None, b=0.9, c=None), *measured(THIRD, a=0.5, b=0.8, c=None)])
    assert judged[page.key_of(FIRST)].losses == pytest.approx({"a": 0.5, "b": 0.0})
    assert judged[page.key_of(THIRD)].losses == pytest.approx({"a": 0.0, "b": 0.1})


def test_draws_of_one_set_count_once():
    twice = [page.Measurement("pa", FIRST, "a", draw, r1=r1, index=1) for draw, r1 in enumerate((0.2, 0.4))]
    assert page.judge(twice)[page.key_of(FIRST)].r1 == pytest.approx({"a": 0.3})


# -- what follows from the records -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learners_defaults_are_the_chosen_ones(name, specs):
    verdict = page.verdict_of(name, LEARNERS[name], MEASUREMENTS)
    assert verdict.chosen.params.items() <= parameters_of(specs[name]).items()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_values_of_the_paper_are_those_of_the_spec(name, specs):
    assert LEARNERS[name]["paper"].items() <= specs[name].paper_params.items()
    assert specs[name].paper_params.keys() <= parameters_of(specs[name]).keys()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_page_shows_the_choice(name):
    verdict = page.verdict_of(name, LEARNERS[name], MEASUREMENTS)
    lines = (ROOT / "docs" / "defaults.md").read_text().splitlines()
    assert page.choices_table([verdict])[-1] in lines
