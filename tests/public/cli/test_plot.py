"""`harness plot`: figures from stored records, and errors when nothing can be drawn."""

import pytest

from internals import FIGURE_KINDS, Machine, open_store
from messages import assert_names


@pytest.fixture
def results(tmp_path, make_record):
    """Return two learners on two datasets of different size, with curves and a swept parameter."""
    folder = tmp_path / "results"
    with open_store(folder) as store:
        store.describe("learners = 'pa'\n", Machine("m1", "Fast", 8))
        for dataset, classes in (("small", 10), ("large", 100)):
            for label, C in (("pa(C=1)", 1), ("pa(C=2)", 2)):
                curve = [{"passes": n, "scores": {"r1": n / 4, "train": n / 2}} for n in (1, 2, 3)]
                scores = {"r1": 0.6 + C / 10, "train": classes / 10 * C}
                place = {"dataset": dataset, "fingerprint": dataset, "n_classes": classes}
                for seed in (0, 1):
                    store.append(make_record(label, seed, params={"C": C}, curve=curve, **scores, **place))
    return folder


def test_the_help_describes_each_kind(harness):
    message = harness("plot", "--help").stdout
    for kind in FIGURE_KINDS:
        assert f"{kind}: " in message, kind


@pytest.mark.parametrize("kind", ["curve", "sweep", "scaling", "pareto", "cd", "bar"])
def test_every_kind_is_drawn_into_the_results_folder(harness, results, kind):
    ended = harness("plot", results, "--kind", kind)
    assert ended.returncode == 0, ended.stderr
    assert (results / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    assert (results / f"{kind}.svg").exists()


def test_file_metric_and_axis_follow_the_options(harness, results, tmp_path):
    out = tmp_path / "figures" / "time.svg"
    ended = harness("plot", results, "--kind", "curve", "--x", "train", "--datasets", "small", "--out", out)
    assert ended.returncode == 0, ended.stderr
    text = out.read_text()
    assert "train" in text
    assert "small" in text
    assert "large" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kind", "bar", "--metric", "r2d2"], "unknown metric 'r2d2'"),
        (
            ["--kind", "bar", "--datasets", "middle"],
            "these results have no dataset 'middle'. They have large, small.",
        ),
        (["--kind", "scaling", "--x", "colour"], "--x colour: expected one of classes, examples, features"),
        (["--kind", "bar", "--out", "a.gif"], "the file's ending must be one of png, svg, pdf"),
        (["--kind", "pareto", "--metric", "peak"], "nothing to draw: no record has both peak and train"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_a_one_line_error(harness, results, words, message):
    ended = harness("plot", results, *words)
    assert ended.returncode == 2
    assert message in ended.stderr


def test_overwriting_a_figure_is_reported(harness, results):
    first = harness("plot", results, "--kind", "bar", "--out", "mine.svg")
    second = harness("plot", results, "--kind", "bar", "--metric", "train", "--out", "mine.svg")
    assert first.stderr == "wrote mine.svg\n"
    assert_names(second.stderr, "mine.svg", "replaced")


def test_table_and_show_take_the_same_folder(harness, results):
    table = harness("table", results, "--where", "dataset=small", "--sort", "r1", "--best", "r1", "--metrics", "r1")
    assert table.returncode == 0, table.stderr
    assert [line.split()[0] for line in table.stdout.splitlines() if line.startswith("pa")] == ["pa(C=2)"]
    shown = harness("show", results, "pa(C=1)", "--dataset", "large")
    assert shown.stdout.startswith("pa(C=1) on large  (")
    assert "small" not in shown.stdout
    unknown = harness("show", results, "PA(C=1)")
    assert (unknown.returncode, "Did you mean pa(C=1)" in unknown.stderr) == (2, True)
