"""Parameter rules: allowed values, rejected values, and messages."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from harness.sdk import rules
from messages import naming

NO_NUMBERS = ["1", None, True, nan, [1]]


@pytest.mark.parametrize(
    ("rule", "allowed", "refused"),
    [
        (rules.positive, [1, 0.5, np.float32(2), np.int64(3)], [0, -1, inf, *NO_NUMBERS]),
        (rules.positive_or_inf, [1, inf], [0, -inf, *NO_NUMBERS]),
        (rules.not_negative, [0, 1.5], [-1e-9, inf, *NO_NUMBERS]),
        (rules.not_negative_or_inf, [0, inf], [-1, *NO_NUMBERS]),
        (rules.share, [0, 1, 0.5], [-0.1, 1.1, *NO_NUMBERS]),
        (rules.count, [1, np.int32(7)], [0, -1, 1.0, *NO_NUMBERS]),
        (lambda value: rules.count(value, least=0), [0], [-1, *NO_NUMBERS]),
        (rules.flag, [True, False, np.bool_(1)], [0, 1, "yes", None]),
        (lambda value: rules.one_of(value, ("a", "b")), ["a", "b"], ["c", "", None, ["a"]]),
        (lambda value: rules.optional(value, rules.count(value)), [None, 3], [0, "3"]),
        (rules.seed, [None, 0, 2**32 - 1, np.random.RandomState(0)], [-1, "seven", 2**32, 1.5]),
    ],
)
def test_a_rule_accepts_exactly_the_allowed_values(rule, allowed, refused):
    for value in allowed:
        holds, _ = rule(value)
        assert holds, value
    for value in refused:
        holds, words = rule(value)
        assert not holds, value
        assert words


def test_the_first_invalid_value_is_named_with_the_allowed_values():
    values = {"C": 0, "loss": "log", "passes": 1}
    broken = {"passes": rules.count(1), "C": rules.positive(0), "loss": rules.one_of("log", ("hinge", "squared"))}
    with pytest.raises(ValueError, match=naming("C=0")):
        rules.enforce(broken, values)
    del broken["C"]
    with pytest.raises(ValueError, match=naming("loss=", "log")):
        rules.enforce(broken, values)
    rules.enforce({"passes": rules.optional(None, rules.count(None))}, {"passes": None})
