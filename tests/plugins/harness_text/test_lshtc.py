"""LSHTC1: taxonomy and parts in the challenge's format, splits by available parts, and rejected input."""

import gzip

import pytest

from harness.errors import DataError
from harness_text import lshtc
from messages import assert_names, naming

FILES = {
    "cat_hier.txt": b"1 2 20 29\n1 2 33\n7 156\n",
    "Task1/train.txt": b"29 0:9 1000:1 5:2\n156 0:3 70:4\n",
    "Task1/validation.txt": b"33 0:1 5:1\n",
    "Task1/test.txt.gz": gzip.compress(b"29 0:7 70:2 5:1\n"),
    "Task2/train.txt": b"33 0:1 3:1\n",
    "Task2/classDescr.txt": b"2 0:0 3:1\n",
}


def load(lay, files=FILES, folder="laid", **more):
    return lshtc.load_large(source=str(lay(files, folder)), **more)


def without(*names):
    return {name: content for name, content in FILES.items() if name not in names}


def test_feature_0_and_unused_features_are_dropped(lay):
    data = load(lay)
    assert data.X.toarray().tolist() == [[2, 0, 1], [0, 4, 0], [1, 0, 0], [1, 2, 0]]  # 5, 70, 1000


def test_classes_are_the_leaves_below_a_common_root(lay):
    data = load(lay)
    assert data.class_names == ("29", "33", "156")
    assert data.y.tolist() == [0, 2, 1, 0]
    tree = data.taxonomy
    assert tree.node_names == ("directory", "1", "7", "2", "156", "20", "33", "29")
    assert tree.parent.tolist() == [-1, 0, 0, 1, 2, 3, 3, 5]
    assert tree.class_node.tolist() == [7, 6, 4]
    assert tree.depth == 4
    assert_names(data.found, "3", "12,294", "7")


def test_splits_are_named_after_the_available_parts(lay):
    splits = load(lay).splits
    assert set(splits) == {"train-validation", "train-test", "validation-test", "trainvalidation-test"}
    assert [part.tolist() for part in splits["train-test"]] == [[0, 1], [3]]
    lacking = load(lay, without("Task1/train.txt"), "lacking")
    assert [part.tolist() for part in lacking.splits["validation-test"]] == [[0], [1]]
    assert "; no train; " in lacking.found


def test_a_test_part_without_labels_is_ignored(lay):
    data = load(lay, FILES | {"Task1/test.txt.gz": gzip.compress(b"0 0:7 70:2\n0 5:1\n")})
    assert set(data.splits) == {"train-validation"}
    assert_names(data.found, "labels")


def test_tasks_are_recognised_by_the_challenges_folder_names(lay, pack):
    assert load(lay, task=2).y.tolist() == [1]
    folders = {name.replace("Task1/", "large/Task1_Train:CrawlData/"): content for name, content in FILES.items()}
    assert lshtc.load_large(source=str(pack(folders))).y.tolist() == [0, 2, 1, 0]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"cat_hier.txt": b"1 2 29\n1 x\n"}, r"cat_hier.txt, line 2: expected the numbers of a path"),
        ({"cat_hier.txt": b"1 29\n2 29\n"}, "line 2: the class 29 is there twice"),
        ({"cat_hier.txt": b"1 2 1 29\n"}, "line 1: a node is its own ancestor"),
        ({"cat_hier.txt": b"\n"}, "cat_hier.txt is not there, or empty"),
        ({"Task1/train.txt": b"29 5:1\n30 5:1\n"}, "train.txt, row 2: the class 30 is not in cat_hier.txt"),
        ({"Task1/train.txt": b"29,33 5:1\n"}, "train.txt, row 1 has 2 labels, expected one"),
        ({"Task1/train.txt": b"29 5:1\n33 five:1\n"}, "train.txt, line 2: expected id:value"),
        ({"more/Task1/train.txt": b"29 5:1\n"}, "train.txt of task 1 is there twice"),
    ],
)
def test_damaged_files_raise_an_error_with_file_and_line(lay, changed, reason):
    with pytest.raises(DataError, match=reason):
        load(lay, FILES | changed)


def test_unusable_files_raise_an_error(lay):
    with pytest.raises(DataError, match=naming("3", "1", "2", "expected")):
        load(lay, task=3)
    with pytest.raises(DataError, match=naming("2", "folder", "archive")):
        load(lay, without("Task2/train.txt"), "none", task=2)


def test_a_source_of_the_other_release_raises_an_error(lay):
    tree = b"".join(b"1 %d\n" % (leaf + 2) for leaf in range(lshtc.DRY_RUN.n_classes))
    with pytest.raises(DataError, match=naming("1,139", "lshtc1-dryrun")):
        load(lay, FILES | {"cat_hier.txt": tree})
