"""Real files, where available, have the counts of their descriptions, which are the registered facts."""

import subprocess
import sys

import pytest

from harness_representations.vectors import Frequent
from harness_text import reuters
from harness_text.plugin import harness_datasets
from internals import checked, differences, header_of, import_target
from messages import assert_names
from word_counts import counts_of

SPECS = {spec.name: spec for spec in harness_datasets()}
FOLDERS = {"newsgroups": "20newsgroups"}


def load(name, source, **params):
    return checked(name, import_target(SPECS[name].load)(source=source, **params))


def header(name, source, **params):
    """Return the header that the host stores for a dataset."""
    return header_of(load(name, source, **params), "")


MEASURED = {
    "newsgroups": (58_741, {"bydate": (11_314, 7_532)}, "11,314 + 7,532 messages, 20 groups"),
    "reuters21578": (
        26_875,
        {},
        "9,400 of 21,578 stories (6,490 + 2,545 in the ModApte split), 10 topics",
    ),
    "wordnet": (30_263, {}, "42,253 glosses of 82,115 synsets, 1,625 classes with at least 10"),
    "eurlex4k": (
        5_000,
        {"train-test": (15_539, 3_809)},
        "15,539 + 3,809 laws x 5,000 features, 3,993 labels, 5.3 a law, 34 without",
    ),
    "clinc150": (
        6_223,
        {
            "train-validation": (15_000, 3_000),
            "train-test": (15_000, 4_500),
            "validation-test": (3_000, 4_500),
            "trainvalidation-test": (18_000, 4_500),
        },
        "15,000 + 3,000 + 4,500 requests, 150 intents, 10 domains",
    ),
    "lshtc1-dryrun": (
        29_726,
        {"validation-test": (1_860, 1_858)},
        "task 1: validation 1,860, test 1,858; no train; 1,139 classes, 2,387 nodes in the tree, 29,726 terms",
    ),
}
"""Features, splits and the loader's description, which are not registered facts."""


@pytest.mark.parametrize("name", MEASURED)
def test_the_counts_match_the_description(real, name):
    source = real(FOLDERS.get(name, name))
    data = load(name, source)
    measured = header_of(data, "")
    assert differences(SPECS[name].facts, measured) == ()
    assert SPECS[name].facts
    features = measured.features or counts_of(data).shape[1]
    assert (features, measured.splits, measured.found) == MEASURED[name]


def test_the_novels_have_the_known_word_counts(real):
    data = load("austen", real("austen"))
    met_twice = Frequent(min_df=2).fit(data.X).kept_.size
    assert (data.rows, met_twice, len(data.class_names)) == (724_859, 652_884, 14_072)


def test_task_2_of_the_dry_run_has_all_three_parts(real):
    measured = header("lshtc1-dryrun", real("lshtc1-dryrun"), task=2)
    assert (measured.rows, measured.classes) == (8_181, 1_139)
    assert measured.splits["trainvalidation-test"] == (4_463 + 1_860, 1_858)


def test_modapte_has_9603_and_3299_stories_90_topics_and_52_with_single_ones(real):
    files = reuters.RAW.read(real("reuters21578"))
    stories = [story for match, content in files for story in reuters.read_stories(match[1], content.decode("latin-1"))]
    assert len(stories) == 21_578
    assert [sum(story.part == part for story in stories) for part in ("train", "test")] == [9_603, 3_299]
    chosen, topics, labels = reuters.modapte90(stories)
    assert [sum(story.part == part for story in chosen) for part in ("train", "test")] == [7_770, 3_019]
    assert (len(topics), labels.shape, labels.sum(axis=1).min()) == (90, (10_789, 90), 1)
    chosen, topics, labels = reuters.r52(stories)
    assert [sum(story.part == part for story in chosen) for part in ("train", "test")] == [6_532, 2_569]
    assert (len(topics), len(labels)) == (52, 9_101)
    assert set(reuters.top10(stories)[1]) == {
        *("acq", "corn", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade", "wheat"),
    }


def test_a_dataset_imported_on_the_command_line_runs(real, tmp_path):
    def harness(*words):
        command = [sys.executable, "-m", "harness", *words]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    home = ["--data-home", str(tmp_path / "home")]
    assert "150 intents" in harness("data", *home, "import", "clinc150", real("clinc150"))
    run = [
        "run",
        *home,
        "--learners",
        "sklearn.naive_bayes:MultinomialNB",
        "--datasets",
        "clinc150",
        "--split",
        "given:train-test",
    ]
    assert_names(harness(*run, "--trials", "1", "--out", "out"), "15,000", "4,500")
