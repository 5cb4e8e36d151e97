"""The papers' experiments: every file can be run as it stands, and every published number has its place in it."""

from importlib import resources
from pathlib import Path

import pytest

from harness.experiment.building import build, quick_version, read_file
from harness.experiment.learner_ref import label_of
from harness.experiment.resolve import resolve
from harness.experiment.schema import dataset_groups, kept_datasets
from harness.host import discover
from harness.metric import find_metric
from harness.tables.published import parse_published, read_published
from harness_papers.plugin import harness_experiments

SPECS = {spec.name: spec for spec in harness_experiments()}


@pytest.fixture(scope="module")
def catalog():
    return discover()


def path_of(resource):
    package, _, file = resource.partition(":")
    return Path(str(resources.files(package) / file))


def experiment_of(name):
    return build(read_file(path_of(SPECS[name].resource)), name)


def datasets_of(experiment):
    return kept_datasets(dataset_groups(experiment), experiment.leave_out)


@pytest.mark.parametrize("name", SPECS)
def test_an_experiment_names_only_what_there_is(name, catalog):
    experiment = experiment_of(name)
    assert experiment.name == name
    resolve(experiment, catalog)
    for figure in experiment.figures:
        if figure.metric:
            find_metric(figure.metric, catalog)


@pytest.mark.parametrize("name", [name for name in SPECS if name != "pa-steps"])
def test_every_papers_experiment_has_a_smaller_quick_version_and_says_how_long_it_takes(name, catalog):
    raw = read_file(path_of(SPECS[name].resource))
    whole, quick = build(raw, name), build(quick_version(raw, name), name)
    resolve(quick, catalog)
    assert quick.trials * len(datasets_of(quick)) < whole.trials * len(datasets_of(whole))
    assert whole.minutes


@pytest.mark.parametrize("name", [name for name, spec in SPECS.items() if spec.published])
def test_every_published_number_can_be_read_and_has_its_learner_or_a_reason(name, catalog):
    experiment = experiment_of(name)
    labels = {label_of(table) for table in experiment.learners}
    datasets = {ref.label.family for ref in datasets_of(experiment)}
    for number in read_published(path_of(SPECS[name].published)):
        metric = find_metric(number.metric, catalog).spec
        parse_published(number.value, metric.unit)
        if number.interval:
            parse_published(number.interval, metric.unit)
        assert number.learner in labels or number.learner.partition("(")[0] in labels or number.learner in NOT_RUN
        assert number.dataset in datasets | set(experiment.absent) | NOT_AT_HAND


NOT_RUN = {"topdown-perceptron", "topdown-committee", "topdown-svm"}
"""Baselines of KDD 2008 on its two largest sets, of which one is private and the other has several labels a row."""
NOT_AT_HAND = {"lshtc1 task 1"}
"""Published of the challenge's own data, beside a stand-in of its size."""


def test_the_published_numbers_are_those_of_the_papers():
    numbers = {
        (n.dataset, n.learner, n.metric): n.value for n in read_published(path_of(SPECS["kdd2008-table1"].published))
    }
    assert numbers["newsgroups", "ooz", "r1"] == "0.862"
    assert numbers["web", "ema", "train"] == "2h"
    assert numbers["austen", "ff", "index"] == "1.5M"
    assert len(numbers) == 170
