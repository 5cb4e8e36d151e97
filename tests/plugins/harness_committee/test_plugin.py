"""What the plugin says of its learners, those that are built round another."""

from announced import assert_announced
from harness_committee.plugin import harness_learners


def test_learners_are_as_announced():
    assert_announced(harness_learners(), dict.fromkeys(("committee", "sparsify", "oversample", "batches"), "flat"))
