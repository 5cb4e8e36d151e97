"""Values that learners refuse, by whatever they have to look at them; all else is left to the trial."""

import pytest

from harness.trials.refusals import find_refusals
from harness.trials.trial import Blueprint

SGD = "sklearn.linear_model:SGDClassifier"
OOZ = "harness_index.ooz:OOZ"


class Picky:
    """Looks at its value when it is made."""

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
def test_a_refused_value_is_told_in_the_learners_words(load, params, words):
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
def test_what_is_no_refusal_is_left_to_the_trial(load, params):
    assert refusal(load, **params) == ""
