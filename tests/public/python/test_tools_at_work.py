"""Learners that need an environment as models: they are trained, saved, loaded and asked in that environment.

The tool is a wheel that the test writes, so nothing is downloaded.
"""

import copy
import csv
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading

import numpy as np
import psutil
import pytest
import requests
import uvicorn
from click.testing import CliRunner

import harness
from harness.errors import HarnessError, ModelError
from internals import ServeSettings, build_environment, cli, environment_for, make_app, remove_environment, seal_of
from messages import assert_names, naming
from own_packages import ASKED, PACKAGE, VERSION, write_plugin, write_wheel
from small_titles import titles
from tool_with_files import write_tool_plugin

TEXTS, CODES = titles(60, seed=3)
FILES = ["learner/about.json", "learner/weights/means.txt"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with plugins, a file of titles, and a data home with the environment of the tool."""
    folder = tmp_path_factory.mktemp("tools")
    write_tool_plugin(write_plugin(folder / "plugins", "needy"))
    write_wheel(folder / "wheels")
    with (folder / "titles.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("title", "code"), *zip(*titles(), strict=True)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_DATA_HOME", str(folder / "home"))
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder / "wheels"))
        patch.chdir(folder)
        build_environment(environment_for((ASKED,)), lambda line: None)
        yield folder


@pytest.fixture(scope="module")
def fit(place):
    def run(learner, out=None, data="titles.csv"):
        return harness.fit(learner, data, representation="words", out=out, plugins_dirs=[place / "plugins"])

    return run


@pytest.fixture(scope="module")
def model(place, fit):
    """Return a model of the tool that scores; its folder is `scores.model`."""
    return fit("tool-scores(scale=2.0)", place / "scores.model")


@pytest.fixture
def folder(place, model, tmp_path):
    """Return a copy of the model's folder."""
    return shutil.copytree(place / "scores.model", tmp_path / "copy.model")


def load(folder, place):
    return harness.load_model(folder, plugins_dirs=[place / "plugins"])


def call(place, *words, code=0):
    words = [*map(str, words), "--plugins-dir", str(place / "plugins")]
    ended = CliRunner().invoke(cli, words)
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    assert ended.exit_code == code, ended.output
    return ended


def children():
    """Return the processes of executors that this process has started."""
    found = psutil.Process().children(recursive=True)
    return [one for one in found if one.status() != psutil.STATUS_ZOMBIE]


# -- fit, save, load -------------------------------------------------------------------------------------------------


def nearest_means(X, train, y):
    """Return the scores that the tool computes, by its definition."""
    means = np.vstack([np.asarray(train[y == label].mean(axis=0)).ravel() for label in np.unique(y)])
    return 2.0 * (2 * (X @ means.T) - (means**2).sum(axis=1))


def test_a_model_has_the_scores_of_its_tool(model):
    texts, codes = titles()
    train = model.representation.transform(texts)
    expected = nearest_means(model.representation.transform(TEXTS), train, np.array(codes))
    assert np.allclose(model.decision_function(TEXTS), expected, atol=1e-5)
    assert model.predict(TEXTS).tolist() == [model.classes[best] for best in expected.argmax(axis=1)]
    found = model.answer(TEXTS, 3)
    assert np.allclose(found.scores, -np.sort(-expected, axis=1)[:, :3], atol=1e-5)
    right = (model.predict(TEXTS) == np.array(CODES)).mean()
    assert right > 0.7
    assert abs(model.manifest.expected.accuracy - right) < 0.15


def test_the_folder_of_a_model_has_the_tools_own_files_and_their_checksums(model, place):
    listed = json.loads((place / "scores.model" / "manifest.json").read_text())["files"]
    assert [name for name in listed if name.startswith("learner")] == FILES
    content = (place / "scores.model" / FILES[1]).read_bytes()
    assert listed[FILES[1]]["sha256"] == hashlib.sha256(content).hexdigest()
    about = model.manifest.learner
    assert (about.name, about.params["scale"], about.environment) == ("tool-scores", 2.0, (ASKED,))
    assert model.manifest.versions[PACKAGE] == VERSION
    assert PACKAGE not in sys.modules or not hasattr(sys.modules[PACKAGE], "ONLY_IN_THE_WHEEL")


def test_a_loaded_model_answers_as_before_and_can_be_saved_again(model, place, tmp_path):
    loaded = load(place / "scores.model", place)
    loaded.save(tmp_path / "again.model")
    again = load(tmp_path / "again.model", place)
    for other in (loaded, again):
        assert (other.rank(TEXTS, 3) == model.rank(TEXTS, 3)).all()
        assert np.array_equal(other.confidence(TEXTS), model.confidence(TEXTS))
        assert np.array_equal(other.predict_proba(TEXTS), model.predict_proba(TEXTS))


@pytest.mark.parametrize("learner", ["tool-ranks", "tool-names"])
def test_a_tool_without_scores_has_classes_and_no_confidence(fit, model, learner, tmp_path, place):
    fitted = fit(learner, tmp_path / "m")
    loaded = load(tmp_path / "m", place)
    assert (fitted.predict(TEXTS) == model.predict(TEXTS)).all()
    assert (loaded.predict(TEXTS) == model.predict(TEXTS)).all()
    ranks = loaded.rank(TEXTS, 2)
    assert (ranks[:, 1] == "").all() if learner == "tool-names" else (ranks == model.rank(TEXTS, 2)).all()
    with pytest.raises(ModelError, match=naming("scores", "confidence")):
        loaded.confidence(TEXTS)
    words = loaded.explain("child nurse").words
    assert {word.text for word in words} == {"child", "nurse"}


def test_a_learner_that_cannot_save_itself_is_saved_by_skops(fit, place, tmp_path, model):
    fit("needy", tmp_path / "m")
    loaded = load(tmp_path / "m", place)
    assert loaded.manifest.learner.saved_as == "skops"
    assert (loaded.predict(TEXTS) == model.predict(TEXTS)).all()


def test_many_rows_are_scored_in_blocks(model, monkeypatch):
    whole, ranks = model.decision_function(TEXTS), model.rank(TEXTS, 3)
    monkeypatch.setattr(sys.modules[type(model.classifier.learner).__module__], "BLOCK_VALUES", 7)
    assert np.array_equal(model.decision_function(TEXTS), whole)
    assert (model.rank(TEXTS, 3) == ranks).all()
    assert model.predict([]).shape == (0,)


def test_rows_of_numbers_reach_the_tool(place):
    rng = np.random.default_rng(0)
    X = rng.random((200, 5))
    y = (X[:, 0] > 0.5).astype(int)
    model = harness.fit("tool-scores", (X, y), plugins_dirs=[place / "plugins"])
    assert (model.predict(X).astype(int) == y).mean() > 0.9


def test_the_process_of_a_model_ends_with_it(fit):
    before = set(children())
    fitted = fit("tool-scores")
    started = set(children()) - before
    assert started
    del fitted
    psutil.wait_procs(started, timeout=60)
    assert started.isdisjoint(children())


def test_copies_share_the_process_and_pickle_is_refused_with_the_way_out(model):
    learner = model.classifier.learner
    assert copy.deepcopy(learner) is learner
    assert (copy.deepcopy(model.as_pipeline()).predict(TEXTS) == model.predict(TEXTS)).all()
    with pytest.raises(TypeError, match=naming("Model.save")):
        pickle.dumps(learner)


# -- failures --------------------------------------------------------------------------------------------------------


def test_the_error_of_a_tool_is_reported_and_the_next_rows_are_answered(fit):
    model = fit("tool-dies")
    with pytest.raises(ModelError, match=naming("one row is not enough")):
        model.predict(["nurse"])
    assert len(model.predict(TEXTS)) == len(TEXTS)


def test_a_tool_that_ends_its_process_is_reported_with_its_last_words(fit):
    model = fit("tool-dies")
    for _ in range(2):
        with pytest.raises(ModelError, match=naming("exit code 7", "two rows are too many")) as raised:
            model.predict(["nurse", "welder"])
        assert raised.value.culprit == "learner 'tool-dies'"


def test_a_missing_environment_is_an_error_with_the_command_that_builds_it(place, folder, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(place / "another home"))
    for use in (
        lambda: load(folder, place),
        lambda: harness.fit("tool-scores", titles(), plugins_dirs=[place / "plugins"]),
    ):
        with pytest.raises(HarnessError, match=naming("harness env build tool-scores")) as raised:
            use()
        assert raised.value.culprit == "learner 'tool-scores'"


def test_a_wrapper_around_a_tool_is_refused_before_training(fit):
    with pytest.raises(ModelError, match=naming("needy", "harness run")):
        fit("committee(needy)")


# -- safety ----------------------------------------------------------------------------------------------------------


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def forge(folder, plain):
    """Write a manifest with a valid checksum."""
    (folder / "manifest.json").write_text(json.dumps(plain | {"sha256": seal_of(plain)}))


def refused(folder, place, *parts):
    with pytest.raises(ModelError, match=naming(*parts)):
        load(folder, place)


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_of_the_tool_is_refused(folder, place, name):
    content = bytearray((folder / name).read_bytes())
    content[3] ^= 1
    (folder / name).write_bytes(content)
    refused(folder, place, name, "checksum")


def test_a_file_that_the_manifest_does_not_list_is_refused(folder, place):
    (folder / "learner" / "weights" / "more.txt").write_text("")
    refused(folder, place, "more.txt")


@pytest.mark.parametrize("name", ["learner/about.json", "learner/weights", "learner/other"])
def test_links_are_refused(folder, place, name, tmp_path):
    if (folder / name).exists():
        shutil.move(folder / name, tmp_path / "moved")
    (folder / name).symlink_to(tmp_path / "moved")
    refused(folder, place, "link")


@pytest.mark.parametrize("load", ["os:system", "_tool_learners:Ranks", "payload:Learner", ""])
def test_only_the_registered_class_is_imported(folder, place, load, tmp_path, monkeypatch):
    (tmp_path / "payload.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    plain = manifest_of(folder)
    forge(folder, plain | {"learner": plain["learner"] | {"load": load}})
    refused(folder, place, "tool-scores")
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("file", ["", ".", "..", "/etc/passwd", "learner/..", "manifest.json", "other"])
def test_the_place_of_the_tools_files_is_inside_the_folder(folder, place, file):
    plain = manifest_of(folder)
    forge(folder, plain | {"learner": plain["learner"] | {"file": file}})
    refused(folder, place, "model")


def test_files_that_are_changed_after_loading_are_not_saved_again(folder, place, tmp_path):
    loaded = load(folder, place)
    (folder / "learner" / "about.json").write_text("{}")
    with pytest.raises(ModelError, match=naming("about.json", "changed")):
        loaded.save(tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_loaded_tool_cannot_change_files_of_the_user(folder, place, monkeypatch):
    mark = place / "mark.txt"
    mark.write_text("as it was")
    monkeypatch.setenv("TOOL_WRITES", str(mark))
    probe = "import os\nfrom harness.system import SYSTEM\nos._exit(not SYSTEM.hide_folders([], []))"
    if subprocess.run([sys.executable, "-c", probe], check=False).returncode:
        pytest.skip("this kernel has no user namespaces for this user")
    with pytest.raises(ModelError, match=naming("Read-only")):
        load(folder, place)
    assert mark.read_text() == "as it was"


# -- commands --------------------------------------------------------------------------------------------------------


def test_the_commands_take_a_tool_like_any_learner(place):
    words = ["--data", "titles.csv", "--representation", "words"]
    ended = call(place, "fit", "tool-scores", *words, "--out", "cli.model")
    assert_names(ended.stderr, "expected accuracy 0.", "calibration error 0.")
    lines = call(place, "predict", "cli.model", "steel welder", "--top", "2", "--explain").stdout.splitlines()
    assert lines[0].startswith("21  ")
    assert "confidence 0." in lines[0]
    assert any(line.startswith("welder") for line in lines)
    assert any("left out" in line for line in lines)
    call(place, "predict", "cli.model", "titles.csv", "--out", "coded.csv")
    with open(place / "coded.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert np.mean([row["class_1"] == row["code"] for row in rows]) > 0.7
    card = CliRunner().invoke(cli, ["model", "cli.model"]).stdout
    assert_names(card, "tool-scores", f"environment with {ASKED}", f"{PACKAGE} {VERSION}")


def test_the_winner_of_a_comparison_is_fitted_whatever_it_is(place):
    learners = "tool-scores(scale=3.0),tool-ranks"
    folders = [place / "plugins"]
    options = {"trials": 1, "progress": False, "plugins_dirs": folders, "representation": "words"}
    harness.run(learners, "titles.csv", out=place / "results", **options)
    ended = call(place, "fit", "--from", "results", "--best", "r1", "--out", "won.model")
    assert_names(ended.stderr, "wrote won.model", "mean of 1 trial")
    model = load("won.model", place)
    assert (model.predict(TEXTS) == np.array(CODES)).mean() > 0.7


def test_a_model_of_a_tool_is_served(model):
    config = uvicorn.Config(make_app(model, ServeSettings("any")), port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        body = {"texts": TEXTS[:3], "top": 2, "explain": True}
        answer = requests.post(f"http://127.0.0.1:{port}/predict", json=body, timeout=30).json()
    finally:
        server.should_exit = True
        thread.join(10)
    found = answer["predictions"]
    assert [[one["name"] for one in each["classes"]] for each in found] == model.rank(TEXTS[:3], 2).tolist()
    assert found[0]["explanation"]["method"] == "left out"


def test_new_rows_train_the_tool_again_in_its_environment(place, model, folder):
    new = (["ship builder"] * 30, ["23"] * 30)
    updated = harness.update(folder, new, plugins_dirs=[place / "plugins"])
    assert updated.update.way == "retrained"
    assert load(folder, place).predict(["ship builder"]).tolist() == ["23"]
    assert updated.model.manifest.versions[PACKAGE] == VERSION


def test_a_removed_environment_leaves_the_model_readable(place, folder, monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    name = build_environment(environment_for((ASKED,)), lambda line: None).name
    remove_environment(name)
    card = CliRunner().invoke(cli, ["model", str(folder)])
    assert card.exit_code == 0
    assert os.listdir(tmp_path / "home" / "environments") == []
