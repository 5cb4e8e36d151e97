"""The specs that the plugin registers for its wrappers."""

from harness_committee.plugin import harness_learners
from plugin_specs import assert_specs_match


def test_registered_specs_match_the_learners():
    kinds = dict.fromkeys(("committee", "sparsify", "oversample", "batches"), "flat")
    assert_specs_match(harness_learners(), {**kinds, "blend": "both"})
