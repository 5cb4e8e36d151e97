"""Flags of `harness run`: parsing of settings, and overrides of an experiment file."""

import inspect
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import harness
from harness.errors import SpecError
from internals import (
    Experiment,
    RunOptions,
    build,
    cli,
    declared_options,
    given_options,
    parse_setting,
    read_options,
    read_settings,
    read_tuning,
)
from messages import assert_names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pa.C=0.1", ("pa", "C", 0.1)),
        ("pa@digits.C=[1, 2]", ("pa@digits", "C", [1, 2])),
        ("a.b:C.alpha=x", ("a.b:C", "alpha", "x")),
        ("pa.text='a=b'", ("pa", "text", "a=b")),
        (" pa.C = none ", ("pa", "C", None)),
    ],
)
def test_settings_are_parsed(text, expected):
    assert parse_setting(text) == expected


@pytest.mark.parametrize("text", ["C=1", "pa.C", "pa.=1", ".C=1", "=", ""])
def test_a_malformed_setting_raises_an_error_with_an_example(text):
    with pytest.raises(SpecError) as caught:
        parse_setting(text)
    assert_names(str(caught.value), "--set", f"{text}", "NAME.PARAM=VALUE", "pa.C=0.1")


def test_tuning_is_parsed_as_auto_ranges_or_limits():
    texts = ["auto", "pa.C=[0.1,1]", "representation=[words,chars]", "time=5m", "metric=r5"]
    assert read_tuning(texts) == {
        "auto": True,
        "pa": {"C": [0.1, 1]},
        "representation": ["words", "chars"],
        "time": "5m",
        "metric": "r5",
    }


def test_settings_and_tuning_ranges_are_grouped_by_learner():
    assert read_settings(("pa.C=1", "pa.passes=2", "digits.rows=3")) == {
        "pa": {"C": 1, "passes": 2},
        "digits": {"rows": 3},
    }
    assert read_tuning(("pa.margin=[1, 2]", "pa.order=3")) == {"pa": {"margin": [1, 2], "order": [3]}}
    assert read_tuning(("representation=[words,chars]",)) == {"representation": ["words", "chars"]}


def flags_of_run():
    run_command = cli.get_command(click.Context(cli), "run")
    return {flag for parameter in run_command.params for flag in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("model", [Experiment, RunOptions])
def test_every_declared_option_is_a_flag_and_an_argument_under_its_own_name(model):
    arguments = inspect.signature(harness.run).parameters
    for name, declared in declared_options(model).items():
        assert f"--{name.replace('_', '-')}" in flags_of_run()
        assert name in arguments
        assert arguments[name].annotation is not inspect.Parameter.empty
        assert f"\n    {name} : " in harness.run.__doc__
        assert declared.option.help.endswith(".")


@pytest.mark.parametrize(
    "words",
    [("--memory", "2GB"), ("--timeout", "90s"), ("--on", "local:2"), ("--wait-for-idle", "1m"), ("--wait-for-idle",)],
    ids=" ".join,
)
def test_values_with_units_reach_the_model_as_text(words):
    parsed = cli.get_command(click.Context(cli), "run").make_context("run", ["--learners", "pa", *words]).params
    given = {**given_options(parsed, Experiment), **given_options(parsed, RunOptions)}
    assert given == {"learners": "pa", words[0][2:].replace("-", "_"): (*words, "10m")[1]}


def test_only_given_flags_replace_keys_of_a_file():
    flags = {"learners": "pa", "trials": None, "curves": False, "set": None, "out": None, "reuse": (), "build": False}
    assert given_options(flags, Experiment) == {"learners": "pa", "curves": False}
    assert given_options(flags, RunOptions) == {"build": False}
    assert given_options({"data": "digits"}, Experiment) == {"datasets": "digits"}


def test_a_former_name_is_an_error_with_the_current_one():
    done = CliRunner().invoke(cli, ["run", "--learners", "pa", "--wait-for-quiet"])
    assert done.exit_code == 2
    assert "--wait-for-idle" in done.output
    with pytest.raises(TypeError, match="use 'wait_for_idle'"):
        harness.run("pa", "digits", wait_for_quiet=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'trails'"):
        harness.run("pa", "digits", trails=3)
    with pytest.raises(SpecError, match=r"mine\.toml: unknown key settings\. It is now 'set'"):
        build({"learners": "pa", "settings": {}}, "mine.toml")


def test_options_of_a_run_are_validated_like_an_experiment():
    found = read_options({"wait_for_idle": "10m", "out": "a", "reuse": "b", "rerun": "pa,ooz"}, "harness.run")
    assert (found.wait_for_idle, found.out, found.reuse) == (600.0, Path("a"), (Path("b"),))
    assert found.rerun == ("pa", "ooz")
    with pytest.raises(SpecError, match=r"harness\.run: wait_for_idle: 'soon' is not a time"):
        read_options({"wait_for_idle": "soon"}, "harness.run")
