"""Parameter values that a learner rejects, found before the trial."""

import pytest

from internals import Blueprint, find_refusals

SGD = "sklearn.linear_model:SGDClassifier"
OOZ = "harness_index.ooz:OOZ"


class Picky:
    """Validates its parameter in __init__."""

    def __init__(self, *, value=1):
        if value == "number":
            raise ValueError("value is refused")
        if value == "other":
            raise RuntimeError("no refusal")


def refusal(load, **params):
    (found,), blob = find_refusals([Blueprint(load, params)], lambda _: None)
    assert blob is None
    return found


@pytest.mark.parametrize(
    ("load", "params", "words"),
    [
        (OOZ, {"delta": 0}, "delta=0: must be a finite number above 0"),
        (SGD, {"alpha": -1}, "'alpha' parameter of SGDClassifier must be"),
        (f"{__name__}:Picky", {"value": "number"}, "value is refused"),
        ("harness_committee.committee:Committee", {"learner": Blueprint(OOZ, {"delta": 0})}, "delta=0"),
    ],
)
def test_a_rejected_value_is_reported_with_the_learners_message(load, params, words):
    assert words in refusal(load, **params)


@pytest.mark.parametrize(
    ("load", "params"),
    [
        (OOZ, {"delta": 0.5}),
        (SGD, {}),
        ("no_such_module:Learner", {}),
        (f"{__name__}:Picky", {"value": "other"}),
        ("harness_committee.committee:Committee", {"learner": Blueprint(OOZ, {})}),
    ],
)
def test_other_errors_are_left_to_the_trial(load, params):
    assert refusal(load, **params) == ""
