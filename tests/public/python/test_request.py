"""Requests: an experiment by file, name or content with overrides; errors name the source of a mistake."""

from copy import deepcopy

import pytest

from harness import ExperimentSpec
from harness.errors import SpecError, UnknownName
from internals import Catalog, Entry, Origin, experiment_path, load_experiment, published_path, resource_path
from messages import naming


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("learners = ['pa']\ntrials = 9\n[set]\npa.C = 4\npa.passes = 1\n[tune.params.pa]\nC = [1]\n")
    return path


def test_arguments_alone_make_an_experiment(catalog):
    raw = load_experiment(None, {"learners": "pa", "trials": 2}, catalog)
    assert (raw.table, raw.source) == ({"learners": "pa", "trials": 2}, "command line")
    assert load_experiment(None, {"learners": "pa"}, catalog, "harness.run").source == "harness.run"


@pytest.mark.parametrize("given", [{}, {"trials": 3}, {"learners": ""}])
def test_an_empty_request_raises_an_error_with_the_required_arguments(catalog, given):
    with pytest.raises(SpecError, match=naming("--learners")):
        load_experiment(None, given, catalog)


def test_arguments_override_the_file_key_by_key(catalog, file):
    raw = load_experiment(str(file), {"trials": 1, "seed": 5}, catalog)
    assert (raw.table["trials"], raw.table["seed"], raw.table["learners"]) == (1, 5, ["pa"])


def test_settings_and_tuning_override_parameter_by_parameter(catalog, file):
    given = {
        "set": {"pa": {"C": 5}, "digits": {"rows": 3}},
        "tune": {"pa": {"passes": [1, 2]}, "ooz": {"d": [5]}},
    }
    table = load_experiment(str(file), given, catalog).table
    assert table["set"] == {"pa": {"C": 5, "passes": 1}, "digits": {"rows": 3}}
    assert table["tune"] == {"params": {"pa": {"C": [1], "passes": [1, 2]}, "ooz": {"d": [5]}}}


@pytest.mark.parametrize(
    ("more", "on_command_line"),
    [
        ({}, False),
        ({"trials": 1}, True),
        ({"set": {"pa": {"C": 1}}}, True),
        ({"tune": {"pa": {}}}, True),
    ],
    ids=["the file alone", "keys", "settings", "what is tuned"],
)
def test_errors_name_every_source_of_the_value(catalog, file, more, on_command_line):
    source = load_experiment(str(file), more, catalog).source
    assert source == (f"{file} and command line" if on_command_line else str(file))


@pytest.mark.parametrize("text", ["set = 3", "[set]\npa = 3"])
def test_settings_for_an_invalid_table_are_rejected(catalog, file, text):
    file.write_text(f"learners = ['pa']\n{text}\n")
    with pytest.raises(SpecError, match=naming("mine.toml")):
        load_experiment(str(file), {"set": {"pa": {"C": 1}}}, catalog)


@pytest.mark.parametrize("text", ["tune = 3", "[tune]\nparams = 3", "[tune.params]\npa = 3"])
def test_tuning_for_an_invalid_table_is_rejected(catalog, file, text):
    file.write_text(f"learners = ['pa']\n{text}\n")
    with pytest.raises(SpecError, match=naming("mine.toml")):
        load_experiment(str(file), {"tune": {"pa": {"C": [1]}}}, catalog)


def test_the_given_experiment_is_not_modified_by_overrides(catalog):
    content = {"learners": ["pa"], "set": {"pa": {"C": 1}}, "tune": {"params": {"pa": {"C": [1]}}}}
    before = deepcopy(content)
    raw = load_experiment(content, {"set": {"pa": {"C": 2}}, "tune": {"pa": {"C": [2]}}}, catalog, "harness.run")
    assert raw.table["set"] == {"pa": {"C": 2}}
    assert raw.source == "harness.run"
    assert content == before


def test_given_settings_are_not_modified(catalog):
    settings = {"pa": {"C": 2}}
    load_experiment(None, {"learners": "pa", "set": settings}, catalog).table["set"]["pa"]["C"] = 3
    assert settings == {"pa": {"C": 2}}


# -- names and files -------------------------------------------------------------------------------------------------


def test_an_experiment_is_a_file_or_a_registered_name(catalog, file, tmp_path, monkeypatch):
    assert experiment_path(str(file), catalog) == file
    assert experiment_path("pa-steps", catalog).name == "pa-steps.toml"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pa-steps").write_text("learners = ['pa']\n")
    assert str(experiment_path("pa-steps", catalog)) == "pa-steps"  # a local file takes precedence


def test_an_unknown_experiment_raises_an_error_with_the_nearest_name(catalog):
    with pytest.raises(UnknownName, match=naming("pa-step", "pa-steps")):
        experiment_path("pa-step", catalog)
    with pytest.raises(SpecError, match=naming("nowhere.toml")):
        load_experiment("nowhere.toml", {}, catalog)


def test_a_registered_experiment_without_its_package_raises_an_error_with_the_plugin():
    lost = Entry(ExperimentSpec(name="lost", resource="no_such_package:file.toml"), Origin("p", "dist", "1.0"))
    with pytest.raises(SpecError, match=naming("lost", "1.0", "no_such_package")):
        experiment_path("lost", Catalog(experiments=(lost,)))


def test_published_numbers_are_found_by_experiment_name(catalog):
    for entry in catalog.experiments:
        path = published_path(entry.spec.name, catalog)
        assert path == (resource_path(entry.spec.published) if entry.spec.published else None)
        assert path is None or path.is_file()
    assert published_path("nothing-of-the-kind", catalog) is None
