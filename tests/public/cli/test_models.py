"""`harness fit` and `harness predict`: output, files and errors, in one process."""

import csv
import os
import subprocess

import pytest
from click.testing import CliRunner

from command import SCRIPT
from harness.errors import HarnessError
from internals import cli
from messages import assert_names, naming
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
def titles_folder(tmp_path_factory):
    """Return a folder with a file of titles and a model of them."""
    folder = tmp_path_factory.mktemp("titles_folder")
    with (folder / "titles.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("title", "code"), *zip(*titles(), strict=True)])
    ended = call("fit", "pa", "--data", f"{folder}/titles.csv", "--representation", "words", "--out", f"{folder}/m")
    assert "expected accuracy 0." in ended.stderr
    assert_names(ended.stderr, "400")
    assert "calibration error 0." in ended.stderr
    return folder


def call(*words, **more):
    ended = CliRunner().invoke(cli, [str(word) for word in words], **more)
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    assert ended.exit_code == 0, ended.output
    return ended


def test_a_text_gets_its_best_classes_with_scores_and_confidence(titles_folder):
    lines = call("predict", titles_folder / "m", "steel welder", "--top", "2").stdout.splitlines()
    assert lines[0].split()[0] == "21"
    assert len(lines) == 2
    assert "confidence 0." in lines[0]
    assert "confidence" not in lines[1]


def test_a_text_may_be_longer_than_the_name_of_a_file_and_top_larger_than_the_number_of_classes(titles_folder):
    ended = call("predict", titles_folder / "m", "steel welder " * 40, "--top", "99999999999")
    assert ended.stdout.startswith("21  ")
    assert_names(ended.stderr, "99999999999", "classes")


def test_a_text_without_known_words_is_reported(titles_folder):
    assert_names(call("predict", titles_folder / "m", "溶接工").stdout, "class")


def test_an_explanation_names_the_rival_and_sorts_words_by_contribution(titles_folder):
    lines = call("predict", titles_folder / "m", "nurse at the steel pipe", "--explain").stdout.splitlines()
    best, rival = (
        line.split()[0]
        for line in call("predict", titles_folder / "m", "nurse at the steel pipe", "--top", "2").stdout.splitlines()
    )
    assert lines[0].startswith(best)
    assert lines[2] == f"why {best}, and not {rival}"
    assert lines[3].split() == [best, rival]
    table = [line.split() for line in lines[4 : lines.index("") + 8]]
    added = [float(words[1]) for words in table[:3]]
    assert {words[0] for words in table[:3]} == {"nurse", "steel", "pipe"}
    assert added == sorted(added, reverse=True)
    assert [words[0] for words in table[3:5]] == ["(bias)", "score"]
    assert "--keep-rows" in lines[-1]


def test_kept_rows_are_shown_in_an_explanation(titles_folder):
    words = ("--representation", "chars", "--keep-rows", "--out", titles_folder / "keeping")
    call("fit", "pa", "--data", titles_folder / "titles.csv", *words)
    lines = call("predict", titles_folder / "keeping", "steel welder", "--explain").stdout.splitlines()
    assert len([line for line in lines if line.startswith("0.")]) == 3
    assert "welder" in lines[-3]


def test_a_text_without_known_words_is_not_explained(titles_folder):
    assert len(call("predict", titles_folder / "m", "溶接工", "--explain").stdout.splitlines()) == 1


def test_a_file_is_not_explained(titles_folder):
    with pytest.raises(HarnessError, match=naming("--explain", "text", "file")):
        call("predict", titles_folder / "m", titles_folder / "titles.csv", "--explain")


def test_one_row_is_singular_in_the_message(titles_folder):
    (titles_folder / "one.csv").write_text("title\nsteel welder\n")
    ended = call(
        "predict",
        titles_folder / "m",
        titles_folder / "one.csv",
        "--text",
        "title",
        "--out",
        titles_folder / "one-coded.csv",
    )
    assert ended.stderr.splitlines() == [
        "read 1 row as CSV, text from 'title'",
        "expected to be right: about 1 of 1",
    ]


def test_a_file_is_predicted_and_the_result_is_summarised(titles_folder):
    (titles_folder / "new.csv").write_text("n,title\n1,steel welder\n2,溶接工\n")
    files = ("--out", titles_folder / "coded.csv", "--review-out", titles_folder / "unsure.csv")
    ended = call(
        "predict", titles_folder / "m", titles_folder / "new.csv", "--text", "title", "--review", "0.3", *files
    )
    assert ended.stdout == ""
    assert ended.stderr.splitlines() == [
        "read 2 rows as CSV, text from 'title'",
        "expected to be right: about 1 of 2",
        f"for review: 1 row in {titles_folder / 'unsure.csv'}",
        "warning: 1 row has no known words and got no class.",
    ]
    assert (titles_folder / "coded.csv").read_text().splitlines()[1].startswith("1,steel welder,21,")
    assert (titles_folder / "unsure.csv").read_text().splitlines()[1] == "2,溶接工,,0.0,0.0"


def test_an_update_is_summarised_and_can_be_undone(titles_folder):
    model, new = titles_folder / "updated", titles_folder / "march.csv"
    call("fit", "pa", "--data", titles_folder / "titles.csv", "--representation", "words", "--out", model)
    rows = [(f"pastry baker {row}", "99") for row in range(300)]
    with new.open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows([("n", "title", "code"), *((n, *row) for n, row in enumerate(rows))])
    lines = call("update", model, new).stderr.splitlines()
    assert lines[:5] == [
        "read 300 rows as CSV with ';', text from 'title', label from 'code'",
        "1 new class: 99",
        "continuing the training with 240 rows, to measure on 60",
        "continuing the training with all 300 new rows",
        f"wrote {model}: pa, trained on 700 rows of 5 classes",
    ]
    assert lines[5] == "accuracy on 60 held-out new rows: 0.000 before, 1.000 after"
    assert lines[6].startswith("confidence: ")
    assert "60 held-out rows" in lines[6]
    assert lines[7] == f"`harness update {model} --undo` restores the version before"
    assert call("predict", model, "pastry baker").stdout.startswith("99 ")
    ended = call("update", model, "--undo")
    assert ended.stderr.splitlines() == [f"restored {model}: trained on 400 rows of 4 classes"]
    assert call("predict", model, "pastry baker").stdout.startswith("22 ")
    with pytest.raises(HarnessError, match=naming("no previous version")):
        call("update", model, "--undo")


def test_a_learner_of_a_plugin_folder_can_be_a_model(titles_folder):
    folder = titles_folder / "plugins"
    folder.mkdir()
    (folder / "my_pa.py").write_text(PLUGIN)
    words = ("--data", titles_folder / "titles.csv", "--representation", "words", "--out", titles_folder / "mine")
    call("fit", "my-pa", *words, "--plugins-dir", folder)
    assert call("predict", titles_folder / "mine", "steel welder", "--plugins-dir", folder).stdout.startswith("21  ")


def test_a_model_with_few_held_out_rows_is_reported(titles_folder):
    words = ("--data", titles_folder / "titles.csv", "--representation", "words", "--out", titles_folder / "few")
    assert "warning: 80 held-out rows, fewer than 500" in call("fit", "pa", *words).stderr


def test_the_card_of_a_model_is_printed_or_written_as_a_page(titles_folder):
    assert "Accuracy by class frequency" in call("model", titles_folder / "m").stdout
    page = titles_folder / "card.html"
    assert_names(call("model", titles_folder / "m", "--html", page).stderr, "card.html")
    assert page.read_text().startswith("<!doctype html>")
    with pytest.raises(HarnessError, match="is a folder"):
        call("model", titles_folder / "m", "--html", titles_folder)


def test_rows_are_predicted_with_nodes_of_the_taxonomy(titles_folder):
    rows = [f"{text},{code[0]}/{code}" for text, code in zip(*titles(), strict=True)]
    (titles_folder / "tree.csv").write_text("\n".join(["title,code", *rows]))
    words = ("--data", titles_folder / "tree.csv", "--representation", "words", "--out", titles_folder / "tree")
    call("fit", "pa", *words)
    assert "Back-off by level" in call("model", titles_folder / "tree").stdout
    coded, lines = titles_folder / "nodes.csv", titles_folder / "nodes.txt"
    lines.write_text("steel welder\nnurse\n溶接工\n")
    ended = call("predict", titles_folder / "tree", lines, "--backoff", "0.6", "--out", coded)
    with coded.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert list(found[0]) == ["text", "node", "depth", "confidence"]
    assert found[0]["depth"] == "2"
    assert (found[2]["depth"], found[2]["confidence"]) == ("0", "1.0")
    assert "below the root: 2 of 3 rows" in ended.stderr
    assert "depth 2" in call("predict", titles_folder / "tree", "steel welder", "--backoff", "0.6").stdout


def test_a_learner_without_scores_gives_classes_and_a_note(titles_folder):
    learner = "checked_learners:Silent()"
    words = ("--data", titles_folder / "titles.csv", "--representation", "words", "--out", titles_folder / "silent")
    assert "no confidence: the learner has no scores" in call("fit", learner, *words).stderr
    (titles_folder / "silent.csv").write_text("title\nsteel welder\n")
    trust = ("--trust", "checked_learners.Silent")
    ended = call("predict", titles_folder / "silent", titles_folder / "silent.csv", *trust)
    assert ended.stdout.splitlines()[0] == "title,class_1"
    assert "note: no confidence" in ended.stderr
    assert "expected to be right" not in ended.stderr
    more = ("--review", "0.5", "--review-out", titles_folder / "x.csv")
    with pytest.raises(HarnessError, match=naming("--review", "no confidence")):
        call("predict", titles_folder / "silent", titles_folder / "silent.csv", *trust, *more)


def test_the_name_of_a_missing_file_is_not_taken_as_text(titles_folder):
    with pytest.raises(HarnessError, match=naming("gone.csv")):
        call("predict", titles_folder / "m", titles_folder / "gone.csv")


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        ('"$H" predict m "$TEXT" > /dev/full', 2, ["standard output", "space", "Make room"]),
        ('"$H" predict m "$TEXT" >&-', 2, ["standard output", "closed", "> FILE"]),
        ('"$H" predict m titles.csv >&-', 2, ["standard output", "closed", "--out"]),
        ('"$H" predict m <&-', 2, ["standard input", "closed", "Name a file"]),
        ('"$H" predict m titles.csv --out titles.csv/x.csv', 2, ["titles.csv/x.csv", "one of its parts is a file"]),
    ],
)
def test_streams_and_paths_that_cannot_be_used_are_errors_with_a_sentence(titles_folder, words, code, named):
    text = "a text of more letters than a file name may have " * 10
    env = os.environ | {"TEXT": text, "H": SCRIPT, "COLUMNS": "1000"}
    ended = subprocess.run(["sh", "-c", words], cwd=titles_folder, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    assert_names(ended.stderr, *named)
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("fit", "--out", "x"), "nothing to fit"),
        (("fit", "pa", "--data", "digits", "--out", f"{__file__}/x"), "is below the file"),
        (("fit", "pa", "--from", "results/none", "--out", "x"), "--from chooses the learner"),
        (("fit", "--from", "results/none", "--out", "x"), "is not a results folder"),
        (("predict", "results/none", "a text"), "does not exist"),
        (("update", "results/none"), "no rows to update with"),
        (("update", "results/none", "new.csv", "--undo"), "--undo takes no rows"),
        (("update", "results/none", "new.csv"), "does not exist"),
    ],
)
def test_invalid_options_are_rejected(words, complaint):
    with pytest.raises(HarnessError, match=complaint):
        call(*words)
