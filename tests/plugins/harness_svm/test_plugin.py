"""The specs that the plugin registers for its support vector machines and top-down learners."""

from harness_svm.plugin import harness_learners
from plugin_specs import assert_specs_match

KINDS = {
    "svm": "flat",
    "crammer-singer": "flat",
    "hsvm": "tree",
    "topdown-svm": "tree",
    "topdown-perceptron": "tree",
    "label-tree": "tree",
}


def test_registered_specs_match_the_learners():
    assert_specs_match(harness_learners(), KINDS)
