"""The specs that the plugin registers for its index learners."""

from harness_index.plugin import harness_learners
from plugin_specs import assert_specs_match


def test_registered_specs_match_the_learners():
    assert_specs_match(harness_learners(), {"ooz": "flat", "ema": "flat", "ff": "flat"})
