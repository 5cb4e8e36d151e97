"""`harness fit` and `harness predict`: what they print, write and refuse, in one process."""

import csv

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.errors import HarnessError
from small_titles import titles

PLUGIN = """
from harness import LearnerSpec, hookimpl
from harness_prototype import PA


class MyPA(PA):
    pass


@hookimpl
def harness_learners():
    return [LearnerSpec(name="my-pa", load="my_pa:MyPA", parameters={"C": 0.1, "random_state": None})]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with titles to learn from and a model of them."""
    folder = tmp_path_factory.mktemp("place")
    with (folder / "titles.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("title", "code"), *zip(*titles(), strict=True)])
    ended = call("fit", "pa", "--data", f"{folder}/titles.csv", "--representation", "words", "--out", f"{folder}/m")
    assert "expected accuracy 0." in ended.stderr
    assert "pa on 400 rows of 4 classes" in ended.stderr
    assert "off by 0." in ended.stderr
    return folder


def call(*words, **more):
    ended = CliRunner().invoke(cli, [str(word) for word in words], **more)
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    assert ended.exit_code == 0, ended.output
    return ended


def test_a_text_gets_its_best_classes_with_scores_and_a_confidence(place):
    lines = call("predict", place / "m", "steel welder", "--top", "2").stdout.splitlines()
    assert lines[0].split()[0] == "21"
    assert len(lines) == 2
    assert "confidence 0." in lines[0]
    assert "confidence" not in lines[1]


def test_a_text_that_the_model_knows_nothing_of_is_told(place):
    assert call("predict", place / "m", "溶接工").stdout == "no class: the model knows nothing in this text\n"


def test_one_row_is_counted_as_one(place):
    (place / "one.csv").write_text("title\nsteel welder\n")
    ended = call("predict", place / "m", place / "one.csv", "--text", "title", "--out", place / "one-coded.csv")
    assert ended.stderr.startswith("1 row, about 1 right")


def test_a_file_is_coded_and_what_became_of_it_is_told(place):
    (place / "new.csv").write_text("n,title\n1,steel welder\n2,溶接工\n")
    files = ("--out", place / "coded.csv", "--review-out", place / "unsure.csv")
    ended = call("predict", place / "m", place / "new.csv", "--text", "title", "--review", "0.3", *files)
    assert ended.stdout == ""
    assert "2 rows, about 1 right; 1 for review in" in ended.stderr
    assert "1 row has nothing that the model knows" in ended.stderr
    assert (place / "coded.csv").read_text().splitlines()[1].startswith("1,steel welder,21,")
    assert (place / "unsure.csv").read_text().splitlines()[1] == "2,溶接工,,0.0,0.0"


def test_a_learner_of_a_plugin_folder_becomes_a_model_too(place):
    folder = place / "plugins"
    folder.mkdir()
    (folder / "my_pa.py").write_text(PLUGIN)
    words = ("--data", place / "titles.csv", "--representation", "words", "--out", place / "mine")
    call("fit", "my-pa", *words, "--plugins-dir", folder)
    assert call("predict", place / "mine", "steel welder", "--plugins-dir", folder).stdout.startswith("21  ")


def test_a_name_of_a_file_that_is_not_there_is_no_text(place):
    with pytest.raises(HarnessError, match=r"gone\.csv: there is no such file"):
        call("predict", place / "m", place / "gone.csv")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("fit", "--out", "x"), "nothing to fit: give a learner and --data, or --from"),
        (("fit", "pa", "--from", "results/none", "--out", "x"), "brings its learner"),
        (("fit", "--from", "results/none", "--out", "x"), "is not a results folder"),
        (("predict", "results/none", "a text"), "is no model: it is not there"),
    ],
)
def test_what_makes_no_sense_is_refused(words, complaint):
    with pytest.raises(HarnessError, match=complaint):
        call(*words)
