"""Updates of models: new rows and classes, honest measurement, and the way back."""

import random
from itertools import pairwise

import numpy as np
import pytest

import harness
from harness.errors import DataError, ModelError
from messages import naming
from small_titles import TRADES, titles

TEXTS, CODES = titles(300, seed=0)
CHEESE = "99"


def cheese(rows, seed=0):
    """Return different titles of a new trade, with a word that no other trade has."""
    return [f"fromager {('cheese', 'brie', 'feta')[row % 3]} {seed}{row}" for row in range(rows)], [CHEESE] * rows


def write(path, texts, codes, columns=("text", "label")):
    lines = [",".join(columns), *(f"{text},{code}" for text, code in zip(texts, codes, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def fit(tmp_path, learner="pa", texts=TEXTS, codes=CODES, **more):
    """Fit a model from a file, and return its folder."""
    data = write(tmp_path / "old.csv", texts, codes)
    harness.fit(learner, data, representation="words", out=tmp_path / "m", **more)
    return tmp_path / "m"


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- what is learned -------------------------------------------------------------------------------------------------


def test_a_learner_with_partial_fit_goes_on_with_new_rows_and_classes(tmp_path):
    folder = fit(tmp_path)
    words = [f"junior {word}" for word in ("ward", "pipe", "oven") * 40]  # known words for a new class
    new = write(tmp_path / "new.csv", words, [CHEESE] * len(words))
    updated = harness.update(folder, new)
    assert updated.update.way == "continued"
    assert updated.update.new_classes == (CHEESE,)
    model = harness.load_model(folder)
    assert model.predict(["junior oven"])[0] == CHEESE
    assert (model.manifest.data.rows, model.manifest.data.classes) == (300 + len(words), len(TRADES) + 1)
    assert model.predict_proba(["junior oven"]).shape == (1, len(TRADES) + 1)


@pytest.mark.parametrize("learner", ["linear-svc", "sgd-log"])
def test_a_learner_that_cannot_go_on_is_trained_with_old_and_new_rows(tmp_path, learner):
    folder = fit(tmp_path, learner)
    (tmp_path / "old.csv").unlink()  # the data home has the rows
    updated = harness.update(folder, cheese(120))
    assert updated.update.way == "retrained"
    model = harness.load_model(folder)
    assert model.predict(["fromager", "welder steel pipe"]).tolist() == [CHEESE, "21"]  # a new word, and old rows


def test_later_updates_train_with_the_rows_of_earlier_ones(tmp_path):
    folder = fit(tmp_path, "linear-svc")
    harness.update(folder, cheese(30))
    harness.update(folder, titles(60, seed=9))
    model = harness.load_model(folder)
    assert model.predict(["fromager"])[0] == CHEESE
    assert [update["rows"] for update in model.manifest.data.updates] == [30, 60]


def test_without_the_training_data_the_model_stays_as_it_is(tmp_path, monkeypatch):
    folder = fit(tmp_path, "linear-svc")
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "empty"))
    assert harness.update(folder, cheese(30), out=tmp_path / "read-again").update.way == "retrained"
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "empty too"))
    write(tmp_path / "old.csv", TEXTS[1:], CODES[1:])
    before = contents(folder)
    with pytest.raises(ModelError, match=naming("linear-svc has no partial_fit", "old.csv has changed", "harness fit")):
        harness.update(folder, cheese(30))
    assert contents(folder) == before


def test_rows_may_have_several_labels(tmp_path):
    data = write(tmp_path / "old.csv", TEXTS, [f"{code};x" if code == "11" else code for code in CODES])
    harness.fit("mmp", f"{data}(separator=';')", representation="words", out=tmp_path / "several")
    folder = tmp_path / "several"
    new = write(tmp_path / "new.csv", [f"chief ward {row}" for row in range(100)], ["11;y"] * 100)
    harness.update(folder, new)
    assert set(harness.load_model(folder).rank(["chief ward"], 2)[0]) == {"11", "y"}


def test_a_new_class_is_placed_in_the_taxonomy(tmp_path):
    paths = [f"{code[0]}/{code}" for code in CODES]
    folder = fit(tmp_path, codes=paths)
    texts = [f"fromager oven {row}" for row in range(30)]
    with pytest.raises(ModelError, match=naming("'cheese'", "taxonomy")):
        harness.update(folder, (texts, ["cheese"] * 30))
    harness.update(folder, (texts, ["2/29/299"] * 30))
    tree = harness.load_model(folder).taxonomy
    node = tree.class_node[-1]
    above = tree.parent[node]
    assert [tree.node_names[each] for each in (node, above, tree.parent[above])] == ["2/29/299", "2/29", "2"]
    assert len(tree.class_node) == len(TRADES) + 1


# -- honest figures --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["pa", "knn(n_neighbors=1)"])
def test_held_out_rows_are_not_learned_before_they_are_measured(tmp_path, learner):
    """Labels are drawn at random: a learner that had seen the rows would remember them by their numbers."""
    chance = random.Random(1)
    texts = [f"number{row}" for row in range(800)]
    codes = [chance.choice("abcd") for _ in texts]
    folder = fit(tmp_path, learner, texts[:400] * 2, codes[:400] * 2)
    # Rows of the other half have the same words, and the learner can remember them.
    new = [f"{first} {second}" for first, second in pairwise(texts[:401])]
    updated = harness.update(folder, (new, [chance.choice("abcd") for _ in new]))
    assert updated.update.held_out == 80
    assert updated.update.before < 0.5
    assert updated.update.after < 0.5
    if updated.update.way == "continued":
        assert updated.calibrated_on == 80
        assert updated.model.confidence(new).mean() < 0.5


def test_texts_of_the_training_data_are_not_held_out(tmp_path):
    folder = fit(tmp_path)
    texts, codes = cheese(150)
    updated = harness.update(folder, (TEXTS + texts, CODES + codes))
    assert updated.update.rows == 450
    assert updated.update.held_out == 30
    assert updated.update.before == 0  # the new class only
    assert updated.calibrated_on == 0  # too few


def test_few_rows_are_learned_without_a_measurement(tmp_path):
    folder = fit(tmp_path)
    before = harness.load_model(folder).manifest
    updated = harness.update(folder, (["chief baker"], ["22"]))
    assert (updated.update.before, updated.update.after, updated.calibrated_on) == (None, None, 0)
    after = harness.load_model(folder).manifest
    assert (after.expected, after.calibrator) == (before.expected, before.calibrator)
    assert after.data.rows == 301


# -- files and folders -----------------------------------------------------------------------------------------------


def test_an_update_to_another_folder_leaves_the_model(tmp_path):
    folder = fit(tmp_path)
    before = contents(folder)
    harness.update(folder, cheese(30), out=tmp_path / "new")
    assert contents(folder) == before
    assert CHEESE in harness.load_model(tmp_path / "new").classes


def test_the_same_rows_are_not_added_twice(tmp_path):
    folder = fit(tmp_path)
    harness.update(folder, cheese(30))
    with pytest.raises(ModelError, match=naming("these rows already", "--undo")):
        harness.update(folder, cheese(30))


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("title,label\na b,11\n", ("'text'", "'title'", "--text")),
        ("text,code\na b,11\n", ("'label'", "'code'", "--label")),
        ("text,label\na b,11\nc,NA\n", ("line 3", "label is missing")),
        ("text,label\n", ("no rows",)),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_the_reason(tmp_path, kept_model, content, parts):
    file = tmp_path / "new.csv"
    file.write_text(content)
    folder = tmp_path / "m"
    harness.fit("pa", write(tmp_path / "old.csv", TEXTS, CODES), out=folder)
    with pytest.raises(DataError, match=naming("new.csv", *parts)):
        harness.update(folder, file)


def test_a_model_of_numbers_is_refused(tmp_path):
    rows = np.eye(4).repeat(20, axis=0)
    harness.fit("pa", (rows, np.arange(4).repeat(20)), out=tmp_path / "m")
    with pytest.raises(ModelError, match=naming("rows of numbers", "harness fit")):
        harness.update(tmp_path / "m", cheese(30))
