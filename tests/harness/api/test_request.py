"""Requests: an experiment by file, name or content, and what is laid over it; errors name whose fault it is."""

from copy import deepcopy

import pytest

from harness.api.request import Request, experiment_path, published_path, read_request, resource_path
from harness.catalog import Catalog, Entry, Origin
from harness.contract import ExperimentSpec
from harness.errors import SpecError, UnknownName


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("learners = ['pa']\ntrials = 9\n[set]\npa.C = 4\npa.passes = 1\n[tune.params.pa]\nC = [1]\n")
    return path


def test_what_is_given_alone_is_the_experiment(catalog):
    raw = read_request(Request(given={"learners": "pa", "trials": 2}), catalog)
    assert (raw.table, raw.source) == ({"learners": "pa", "trials": 2}, "command line")
    assert read_request(Request(given={"learners": "pa"}, asker="harness.run"), catalog).source == "harness.run"


@pytest.mark.parametrize("given", [{}, {"trials": 3}, {"learners": ""}])
def test_nothing_to_run_is_told_with_what_to_give(catalog, given):
    with pytest.raises(SpecError, match=r"nothing to run: give --learners .* or an experiment file"):
        read_request(Request(given=given), catalog)


def test_what_is_given_wins_over_the_file_key_by_key(catalog, file):
    raw = read_request(Request(experiment=str(file), given={"trials": 1, "seed": 5}), catalog)
    assert (raw.table["trials"], raw.table["seed"], raw.table["learners"]) == (1, 5, ["pa"])


def test_settings_and_what_is_tuned_are_laid_over_parameter_by_parameter(catalog, file):
    request = Request(
        experiment=str(file),
        settings={"pa": {"C": 5}, "digits": {"rows": 3}},
        tune={"pa": {"passes": [1, 2]}, "ooz": {"d": [5]}},
    )
    table = read_request(request, catalog).table
    assert table["set"] == {"pa": {"C": 5, "passes": 1}, "digits": {"rows": 3}}
    assert table["tune"] == {"params": {"pa": {"C": [1], "passes": [1, 2]}, "ooz": {"d": [5]}}}


@pytest.mark.parametrize(
    ("more", "asked_too"),
    [
        ({}, False),
        ({"given": {"trials": 1}}, True),
        ({"settings": {"pa": {"C": 1}}}, True),
        ({"tune": {"pa": {}}}, True),
    ],
    ids=["the file alone", "keys", "settings", "what is tuned"],
)
def test_errors_are_laid_at_the_door_of_all_who_had_a_say(catalog, file, more, asked_too):
    source = read_request(Request(experiment=str(file), **more), catalog).source
    assert source == (f"{file} and command line" if asked_too else str(file))


@pytest.mark.parametrize("text", ["set = 3", "[set]\npa = 3"])
def test_settings_over_what_is_no_table_are_refused(catalog, file, text):
    file.write_text(f"learners = ['pa']\n{text}\n")
    with pytest.raises(SpecError, match=r"mine\.toml and command line: set: expected tables of parameters"):
        read_request(Request(experiment=str(file), settings={"pa": {"C": 1}}), catalog)


@pytest.mark.parametrize("text", ["tune = 3", "[tune]\nparams = 3", "[tune.params]\npa = 3"])
def test_tuning_over_what_is_no_table_is_refused(catalog, file, text):
    file.write_text(f"learners = ['pa']\n{text}\n")
    with pytest.raises(SpecError, match=r"mine\.toml and command line: tune: expected tables of parameters"):
        read_request(Request(experiment=str(file), tune={"pa": {"C": [1]}}), catalog)


def test_the_content_of_an_experiment_is_not_changed_by_what_is_laid_over_it(catalog):
    content = {"learners": ["pa"], "set": {"pa": {"C": 1}}, "tune": {"params": {"pa": {"C": [1]}}}}
    before = deepcopy(content)
    request = Request(experiment=content, settings={"pa": {"C": 2}}, tune={"pa": {"C": [2]}}, asker="harness.run")
    raw = read_request(request, catalog)
    assert raw.table["set"] == {"pa": {"C": 2}}
    assert raw.source == "harness.run"
    assert content == before


def test_a_request_is_not_changed_by_being_read(catalog):
    settings = {"pa": {"C": 2}}
    request = Request(given={"learners": "pa"}, settings=settings)
    read_request(request, catalog).table["set"]["pa"]["C"] = 3
    assert settings == {"pa": {"C": 2}}


# -- names and files -------------------------------------------------------------------------------------------------


def test_an_experiment_is_a_file_or_a_registered_name(catalog, file, tmp_path, monkeypatch):
    assert experiment_path(str(file), catalog) == file
    assert experiment_path("pa-steps", catalog).name == "pa-steps.toml"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pa-steps").write_text("learners = ['pa']\n")
    assert str(experiment_path("pa-steps", catalog)) == "pa-steps"  # what lies here is what is meant


def test_what_is_neither_is_told_with_the_nearest_name(catalog):
    with pytest.raises(
        UnknownName, match=r"unknown experiment 'pa-step'; did you mean pa-steps\?.*name ends in \.toml"
    ):
        experiment_path("pa-step", catalog)
    with pytest.raises(SpecError, match=r"nowhere\.toml: there is no such file"):
        read_request(Request(experiment="nowhere.toml"), catalog)


def test_a_registered_experiment_whose_package_is_gone_is_named_with_its_plugin():
    lost = Entry(ExperimentSpec(name="lost", resource="no_such_package:file.toml"), Origin("p", "dist", "1.0"))
    with pytest.raises(SpecError, match=r"experiment 'lost' of dist 1\.0: No module named 'no_such_package'"):
        experiment_path("lost", Catalog(experiments=(lost,)))


def test_published_numbers_are_found_by_the_experiments_name(catalog):
    for entry in catalog.experiments:
        path = published_path(entry.spec.name, catalog)
        assert path == (resource_path(entry.spec.published) if entry.spec.published else None)
        assert path is None or path.is_file()
    assert published_path("nothing-of-the-kind", catalog) is None
