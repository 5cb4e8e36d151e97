"""What the plugin says of its learners, the support vector machines and top-down learners."""

from announced import assert_announced
from harness_svm.plugin import harness_learners

KINDS = {
    "svm": "flat",
    "crammer-singer": "flat",
    "hsvm": "tree",
    "topdown-svm": "tree",
    "topdown-perceptron": "tree",
    "label-tree": "tree",
}


def test_learners_are_as_announced():
    assert_announced(harness_learners(), KINDS)
