"""The papers' experiments set every parameter whose default may change."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from internals import build, dataset_groups, discover, kept_datasets, learner_refs, parameters_of, parse, read_file

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
LEARNERS = tomllib.loads((BENCHMARKS / "defaults.toml").read_text())["learners"]
BEFORE = {name: entry["before"] for name, entry in LEARNERS.items()}
"""The parameters of each learner whose defaults are chosen on data, with the defaults that they had before."""
PINNED = json.loads(Path(__file__).with_name("pinned.json").read_text())
"""By experiment, learner and dataset: the values that these parameters had when the results were made."""
TUNED = "tuned"
AS_THEY_ARE = {"field", "scaling"}
"""Experiments on all learners with their defaults, which are part of the comparison."""


@pytest.fixture(scope="module")
def catalog():
    return discover()


def experiments():
    """Return every experiment file of the papers."""
    for path in sorted((ROOT / "plugins" / "harness_papers" / "experiments").glob("*.toml")):
        if path.stem not in AS_THEY_ARE:
            yield path.stem, build(read_file(path), path.stem)


EXPERIMENTS = dict(experiments())


@dataclass(frozen=True)
class SetUp:
    """A learner on a dataset as an experiment configures it; for a wrapper, the inner learner."""

    place: str
    learner: str
    given: dict


def set_ups(experiment, catalog):
    groups = dataset_groups(experiment)
    for ref in learner_refs(experiment, groups):
        for dataset in kept_datasets(groups, ()):
            if ref.on is None or dataset.label.text in ref.on:
                tuned = dict.fromkeys(ref.tune, TUNED)
                given = {**ref.params, **ref.by_dataset.get(dataset.label.text, {}), **tuned}
                place = f"{ref.label} on {dataset.label.family}"
                wraps = catalog.learner(ref.name).spec.wraps
                if wraps:
                    inside = parse(given[wraps])
                    yield SetUp(place, inside.name, inside.params)
                else:
                    yield SetUp(place, ref.name, given)


def resolved(experiment, catalog):
    """Return the values of parameters whose defaults were chosen on data, by learner and dataset."""
    found = {}
    for set_up in set_ups(experiment, catalog):
        params = {**parameters_of(catalog.learner(set_up.learner).spec), **set_up.given}
        found[set_up.place] = {name: params[name] for name in BEFORE.get(set_up.learner, {})}
    return found


@pytest.mark.parametrize(("name", "values"), PINNED.items(), ids=PINNED)
def test_an_experiment_resolves_to_the_values_behind_its_results(name, values, catalog):
    assert resolved(EXPERIMENTS[name], catalog) == values


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_sets_every_parameter_whose_default_has_changed(name, catalog):
    for set_up in set_ups(EXPERIMENTS[name], catalog):
        defaults = parameters_of(catalog.learner(set_up.learner).spec)
        for parameter, before in BEFORE.get(set_up.learner, {}).items():
            assert parameter in set_up.given or defaults[parameter] == before, f"{set_up.place}: {parameter}"
