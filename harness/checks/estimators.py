"""scikit-learn's own checks of an estimator, for learners that want to be at home there too: one check for each."""

from __future__ import annotations

from functools import partial
from typing import Any

from harness.checks.check import PREFIX, Check
from harness.checks.subject import Subject
from harness.contract import LearnerSpec


def scikit_learn_checks(spec: LearnerSpec, **params: Any) -> list[Check]:
    """What `sklearn.utils.estimator_checks.check_estimator` would run on the learner, as set up by the parameters.

    The host does not ask for them: they are stricter than it in what a learner must refuse, and in its words.
    """
    from sklearn.utils.estimator_checks import estimator_checks_generator  # noqa: PLC0415 (scikit-learn's checks bring pytest along)

    learner = Subject(spec, params).build()
    found = []
    for estimator, check in estimator_checks_generator(learner):
        found.append(Check(_name_of(check), partial(check, estimator)))
    return found


def _name_of(check: Any) -> str:
    """The name of the function, with what it is called with where one stands for several checks."""
    if not isinstance(check, partial):
        return str(check.__name__).removeprefix(PREFIX)
    called_with = [f"{name}={value}" for name, value in check.keywords.items()]
    return ",".join([_name_of(check.func), *called_with])
