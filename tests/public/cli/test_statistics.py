"""Statistics of `harness table` and `harness compare`: tests, matrices, ranks, published numbers, two folders."""

import csv
import io
import json

import pytest

from internals import Machine, open_store
from messages import assert_names

MACHINE = Machine("m1", "Fast", 8)
PUBLISHED = """dataset,learner,metric,value,interval,source
digits,pa,r1,0.91,0.02,"Table 1, row 1"
rcv1,pa,r1,0.847,,Table 1
"""


@pytest.fixture
def stored(tmp_path, make_record):
    """Store ten trials of each learner in a results folder."""

    def keep(folder, learners, datasets=("digits",), experiment="learners = 'pa'\n"):
        with open_store(tmp_path / folder) as store:
            store.describe(experiment, MACHINE)
            for dataset in datasets:
                for label, values in learners.items():
                    for seed, r1 in enumerate(values):
                        store.append(make_record(label, seed, dataset=dataset, r1=r1, train=2.0))
        return tmp_path / folder

    return keep


TWO = {"pa": [0.9] * 10, "ff": [0.95] + [0.8] * 9}


def test_a_footnote_names_the_test_and_the_number_of_trials(harness, stored):
    folder = stored("one", TWO)
    for test, words in {
        "sign": "a paired sign test (exact, ties dropped; 5%, Holm over the competitors of the best) over 10 paired",
        "ttest": "the corrected resampled t-test (Nadeau and Bengio 2003; 5%, Holm over all pairs)",
        "wins": "the rule of nine wins in ten trials (no correction)",
    }.items():
        ended = harness("table", folder, "--test", test, "--spread", "binomial")
        assert ended.returncode == 0, ended.stderr
        assert words in ended.stdout
        assert "0.900 ± 0.059 *" in ended.stdout  # 1.96 sqrt(0.9 0.1 / 100)


def test_matrix_and_ranks_are_separate_tables(harness, stored):
    folder = stored("one", TWO, ("digits", "topics"))
    rows = list(csv.DictReader(io.StringIO(harness("table", folder, "--matrix", "--format", "csv").stdout)))
    assert [(r["dataset"], r["learner"], r["against"], r["won"], r["lost"]) for r in rows] == [
        ("digits", "pa", "ff", "9", "1"),
        ("digits", "ff", "pa", "1", "9"),
        ("topics", "pa", "ff", "9", "1"),
        ("topics", "ff", "pa", "1", "9"),
    ]
    assert float(rows[0]["difference_low"]) < float(rows[0]["difference"]) < float(rows[0]["difference_high"])
    ranked = json.loads(harness("table", folder, "--ranks", "--format", "json", "--metrics", "r1").stdout)
    assert [(row["learner"], row["average_rank"]) for row in ranked["rows"]] == [("pa", 1.0), ("ff", 2.0)]
    both = harness("table", folder, "--ranks", "--matrix")
    assert (both.returncode, "Give one of them" in both.stderr) == (2, True)


def test_published_numbers_come_from_a_file_or_from_the_experiment(harness, stored, tmp_path):
    plugins = tmp_path / "plugins"
    package = plugins / "paper"
    package.mkdir(parents=True)
    (package / "table1.toml").write_text("name = 'paper-table1'\nlearners = ['pa']\n")
    (package / "table1.csv").write_text(PUBLISHED)
    (package / "__init__.py").write_text(
        "from harness import ExperimentSpec, hookimpl\n"
        "@hookimpl\n"
        "def harness_experiments():\n"
        "    return [ExperimentSpec(name='paper-table1', resource='paper:table1.toml', published='paper:table1.csv')]\n"
    )
    folder = stored("one", TWO, experiment="name = 'paper-table1'\nlearners = 'pa'\n")
    by_name = harness("table", folder, "--against", "published", "--plugins-dir", plugins)
    by_file = harness("table", folder, "--against", package / "table1.csv")
    assert by_name.returncode == by_file.returncode == 0, by_name.stderr + by_file.stderr
    assert by_name.stdout == by_file.stdout
    lines = [line for line in by_file.stdout.splitlines() if line.startswith(("digits", "rcv1"))]
    assert "-1.0 points   yes       Table 1, row 1" in lines[0]
    assert "not run" in lines[1]


def test_a_folder_without_published_numbers_raises_an_error_with_the_next_step(harness, stored):
    ended = harness("table", stored("one", TWO), "--against", "published")
    assert ended.returncode == 2
    assert_names(ended.stderr, "published")
    assert_names(ended.stderr, "named", "experiment")
    assert "`harness reproduce --list`" in ended.stderr
    assert "--against FILE.csv" in ended.stderr
    named = stored("two", TWO, experiment="name = 'own'\nlearners = 'pa'\n")
    ended = harness("table", named, "--against", "published")
    assert_names(ended.stderr, "own")


def test_two_folders_are_compared_with_their_settings(harness, stored):
    before, after = stored("before", {"pa": [0.5, 0.52] * 4}), stored("after", {"pa": [0.6] * 8, "ff": [0.5]})
    ended = harness("compare", before, after, "--metrics", "r1,train")
    assert ended.returncode == 0, ended.stderr
    table = [line.split() for line in ended.stdout.splitlines() if line.startswith("digits")]
    assert [line[-1] for line in table] == ["better", "same"]
    assert "are the same" in ended.stdout
    assert_names(ended.stdout, "second", "ff")
    rows = list(csv.DictReader(io.StringIO(harness("compare", before, after, "--format", "csv").stdout)))
    assert rows[0]["verdict"] == "better"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--learners", "pa"], "expected two labels"),
        (["--learners", "pa,ooz"], "'pa' of the first folder and 'ooz' of the second were not run on the same dataset"),
    ],
)
def test_incomparable_folders_raise_an_error(harness, stored, words, message):
    folder = stored("one", TWO)
    ended = harness("compare", folder, folder, *words)
    assert (ended.returncode, message in ended.stderr) == (2, True)


def test_folders_without_common_lines_are_listed_line_by_line(harness, stored):
    one, two = stored("one", TWO, ("digits", "topics")), stored("two", {"pa": [0.5]}, ("letter",))
    ended = harness("compare", one, two)
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "error: nothing to compare: no learner of both folders was run on the same dataset, representation and split",
        f"  {one}: pa, ff on digits (tf, holdout:0.1)",
        f"  {one}: pa, ff on topics (tf, holdout:0.1)",
        f"  {two}: pa on letter (tf, holdout:0.1)",
        "To compare two learners of different names, use --learners FIRST,SECOND.",
    ]
