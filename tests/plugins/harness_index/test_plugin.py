"""What the plugin says of its learners, those with an index of weights above 0."""

from announced import assert_announced
from harness_index.plugin import harness_learners


def test_learners_are_as_announced():
    assert_announced(harness_learners(), {"ooz": "flat", "ema": "flat", "ff": "flat"})
